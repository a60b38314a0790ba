package samlsp

import (
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beevik/etree"
)

// skew is how far clocks may differ.
const skew = 30 * time.Second

// maxAge is how old a response may be when it arrives.
const maxAge = 10 * time.Minute

// Want is what a response has to say to be ours.
type Want struct {
	EntityID  string // ours: the audience
	ACS       string // our address: destination and recipient
	RequestID string // "" = the response has to be unsolicited
	Now       time.Time
}

// Assertion is what a provider vouches for, read from verified bytes only.
type Assertion struct {
	ID         string
	NameID     string
	Format     string              // of the name id
	Attributes map[string][]string // by Name, and by FriendlyName where that is free
	Expires    time.Time           // until when the assertion itself is good
	SessionEnd time.Time           // hard end of the session; zero = not said
}

const (
	bearer    = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
	success   = "urn:oasis:names:tc:SAML:2.0:status:Success"
	transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
	// EmailFormat is the name id format whose value is an address.
	EmailFormat = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
)

// Issuer returns who a response says it is from, for choosing the provider
// that then has to prove it. Nothing else may be done with it.
func Issuer(raw []byte) (string, error) {
	root, err := parseDocument(raw)
	if err != nil {
		return "", err
	}
	if el, err := onlyChild(root, nsAssertion, "Issuer"); err == nil {
		return strings.TrimSpace(el.Text()), nil
	}
	a, err := onlyChild(root, nsAssertion, "Assertion")
	if err != nil {
		return "", err
	}
	el, err := onlyChild(a, nsAssertion, "Issuer")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(el.Text()), nil
}

// maxAddresses bounds what Addresses returns.
const maxAddresses = 20

// Addresses returns what looks like a mail address among the name ids and
// attribute values of a response, unverified: for choosing, as by Issuer, among
// the connections of one provider. Nothing else may be done with it.
func Addresses(raw []byte) ([]string, error) {
	root, err := parseDocument(raw)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, el := range slices.Concat(root.FindElements(".//NameID"), root.FindElements(".//AttributeValue")) {
		v := strings.TrimSpace(el.Text())
		if el.NamespaceURI() == nsAssertion && strings.Contains(v, "@") && len(v) <= 320 && !slices.Contains(out, v) &&
			len(out) < maxAddresses {
			out = append(out, v)
		}
	}
	return out, nil
}

func parseDocument(raw []byte) (*etree.Element, error) {
	if err := checkStructure(raw, true); err != nil {
		return nil, err
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(raw); err != nil {
		return nil, fmt.Errorf("samlsp: malformed XML: %w", err)
	}
	root := doc.Root()
	if root == nil || root.Tag != "Response" || root.NamespaceURI() != nsProtocol {
		return nil, errors.New("samlsp: not a SAML response")
	}
	return root, nil
}

// Verify checks a response (saml-profiles-2.0 section 4.1.4.3): structure,
// signature of the response or its assertion, issuer, destination, status,
// times, audience, recipient and request.
func Verify(raw []byte, idp *Provider, w Want) (*Assertion, error) {
	root, err := parseDocument(raw)
	if err != nil {
		return nil, err
	}
	signed, err := verifySignature(root, idp.Certs, w.Now)
	if err == nil {
		root = signed
	} else if !errors.Is(err, errUnsigned) {
		return nil, err
	}
	if err := checkResponse(root, idp, w, signed != nil); err != nil {
		return nil, err
	}
	el, err := onlyChild(root, nsAssertion, "Assertion")
	if err != nil {
		return nil, errAssertion
	}
	if el, err = verifyAssertion(el, idp.Certs, w.Now, signed != nil); err != nil {
		return nil, err
	}
	return readAssertion(el, idp, w)
}

// verifyAssertion returns the assertion's verified form. Inside a verified response it
// needs no signature of its own, but a false one is refused there too.
func verifyAssertion(el *etree.Element, certs []*x509.Certificate, now time.Time, inside bool) (*etree.Element, error) {
	own, err := verifySignature(el, certs, now)
	if errors.Is(err, errUnsigned) && inside {
		return el, nil
	}
	if err == nil && (own.Tag != "Assertion" || own.NamespaceURI() != nsAssertion) {
		return nil, errReference
	}
	return own, err
}

func checkResponse(root *etree.Element, idp *Provider, w Want, signed bool) error {
	dest := root.SelectAttrValue("Destination", "")
	switch {
	case root.Tag != "Response" || root.NamespaceURI() != nsProtocol || root.SelectAttrValue("Version", "") != "2.0":
		return errors.New("samlsp: not a SAML 2.0 response")
	case dest != w.ACS && (dest != "" || signed):
		return errors.New("samlsp: the response is for another destination")
	case root.SelectAttrValue("InResponseTo", "") != w.RequestID:
		return errors.New("samlsp: the response answers another request")
	}
	if list := childElements(root, nsAssertion, "Issuer"); len(list) > 1 || len(list) == 1 &&
		strings.TrimSpace(list[0].Text()) != idp.EntityID {
		return errors.New("samlsp: the response is from another provider")
	}
	if err := checkIssued(root, w.Now); err != nil {
		return err
	}
	st, err := onlyChild(root, nsProtocol, "Status")
	if err != nil {
		return err
	}
	code, err := onlyChild(st, nsProtocol, "StatusCode")
	if err != nil || code.SelectAttrValue("Value", "") != success {
		return ErrRefused
	}
	return nil
}

// ErrRefused says that the provider answered, and did not sign the person in.
var ErrRefused = errors.New("samlsp: the provider refused the sign-in")

func checkIssued(el *etree.Element, now time.Time) error {
	at, err := time.Parse(time.RFC3339, el.SelectAttrValue("IssueInstant", ""))
	if err != nil || at.After(now.Add(skew)) || at.Add(maxAge).Before(now) {
		return errors.New("samlsp: the response is too old, or from the future")
	}
	return nil
}

// assertion is the part of saml-core-2.0 section 2.3.3 that is read.
type assertion struct {
	XMLName xml.Name `xml:"urn:oasis:names:tc:SAML:2.0:assertion Assertion"`
	ID      string   `xml:"ID,attr"`
	Version string   `xml:"Version,attr"`
	Issuer  []string `xml:"urn:oasis:names:tc:SAML:2.0:assertion Issuer"`
	Subject []struct {
		NameID []struct {
			Format string `xml:"Format,attr"`
			Value  string `xml:",chardata"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:assertion NameID"`
		Confirmations []struct {
			Method string `xml:"Method,attr"`
			Data   []struct {
				NotBefore    string `xml:"NotBefore,attr"`
				NotOnOrAfter string `xml:"NotOnOrAfter,attr"`
				Recipient    string `xml:"Recipient,attr"`
				InResponseTo string `xml:"InResponseTo,attr"`
			} `xml:"urn:oasis:names:tc:SAML:2.0:assertion SubjectConfirmationData"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:assertion SubjectConfirmation"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:assertion Subject"`
	Conditions []struct {
		NotBefore    string `xml:"NotBefore,attr"`
		NotOnOrAfter string `xml:"NotOnOrAfter,attr"`
		Audiences    []struct {
			Audience []string `xml:"urn:oasis:names:tc:SAML:2.0:assertion Audience"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:assertion AudienceRestriction"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:assertion Conditions"`
	Authn []struct {
		SessionEnd string `xml:"SessionNotOnOrAfter,attr"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:assertion AuthnStatement"`
	Attributes []struct {
		Attribute []struct {
			Name     string   `xml:"Name,attr"`
			Friendly string   `xml:"FriendlyName,attr"`
			Values   []string `xml:"urn:oasis:names:tc:SAML:2.0:assertion AttributeValue"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:assertion Attribute"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:assertion AttributeStatement"`
}

func readAssertion(el *etree.Element, idp *Provider, w Want) (*Assertion, error) {
	if err := checkIssued(el, w.Now); err != nil {
		return nil, err
	}
	own, err := detachElement(el)
	if err != nil {
		return nil, err
	}
	doc := etree.NewDocument()
	doc.SetRoot(own)
	b, err := doc.WriteToBytes()
	if err != nil {
		return nil, fmt.Errorf("samlsp: write assertion: %w", err)
	}
	var a assertion
	if err := xml.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("samlsp: read assertion: %w", err)
	}
	switch {
	case a.ID == "" || len(a.ID) > 256 || a.Version != "2.0":
		return nil, errors.New("samlsp: the assertion has no id, or is not SAML 2.0")
	case len(a.Issuer) != 1 || strings.TrimSpace(a.Issuer[0]) != idp.EntityID:
		return nil, errors.New("samlsp: the assertion is from another provider")
	case len(a.Authn) == 0:
		return nil, errors.New("samlsp: the assertion says nothing about a sign-in")
	}
	out := &Assertion{ID: a.ID, Attributes: a.readAttributes()}
	if err := a.checkConditions(out, w); err != nil {
		return nil, err
	}
	if err := a.checkSubject(out, w); err != nil {
		return nil, err
	}
	for _, s := range a.Authn {
		end, err := parseInstant(s.SessionEnd)
		if err != nil {
			return nil, err
		}
		if !end.IsZero() && (out.SessionEnd.IsZero() || end.Before(out.SessionEnd)) {
			out.SessionEnd = end
		}
	}
	if !out.SessionEnd.IsZero() && !w.Now.Before(out.SessionEnd) {
		return nil, errExpired
	}
	return out, nil
}

var errExpired = errors.New("samlsp: the assertion is not valid at this time")

// parseInstant reads an xs:dateTime; "" is the zero time.
func parseInstant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("samlsp: time %.40q: %w", s, err)
	}
	return t.UTC(), nil
}

func checkWithin(from, to string, now time.Time) (time.Time, error) {
	nb, err := parseInstant(from)
	if err != nil {
		return nb, err
	}
	na, err := parseInstant(to)
	if err != nil {
		return na, err
	}
	if !nb.IsZero() && now.Add(skew).Before(nb) || !na.IsZero() && !now.Add(-skew).Before(na) {
		return na, errExpired
	}
	return na, nil
}

func (a *assertion) checkConditions(out *Assertion, w Want) error {
	if len(a.Conditions) != 1 {
		return errors.New("samlsp: the assertion has no conditions")
	}
	c := a.Conditions[0]
	end, err := checkWithin(c.NotBefore, c.NotOnOrAfter, w.Now)
	if err != nil {
		return err
	}
	out.Expires = end
	if len(c.Audiences) == 0 {
		return errors.New("samlsp: the assertion names no audience")
	}
	// Restrictions add up: each has to name us (saml-core-2.0 section 2.5.1.4).
	for _, r := range c.Audiences {
		if !slices.ContainsFunc(r.Audience, func(s string) bool { return strings.TrimSpace(s) == w.EntityID }) {
			return errors.New("samlsp: the assertion is for another audience")
		}
	}
	return nil
}

func (a *assertion) checkSubject(out *Assertion, w Want) error {
	if len(a.Subject) != 1 || len(a.Subject[0].NameID) != 1 {
		return ErrNoName
	}
	s := a.Subject[0]
	out.NameID, out.Format = strings.TrimSpace(s.NameID[0].Value), s.NameID[0].Format
	if out.NameID == "" || len(out.NameID) > 255 || out.Format == transient {
		return ErrNoName
	}
	reason := errors.New("samlsp: the assertion has no bearer confirmation")
	for _, c := range s.Confirmations {
		if c.Method != bearer || len(c.Data) != 1 {
			continue
		}
		d := c.Data[0]
		end, err := checkWithin(d.NotBefore, d.NotOnOrAfter, w.Now)
		switch {
		case err != nil || end.IsZero():
			reason = errExpired
		case d.Recipient != w.ACS:
			reason = errors.New("samlsp: the assertion is for another recipient")
		case d.InResponseTo != w.RequestID:
			reason = errors.New("samlsp: the assertion answers another request")
		default:
			if end.After(out.Expires) {
				out.Expires = end
			}
			return nil
		}
	}
	return reason
}

// ErrNoName says that the assertion names nobody in a way that lasts.
var ErrNoName = errors.New("samlsp: the assertion names no subject that lasts: a persistent or e-mail name id is needed")

func (a *assertion) readAttributes() map[string][]string {
	out := map[string][]string{}
	for _, st := range a.Attributes {
		for _, at := range st.Attribute {
			for _, v := range at.Values {
				out[at.Name] = append(out[at.Name], strings.TrimSpace(v))
			}
		}
	}
	for _, st := range a.Attributes {
		for _, at := range st.Attribute {
			if _, taken := out[at.Friendly]; at.Friendly != "" && !taken {
				out[at.Friendly] = out[at.Name]
			}
		}
	}
	return out
}
