package smp

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/internal/certs"
	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// MaxAnswer bounds the answer of an SMP.
const MaxAnswer = 1 << 20

// Namespaces.
const (
	nsPeppol    = "http://busdox.org/serviceMetadata/publishing/1.0/"
	nsPeppolIDs = "http://busdox.org/transport/identifiers/1.0/"
	nsOASIS     = "http://docs.oasis-open.org/bdxr/ns/SMP/2016/05"
	nsAddress   = "http://www.w3.org/2005/08/addressing"
)

// Kinds of failure.
var (
	ErrAnswer     = errors.New("the SMP's answer cannot be read")
	ErrUntrusted  = errors.New("the SMP's answer is not to be trusted")
	ErrNoEndpoint = errors.New("the receiver takes no such document here") // signed: a definite answer
)

// Trust says whose word counts.
type Trust struct {
	Publishers   *x509.CertPool // authorities of SMPs; nil: none
	AccessPoints *x509.CertPool // authorities of access points; nil: none
	Now          time.Time
}

// Metadata is the signed answer of an SMP about a document type of a participant.
type Metadata struct {
	Redirect  string // another SMP that is to be asked; empty: none
	processes []process
}

type process struct {
	id        ID
	endpoints []Endpoint
}

// Endpoint is where a participant takes documents.
type Endpoint struct {
	Transport   string
	URL         string
	Certificate *x509.Certificate // of the access point
	From, Until time.Time         // zero: no limit

	problem string // why it cannot be used
}

// Read reads an SMP's answer to a question about a participant and a document
// type. Its signature is verified, and its signer traced to an authority, before
// anything of it is believed. Errors are ErrAnswer and ErrUntrusted.
func Read(data []byte, participant, document ID, t Trust) (*Metadata, error) {
	tree, err := xmltree.Parse(data, xmltree.Limits{Bytes: MaxAnswer})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	space := xmltree.Space(tree.Root())
	if tree.Root().Tag != "SignedServiceMetadata" || space != nsPeppol && space != nsOASIS {
		return nil, fmt.Errorf("%w: its root is %.100s in the namespace %.100q, not SignedServiceMetadata", ErrAnswer, tree.Root().Tag, space)
	}
	signer, err := xmldsig.VerifyEnveloped(tree)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	if err := chain(signer.Certificate, signer.Carried, t.Publishers, t.Now); err != nil {
		return nil, fmt.Errorf("%w: it is signed by %s, %w", ErrUntrusted, describe(signer.Certificate), err)
	}
	r := reader{space: space, ids: space}
	if space == nsPeppol {
		r.ids = nsPeppolIDs
	}
	return r.metadata(tree.Root(), participant, document)
}

// reader reads one of the two vocabularies.
type reader struct{ space, ids string }

func (r reader) metadata(root *etree.Element, participant, document ID) (*Metadata, error) {
	all, err := xmldsig.Only(root, r.space, "ServiceMetadata")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if redirects := xmltree.Children(all, r.space, "Redirect"); len(redirects) > 0 {
		href, _ := xmltree.Attr(redirects[0], "", "href")
		to, err := CheckURL(strings.TrimSpace(href))
		if err != nil {
			return nil, fmt.Errorf("%w: its redirect: %w", ErrAnswer, err)
		}
		return &Metadata{Redirect: to}, nil
	}
	info, err := xmldsig.Only(all, r.space, "ServiceInformation")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	// A true answer to another question proves nothing.
	if about := r.id(info, "ParticipantIdentifier"); !about.same(participant) {
		return nil, fmt.Errorf("%w: it is about the participant %.100q, asked was about %.100q", ErrUntrusted, about, participant)
	}
	if about := r.id(info, "DocumentIdentifier"); about != document {
		return nil, fmt.Errorf("%w: it is about the document type %.300q, asked was about %.300q", ErrUntrusted, about, document)
	}
	m := &Metadata{}
	for _, list := range xmltree.Children(info, r.space, "ProcessList") {
		for _, p := range xmltree.Children(list, r.space, "Process") {
			one := process{id: r.id(p, "ProcessIdentifier")}
			for _, endpoints := range xmltree.Children(p, r.space, "ServiceEndpointList") {
				for _, e := range xmltree.Children(endpoints, r.space, "Endpoint") {
					one.endpoints = append(one.endpoints, r.endpoint(e))
				}
			}
			m.processes = append(m.processes, one)
		}
	}
	return m, nil
}

func (r reader) id(e *etree.Element, local string) ID {
	for _, child := range xmltree.Children(e, r.ids, local) {
		scheme, _ := xmltree.Attr(child, "", "scheme")
		return ID{scheme, strings.TrimSpace(xmltree.Text(child))}
	}
	return ID{}
}

func (r reader) endpoint(e *etree.Element) Endpoint {
	out := Endpoint{URL: r.text(e, "EndpointURI")}
	out.Transport, _ = xmltree.Attr(e, "", "transportProfile")
	for _, ref := range xmltree.Children(e, nsAddress, "EndpointReference") {
		for _, address := range xmltree.Children(ref, nsAddress, "Address") {
			out.URL = strings.TrimSpace(xmltree.Text(address))
		}
	}
	for local, to := range map[string]*time.Time{"ServiceActivationDate": &out.From, "ServiceExpirationDate": &out.Until} {
		text := r.text(e, local)
		if text == "" {
			continue
		}
		var err error
		if *to, err = when(text); err != nil {
			out.problem = fmt.Sprintf("its %s %.40q is no date", local, text)
		}
	}
	if u, err := url.Parse(out.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		out.problem = fmt.Sprintf("its address %.200q is no http or https URL", out.URL)
	}
	var err error
	if out.Certificate, err = certificate(r.text(e, "Certificate")); err != nil {
		out.problem = fmt.Sprintf("its certificate cannot be read: %v", err)
	}
	return out
}

func (r reader) text(e *etree.Element, local string) string {
	for _, child := range xmltree.Children(e, r.space, local) {
		return strings.TrimSpace(xmltree.Text(child))
	}
	return ""
}

// when reads a xs:dateTime; without a zone it is UTC.
func when(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("no date")
}

// certificate reads base64, wrapped or not.
// QUIRK(several SMPs): with the lines of PEM around it.
func certificate(text string) (*x509.Certificate, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "-----BEGIN CERTIFICATE-----", ""), "-----END CERTIFICATE-----", "")
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(der) == 0 {
		return nil, errors.New("it is not base64")
	}
	return certs.ParseCertificate(der)
}

// Endpoint finds where documents of a process are taken by a transport profile.
// Errors are ErrNoEndpoint, which is the receiver's definite word, and
// ErrUntrusted for an access point whose certificate no pinned authority issued.
func (m *Metadata) Endpoint(of ID, transport string, t Trust) (Endpoint, error) {
	i := slices.IndexFunc(m.processes, func(p process) bool { return p.id == of })
	if i < 0 {
		return Endpoint{}, fmt.Errorf("%w: not in the process %.200s; there is %s", ErrNoEndpoint, of, list(m.processes, func(p process) string { return p.id.String() }))
	}
	endpoints := m.processes[i].endpoints
	var err error
	for _, e := range endpoints {
		if e.Transport != transport {
			continue
		}
		if err = e.check(t); err == nil {
			return e, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: not by the transport profile %s; there is %s", ErrNoEndpoint, transport, list(endpoints, func(e Endpoint) string { return e.Transport }))
	}
	return Endpoint{}, err
}

func (e Endpoint) check(t Trust) error {
	const day = "2006-01-02 15:04 MST"
	switch {
	case e.problem != "":
		return fmt.Errorf("%w: %s", ErrNoEndpoint, e.problem)
	case t.Now.Before(e.From):
		return fmt.Errorf("%w: before %s", ErrNoEndpoint, e.From.UTC().Format(day))
	case !e.Until.IsZero() && !t.Now.Before(e.Until):
		return fmt.Errorf("%w: since %s", ErrNoEndpoint, e.Until.UTC().Format(day))
	}
	if err := chain(e.Certificate, nil, t.AccessPoints, t.Now); err != nil {
		return fmt.Errorf("%w: the access point %s shows %s, %w", ErrUntrusted, e.URL, describe(e.Certificate), err)
	}
	return nil
}

func list[T any](all []T, name func(T) string) string {
	if len(all) == 0 {
		return "none"
	}
	const most = 5
	var names []string
	for _, one := range all[:min(len(all), most)] {
		names = append(names, fmt.Sprintf("%.200s", name(one)))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// chain builds a path to a pinned authority.
func chain(c *x509.Certificate, carried []*x509.Certificate, authorities *x509.CertPool, now time.Time) error {
	if authorities == nil {
		return errors.New("and no authority is pinned")
	}
	between := x509.NewCertPool()
	for _, up := range carried {
		between.AddCert(up)
	}
	_, err := c.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return fmt.Errorf("which no authority that is pinned and in force vouches for (%w)", err)
	}
	return nil
}

func describe(c *x509.Certificate) string {
	return fmt.Sprintf("%.100q, serial %X, issued by %.100q", c.Subject.CommonName, c.SerialNumber, c.Issuer.CommonName)
}
