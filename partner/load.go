package partner

import (
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"edigw/internal/conf"
)

// loader reads the files of one load. Partners are loaded at the same time by
// several goroutines.
type loader struct {
	path    string // edigw.yaml
	text    []byte // instead of what is in that file; nil: that
	dir     string // its folder
	now     time.Time
	gateway *Gateway
	own     []ownKey
	tls     *clientKey   // of the partners' listener
	schema  *conf.Schema // of edigw.yaml
	root    *conf.Node   // edigw.yaml
	below   *layers
	ends    sync.Map // path → endCertificate, once
	bundles sync.Map // path → []*leaf, once
	zones   sync.Map // name → *time.Location
}

func newLoader(path string, now time.Time) (*loader, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return &loader{path: abs, dir: filepath.Dir(abs), now: now}, nil
}

// relative is a path as people know it: from the folder of edigw.yaml.
func (l *loader) relative(path string) string {
	if rel, err := filepath.Rel(l.dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// readSettings reads a settings file, bounded.
func readSettings(path string) ([]byte, error) {
	data, err := conf.ReadFile(path, conf.MaxFile)
	return data, plain(err)
}

// endCertificate is what a file about one certificate holds.
type endCertificate struct {
	*leaf
	misfits map[serving]string // what it cannot serve, and why
	weak    string             // what is weak about its key
	private bool               // a private key stands in the file, too
}

// serving is a use in a protocol.
type serving struct{ protocol, use string }

// end reads the one certificate that a file is about, once a load: all
// partners that name the file share it.
func (l *loader) end(path string) (endCertificate, error) {
	return once(&l.ends, path, func() (endCertificate, error) {
		data, err := readFile(path)
		if err != nil {
			return endCertificate{}, err
		}
		list, err := parseCertificates(data)
		if err != nil {
			return endCertificate{}, err
		}
		c, err := single(list)
		if err != nil {
			return endCertificate{}, err
		}
		out := endCertificate{leaf: newLeaf(c), weak: weakness(c), private: HoldsPrivateKey(data)}
		for _, s := range []serving{{protocolAS2, UseVerify}, {protocolAS2, UseEncrypt}, {protocolAS4, UseVerify}, {protocolAS4, UseEncrypt}} {
			if why := misfit(s.protocol, s.use, c); why != "" {
				if out.misfits == nil {
					out.misfits = map[serving]string{}
				}
				out.misfits[s] = why
			}
		}
		return out, nil
	})
}

// bundle reads all certificates of a file, once a load.
func (l *loader) bundle(path string) ([]*leaf, error) {
	return once(&l.bundles, path, func() ([]*leaf, error) {
		list, err := ReadCertificates(path)
		var out []*leaf
		for _, c := range list {
			out = append(out, newLeaf(c))
		}
		return out, err
	})
}

// ReadCertificates reads all certificates of a file, in its order: PEM, DER or
// P7B, at most 200 in 256 KiB. The error is for people and does not name the
// file.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parseCertificates(data)
}

// once calls read the first time that path is asked for in a load.
func once[T any](known *sync.Map, path string, read func() (T, error)) (T, error) {
	f, ok := known.Load(path)
	if !ok {
		f, _ = known.LoadOrStore(path, sync.OnceValues(read))
	}
	return f.(func() (T, error))()
}

// zone finds a time zone; the process's own is refused, because settings must
// mean the same everywhere.
func (l *loader) zone(name string) (*time.Location, error) {
	if known, ok := l.zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, errors.New("not a zone such as Europe/Berlin or UTC")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("no zone %q is known", name)
	}
	l.zones.Store(name, zone)
	return zone, nil
}
