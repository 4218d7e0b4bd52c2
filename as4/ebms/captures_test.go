package ebms

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"edigw/internal/testfixture"
	"edigw/internal/xmltree"
)

// TestForeignEnvelopes: what the captures of other products say, by their
// manifest, is what is read.
func TestForeignEnvelopes(t *testing.T) {
	t.Parallel()
	for _, row := range testfixture.Table(t, testfixture.Path(t, "as4", "manifest.tsv")) {
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			raw := testfixture.Foreign(t, "as4", row["file"])
			if strings.HasSuffix(row["file"], ".as4in") {
				raw = body(t, raw)
			}
			if row["kind"] == "not-well-formed" {
				if _, err := xmltree.Parse(raw, xmltree.Limits{}); !errors.Is(err, xmltree.ErrSyntax) {
					t.Errorf("got %v, want ErrSyntax", err)
				}
				return
			}
			e, err := parse(t, raw)
			var fault *Fault
			if row["kind"] == "pull-request" {
				// Its Security headers are in a namespace with a line break in its name.
				if !errors.As(err, &fault) || fault.Code != MustUnderstand || len(fault.NotUnderstood) != 1 || fault.NotUnderstood[0].Local != "Security" {
					t.Fatalf("got %v, want a MustUnderstand fault for Security", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var info MessageInfo
			if row["kind"] == "receipt-nrr" {
				info = e.Receipt().MessageInfo
				list, err := e.Receipt().Receipt.References()
				if err != nil || len(list) != 3 || Compare(list, list) != nil {
					t.Errorf("references %v, %v", list, err)
				}
			} else {
				info = e.User.MessageInfo
			}
			at := info.Timestamp.Format(timestampFormat)
			if info.MessageID != row["message_id"] || strings.Trim(row["ref_to_message_id"], "-") != info.RefToMessageID || at != row["timestamp"] {
				t.Errorf("got %+v, want %v", info, row)
			}
		})
	}
}

func TestForeignUserMessage(t *testing.T) {
	t.Parallel()
	e, err := parse(t, testfixture.Foreign(t, "as4", "envelopes", "UserMessage12.xml"))
	if err != nil {
		t.Fatal(err)
	}
	u := e.User
	if u.From.IDs[0].Value != "5209999001264" || u.Service.Value != DefaultService || u.Action != DefaultAction || u.To.Role != "Buyer" {
		t.Errorf("white space is not trimmed: %+v", u)
	}
	where, id := u.Parts[0].Place()
	if where != InBody || id == "" || e.Payload() == nil || e.Payload().Tag != "CrossIndustryInvoice" {
		t.Errorf("payload at %v %q: %v", where, id, e.Payload())
	}
}

// soap is the root part of a whole HTTP message.
func soap(t *testing.T, raw []byte) []byte {
	t.Helper()
	var header http.Header
	var content io.Reader
	r := bufio.NewReader(bytes.NewReader(raw))
	if bytes.HasPrefix(raw, []byte("HTTP/")) {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		header, content = res.Header, res.Body
	} else {
		req, err := http.ReadRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		header, content = req.Header, req.Body
	}
	mediaType, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType == "multipart/related" {
		if content, err = multipart.NewReader(content, params["boundary"]).NextRawPart(); err != nil {
			t.Fatal(err)
		}
	}
	envelope, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// TestHostileEnvelopes: the verdicts of the collection as far as the envelope
// alone decides them. What only a signature, a part or a P-Mode shows must pass
// here.
func TestHostileEnvelopes(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, row := range testfixture.Table(t, testfixture.Path(t, "hostile", "manifest.tsv")) {
		if !strings.HasPrefix(row["file"], "as4/") {
			continue
		}
		rows++
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			raw := soap(t, testfixture.Foreign(t, "hostile", row["file"]))
			if row["answer"] == "SOAP fault env:Sender" {
				want := xmltree.ErrDTD
				if row["expect"] == "fail:nesting limit" {
					want = xmltree.ErrLimit
				}
				if _, err := xmltree.Parse(raw, xmltree.Limits{}); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				return
			}
			e, err := parse(t, raw)
			var fault *Fault
			var problem *ProblemError
			switch {
			case strings.Contains(row["answer"], "env:MustUnderstand"):
				if !errors.As(err, &fault) || fault.Code != MustUnderstand {
					t.Errorf("got %v", err)
				}
			case strings.Contains(row["answer"], "EBMS:0009"):
				if !errors.As(err, &problem) || problem.Code != "EBMS:0009" {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Errorf("%v; want nothing found, for: %s", err, row["expect"])
			case row["expect"] == "ok" && strings.Contains(row["file"], "receipt"):
				if list, err := e.Receipt().Receipt.References(); err != nil || len(list) != 3 {
					t.Errorf("references %v, %v", list, err)
				}
			case row["expect"] == "ok" && e.User.From.IDs[0].Value != "PARTNER":
				t.Errorf("from %q", e.User.From.IDs[0].Value)
			}
		})
	}
	if rows < 35 {
		t.Errorf("%d rows", rows)
	}
}
