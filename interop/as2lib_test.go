package interop

import (
	"context"
	"os/exec"
	"path/filepath"
)

// as2lib is phax as2-lib, a Java library, with the driver in as2lib/.
type as2lib struct {
	driver
	lib                string // folder of its jars
	heap               string // of Java
	messages, receipts string // host:port; the library wants one for each
}

func newAS2Lib() peer {
	return &as2lib{heap: "1500m", messages: freeAddress(), receipts: freeAddress()} // 50 MB need about 1 GB
}

func (*as2lib) name() string    { return "as2-lib" }
func (*as2lib) product() string { return "as2-lib 5.1.7" }

func (*as2lib) lacks(p profile, d direction) string {
	switch {
	case d == toPeer && p.encrypt == "aes256-gcm":
		return "It knows no AuthEnvelopedData and takes it for the document. What it writes itself is GCM in EnvelopedData, which edigw reads."
	case d == fromPeer && p.transport != "rsa-pkcs1":
		return "It encrypts keys in the PKCS #1 way only; it opens OAEP."
	}
	return ""
}

func (a *as2lib) install(ctx context.Context) error {
	if _, err := exec.LookPath("javac"); err != nil {
		return err
	}
	lib, err := jars(ctx, "as2lib.sha256", "com.helger.as2:as2-lib:5.1.7")
	a.lib = lib
	return err
}

func (a *as2lib) start(ctx context.Context, m material) error {
	run, err := javaDriver(ctx, "as2lib", a.lib, filepath.Join(m.Dir, "classes"), a.heap, a.receipts)
	if err != nil {
		return err
	}
	return a.begin(ctx, run, a.messages, m, allTerms(a))
}

func (a *as2lib) endpoints(profile) (messages, receipts string) {
	return "http://" + a.messages + "/as2", "http://" + a.receipts + "/mdn"
}

func (a *as2lib) send(ctx context.Context, p profile, d document) (outcome, error) {
	return a.sendAs(ctx, termsOf(a, p), d)
}

func (a *as2lib) received(ctx context.Context, p profile, messageID string) (arrival, error) {
	return a.receivedAs(ctx, termsOf(a, p), messageID)
}

func (a *as2lib) stop() { a.end() }
