package as4

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"

	"edigw/fault"
	"edigw/internal/exchange"
)

// Pull posts a PullRequest once and hands the answer to take while it comes,
// whatever its status: a message in it may be large. take is called once if a
// status was read, else not at all; it reads the body to its end, or leaves the
// rest. Nothing is retried and no redirect followed; c should come from package
// exchange. The Outcome holds the facts of the transport only.
func Pull(ctx context.Context, c *http.Client, p PMode, r PullRequest, lim exchange.Limits, take func(header http.Header, body io.Reader)) fault.Outcome {
	req, wrong := p.request(ctx, r.ContentType, int64(len(r.Body)), bytes.NewReader(r.Body))
	if wrong != nil {
		return *wrong
	}
	return exchange.Stream(ctx, c, req, lim, func(res *exchange.Response, body io.Reader) {
		header := http.Header(res.Header)
		switch strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding"))) {
		case "gzip", "x-gzip": // QUIRK(servers behind some proxies): without an Accept-Encoding
			header = header.Clone()
			header.Del("Content-Encoding")
			header.Del("Content-Length")
			body = &unzipped{from: body}
		}
		take(header, body)
	})
}

// unzipped is a body that came compressed; how much may come of it is for its
// reader to say.
type unzipped struct {
	from io.Reader
	z    *gzip.Reader
}

// Read implements io.Reader.
func (u *unzipped) Read(p []byte) (int, error) {
	if u.z == nil {
		z, err := gzip.NewReader(u.from)
		if err != nil {
			return 0, err
		}
		u.z = z
	}
	return u.z.Read(p)
}
