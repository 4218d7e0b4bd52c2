package demo

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/as4"
	"edigw/as4/wssec"
	"edigw/internal/selfsigned"
	"edigw/testdata/partners"
)

// Ports of the sample files. The last of them belongs to nobody: a demo holds
// it as long as it runs, so that another one moves on.
const (
	firstPort = 4200
	mailPort  = 4202
	slackPort = 4203
	claimPort = 4219
	blockSize = 20
	maxBlocks = 100
)

// samplePort finds the ports in the sample files.
var samplePort = regexp.MustCompile(`\b42[01][0-9]\b`)

// installation is the folder that a demo plays with.
type installation struct {
	dir   string
	shift int // what is added to every port of the sample files
}

func (i installation) config() string { return filepath.Join(i.dir, "edigw.yaml") }

func (i installation) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i.shift))
}

// claim finds ports that nobody uses: those of the sample files, or others a
// step further. They are free for the caller until held is closed.
func claim() (shift int, held net.Listener, err error) {
	for n := range maxBlocks {
		shift = n * blockSize
		held, err = net.Listen("tcp", installation{shift: shift}.address(claimPort))
		if err != nil {
			continue
		}
		if free(shift) {
			return shift, held, nil
		}
		held.Close()
	}
	return 0, nil, fmt.Errorf("no free ports for the demo from %d to %d", firstPort, firstPort+maxBlocks*blockSize-1)
}

func free(shift int) bool {
	for port := firstPort; port < claimPort; port++ {
		l, err := net.Listen("tcp", installation{shift: shift}.address(port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// install writes the sample files and fresh keys into dir, which must be empty
// or not exist.
func install(dir string, shift int) (installation, keys, error) {
	i := installation{dir: dir, shift: shift}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return i, keys{}, fmt.Errorf("%s is not empty; name a folder that does not exist yet", dir)
	}
	var ids []string
	err := fs.WalkDir(partners.Demo, "demo", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "demo")))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := partners.Demo.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Dir(name) == "demo/partners" {
			ids = append(ids, strings.TrimSuffix(path.Base(name), ".yaml"))
		}
		return os.WriteFile(to, i.moved(text), 0o600)
	})
	if err != nil {
		return i, keys{}, err
	}
	k, err := makeKeys(ids)
	if err != nil {
		return i, keys{}, err
	}
	return i, k, k.write(filepath.Join(dir, "keys"))
}

// moved gives a sample file with its ports shifted.
func (i installation) moved(text []byte) []byte {
	return samplePort.ReplaceAllFunc(text, func(port []byte) []byte {
		n, err := strconv.Atoi(string(port))
		if err != nil {
			return port
		}
		return []byte(strconv.Itoa(n + i.shift))
	})
}

// useNextKey takes our next key into use, as an operator would: it takes the
// comment sign off the line that names it.
func (i installation) useNextKey() error {
	text, err := os.ReadFile(i.config())
	if err != nil {
		return err
	}
	edited := strings.Replace(string(text), "# - {use: sign,", "- {use: sign,", 1)
	if edited == string(text) {
		return errors.New("demo: edigw.yaml does not name the next key")
	}
	return os.WriteFile(i.config(), []byte(edited), 0o600)
}

// pair is a key with its certificate.
type pair struct {
	key  crypto.Signer
	cert *x509.Certificate
}

// keys are those of both sides.
type keys struct {
	own, next pair // ours: in use, and its successor
	partner   map[string]pair
}

// makeKeys makes a key for everybody.
func makeKeys(ids []string) (keys, error) {
	made := make([]pair, len(ids)+2)
	failed := make([]error, len(made))
	now := time.Now().Truncate(time.Second)
	var work sync.WaitGroup
	for n := range made {
		work.Go(func() {
			name, begin := "ACME-AS2", now.Add(-48*time.Hour)
			switch {
			case n == 1:
				name, begin = "ACME-AS2 next", now.Add(-time.Hour)
			case n > 1:
				name = ids[n-2] + " demo"
			}
			made[n], failed[n] = makePair(name, begin)
		})
	}
	work.Wait()
	k := keys{own: made[0], next: made[1], partner: map[string]pair{}}
	for n, id := range ids {
		k.partner[id] = made[n+2]
	}
	return k, errors.Join(failed...)
}

func makePair(name string, begin time.Time) (pair, error) {
	key, err := selfsigned.NewKey(selfsigned.RSA2048)
	if err != nil {
		return pair{}, err
	}
	cert, err := selfsigned.Certificate(key, selfsigned.Request{CommonName: name, Organization: "edigw demo, worth nothing", NotBefore: begin, NotAfter: begin.AddDate(1, 0, 0)})
	return pair{key, cert}, err
}

// write puts into dir what our side knows: our keys, the partners' certificates.
func (k keys) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, p := range map[string]pair{"own": k.own, "own-next": k.next} {
		private, err := selfsigned.KeyPEM(p.key)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".pem"), slices.Concat(private, selfsigned.CertificatePEM(p.cert)), 0o600); err != nil {
			return err
		}
	}
	for id, p := range k.partner {
		if err := os.WriteFile(filepath.Join(dir, id+".crt"), selfsigned.CertificatePEM(p.cert), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// mirror is a partner's side of the agreement: it opens what we send and signs
// receipts. It believes both certificates of ours, the present one first.
func (k keys) mirror(id string, ours as2.Agreement) as2.Agreement {
	p := k.partner[id]
	return as2.Agreement{
		From: ours.To, To: ours.From, Sign: crypto.SHA256,
		SigningKey: p.key, SigningCertificate: p.cert,
		Verify:  []*x509.Certificate{k.own.cert, k.next.cert},
		Decrypt: p.recipients(),
		Receive: as2.Receive{Signed: true, Encrypted: true},
	}
}

// mirrorAS4 is the same of a P-Mode.
func (k keys) mirrorAS4(id string, ours as4.PMode) as4.PMode {
	p := k.partner[id]
	return as4.PMode{
		From: ours.To, To: ours.From, MEP: ours.MEP, Collaboration: ours.Collaboration,
		Sign:    wssec.Signing{Algorithm: wssec.RSASHA256, Digest: crypto.SHA256, Token: wssec.TokenBST, Key: p.key, Certificate: p.cert},
		Verify:  []*x509.Certificate{k.own.cert, k.next.cert},
		Decrypt: []wssec.Opener{{Certificate: p.cert, Key: p.key}},
		Receive: as4.Receive{Signed: true, Encrypted: true, Receipt: as4.ReceiptRequest{Mode: as4.ReceiptSync, NonRepudiation: true, Signed: true}},
	}
}

func (p pair) recipients() []smime.Recipient {
	d, ok := p.key.(crypto.Decrypter)
	if !ok {
		return nil
	}
	return []smime.Recipient{{Certificate: p.cert, Key: d}}
}
