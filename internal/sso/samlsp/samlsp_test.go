package samlsp_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
	dsig "github.com/russellhaering/goxmldsig"

	"holdfast/internal/sso/samlsp"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const (
	acs    = "https://wms.example/auth/v1/sso/saml/acs"
	sp     = "https://wms.example/auth/v1/sso/saml/metadata"
	entity = "https://idp.example/metadata"
)

var want = samlsp.Want{EntityID: sp, ACS: acs, RequestID: "_req", Now: now}

type pair struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// newPair makes the key of a scalar, so that every process of a fuzz run has
// the same.
func newPair(scalar byte) pair {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{scalar}, 32))
	if err != nil {
		panic(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "idp"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return pair{key, cert}
}

var ours = sync.OnceValue(func() pair { return newPair(1) })

func provider() *samlsp.Provider {
	return &samlsp.Provider{EntityID: entity, Certs: []*x509.Certificate{ours().cert}}
}

// texts of a good assertion and a good response around it.
const assertionText = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a" Version="2.0" ` +
	`IssueInstant="2026-05-01T12:00:00Z"><saml:Issuer>https://idp.example/metadata</saml:Issuer>` +
	`<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">ann-1</saml:NameID>` +
	`<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">` +
	`<saml:SubjectConfirmationData InResponseTo="_req" NotOnOrAfter="2026-05-01T12:05:00Z" ` +
	`Recipient="https://wms.example/auth/v1/sso/saml/acs"/></saml:SubjectConfirmation></saml:Subject>` +
	`<saml:Conditions NotBefore="2026-05-01T11:59:00Z" NotOnOrAfter="2026-05-01T12:05:00Z"><saml:AudienceRestriction>` +
	`<saml:Audience>https://wms.example/auth/v1/sso/saml/metadata</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
	`<saml:AuthnStatement AuthnInstant="2026-05-01T12:00:00Z" SessionNotOnOrAfter="2026-05-01T20:00:00Z"/>` +
	`<saml:AttributeStatement><saml:Attribute Name="urn:oid:0.9.2342.19200300.100.1.3" FriendlyName="mail">` +
	`<saml:AttributeValue>ann@corp.example</saml:AttributeValue></saml:Attribute>` +
	`<saml:Attribute Name="groups"><saml:AttributeValue>a</saml:AttributeValue><saml:AttributeValue>b</saml:AttributeValue>` +
	`</saml:Attribute></saml:AttributeStatement></saml:Assertion>`

const responseText = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r" Version="2.0" ` +
	`IssueInstant="2026-05-01T12:00:00Z" Destination="https://wms.example/auth/v1/sso/saml/acs" InResponseTo="_req">` +
	`<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://idp.example/metadata</saml:Issuer><samlp:Status>` +
	`<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>%s</samlp:Response>`

// sign signs the root element of a text, enveloped.
func sign(t testing.TB, text string, p pair, method string) string {
	t.Helper()
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		t.Fatal(err)
	}
	ctx, err := dsig.NewSigningContext(p.key, [][]byte{p.cert.Raw})
	if err != nil {
		t.Fatal(err)
	}
	ctx.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	if err := ctx.SetSignatureMethod(method); err != nil {
		t.Fatal(err)
	}
	out, err := ctx.SignEnveloped(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	d := etree.NewDocument()
	d.SetRoot(out)
	s, err := d.WriteToString()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const sha256 = dsig.ECDSASHA256SignatureMethod

// odd signs a text like sign, its SignedInfo changed before it is signed, so
// that nothing but what was changed is wrong with it.
func odd(t testing.TB, text string, change func(root, info *etree.Element)) string {
	t.Helper()
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		t.Fatal(err)
	}
	ctx, err := dsig.NewSigningContext(ours().key, [][]byte{ours().cert.Raw})
	if err != nil {
		t.Fatal(err)
	}
	ctx.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	sig, err := ctx.ConstructSignature(doc.Root(), true)
	if err != nil {
		t.Fatal(err)
	}
	info := sig.SelectElement("SignedInfo")
	change(doc.Root(), info)
	own := info.Copy()
	own.CreateAttr("xmlns:ds", dsig.Namespace)
	value, err := ctx.SignString(canonical(t, own))
	if err != nil {
		t.Fatal(err)
	}
	sig.SelectElement("SignatureValue").SetText(base64.StdEncoding.EncodeToString(value))
	doc.Root().AddChild(sig)
	s, err := doc.WriteToString()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func canonical(t testing.TB, el *etree.Element) string {
	t.Helper()
	b, err := dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("").Canonicalize(el)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// attribute sets one attribute below SignedInfo.
func attribute(path, name, value string) func(root, info *etree.Element) {
	return func(_, info *etree.Element) { info.FindElement(path).CreateAttr(name, value) }
}

// oddities are true signatures of a form that is not taken.
func oddities(t testing.TB) map[string]string {
	const withComments = "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"
	return map[string]string{
		"signature over the document": odd(t, assertionText, attribute("./Reference", "URI", "")),
		"signature that keeps comments": odd(t, assertionText,
			attribute("./Reference/Transforms/Transform[2]", "Algorithm", withComments)),
		"digest by SHA-1": odd(t, assertionText, func(root, info *etree.Element) {
			sum := sha1.Sum([]byte(canonical(t, root)))
			attribute("./Reference/DigestMethod", "Algorithm", "http://www.w3.org/2000/09/xmldsig#sha1")(root, info)
			info.FindElement("./Reference/DigestValue").SetText(base64.StdEncoding.EncodeToString(sum[:]))
		}),
		"an object in the signature": strings.Replace(sign2(t, assertionText), "</ds:Signature>",
			"<ds:Object><x/></ds:Object></ds:Signature>", 1),
		"signed twice":                           sign2(t, sign2(t, assertionText)),
		"signed with an instruction in the name": sign2(t, strings.Replace(assertionText, "ann-1", "ann<?x y?>-1", 1)),
	}
}

func good(t testing.TB) string {
	return fmt.Sprintf(responseText, sign(t, assertionText, ours(), sha256))
}

func TestGoodResponses(t *testing.T) {
	wanted := &samlsp.Assertion{ID: "_a", NameID: "ann-1", Format: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
		Attributes: map[string][]string{"urn:oid:0.9.2342.19200300.100.1.3": {"ann@corp.example"},
			"mail": {"ann@corp.example"}, "groups": {"a", "b"}},
		Expires: now.Add(5 * time.Minute), SessionEnd: now.Add(8 * time.Hour)}
	for name, raw := range map[string]string{
		"assertion signed": good(t),
		"response signed":  sign(t, fmt.Sprintf(responseText, assertionText), ours(), sha256),
		"both signed":      sign(t, good(t), ours(), sha256),
		"SHA-512":          fmt.Sprintf(responseText, sign(t, assertionText, ours(), dsig.ECDSASHA512SignatureMethod)),
		"odd in nothing":   fmt.Sprintf(responseText, odd(t, assertionText, func(_, _ *etree.Element) {})),
	} {
		got, err := samlsp.Verify([]byte(raw), provider(), want)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(wanted, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	// During a rotation either certificate counts.
	p := provider()
	p.Certs = append([]*x509.Certificate{newPair(2).cert}, p.Certs...)
	if _, err := samlsp.Verify([]byte(good(t)), p, want); err != nil {
		t.Errorf("with two certificates: %v", err)
	}
}

// Each line changes one thing that a provider says before it signs
// (saml-profiles-2.0 section 4.1.4.3).
func TestWhatAnAssertionHasToSay(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"another audience", "<saml:Audience>https://wms.example", "<saml:Audience>https://other.example"},
		{"no audience", "<saml:AudienceRestriction><saml:Audience>https://wms.example/auth/v1/sso/saml/metadata</saml:Audience></saml:AudienceRestriction>", ""},
		{"a second restriction that leaves us out", "</saml:AudienceRestriction>",
			"</saml:AudienceRestriction><saml:AudienceRestriction><saml:Audience>x</saml:Audience></saml:AudienceRestriction>"},
		{"another recipient", `Recipient="https://wms.example`, `Recipient="https://other.example`},
		{"no recipient", ` Recipient="https://wms.example/auth/v1/sso/saml/acs"`, ""},
		{"another request", `InResponseTo="_req"`, `InResponseTo="_other"`},
		{"no request", ` InResponseTo="_req"`, ""},
		{"confirmation expired", `Data InResponseTo="_req" NotOnOrAfter="2026-05-01T12:05:00Z"`,
			`Data InResponseTo="_req" NotOnOrAfter="2026-05-01T11:59:00Z"`},
		{"confirmation without end", `Data InResponseTo="_req" NotOnOrAfter="2026-05-01T12:05:00Z"`,
			`Data InResponseTo="_req"`},
		{"holder of key", "cm:bearer", "cm:holder-of-key"},
		{"not yet valid", `NotBefore="2026-05-01T11:59:00Z"`, `NotBefore="2026-05-01T12:01:00Z"`},
		{"expired", `NotOnOrAfter="2026-05-01T12:05:00Z"><saml:Aud`, `NotOnOrAfter="2026-05-01T11:59:00Z"><saml:Aud`},
		{"session over", `SessionNotOnOrAfter="2026-05-01T20:00:00Z"`, `SessionNotOnOrAfter="2026-05-01T11:00:00Z"`},
		{"another issuer", "<saml:Issuer>https://idp.example", "<saml:Issuer>https://evil.example"},
		{"no subject", "ann-1", ""},
		{"transient name", "nameid-format:persistent", "nameid-format:transient"},
		{"old", `IssueInstant="2026-05-01T12:00:00Z"`, `IssueInstant="2026-05-01T11:40:00Z"`},
		{"from the future", `IssueInstant="2026-05-01T12:00:00Z"`, `IssueInstant="2026-05-01T12:10:00Z"`},
		{"no id", `ID="_a" `, `ID="" `},
		{"SAML 1.1", `Version="2.0"`, `Version="1.1"`},
		{"no conditions", "saml:Conditions", "saml:Advice"},
		{"no statement", `<saml:AuthnStatement AuthnInstant="2026-05-01T12:00:00Z" SessionNotOnOrAfter="2026-05-01T20:00:00Z"/>`, ""},
		{"a time that is none", "2026-05-01T20:00:00Z", "tomorrow"},
	} {
		text := strings.ReplaceAll(assertionText, c.old, c.new)
		if text == assertionText {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		for how, raw := range map[string]string{"assertion signed": fmt.Sprintf(responseText, sign2(t, text)),
			"response signed": sign(t, fmt.Sprintf(responseText, text), ours(), sha256)} {
			if got, err := samlsp.Verify([]byte(raw), provider(), want); err == nil {
				t.Errorf("%s, %s: taken: %+v", c.name, how, got)
			}
		}
	}
}

// sign2 signs even a text whose root has no id.
func sign2(t testing.TB, text string) string { return sign(t, text, ours(), sha256) }

// What the response around a well signed assertion has to say.
func TestWhatAResponseHasToSay(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"another destination", `Destination="https://wms.example`, `Destination="https://other.example`},
		{"another request", `InResponseTo="_req">`, `InResponseTo="_x">`},
		{"a refusal", "status:Success", "status:AuthnFailed"},
		{"another issuer", "assertion\">https://idp", "assertion\">https://evil"},
		{"old", `ID="_r" Version="2.0" IssueInstant="2026-05-01T12`, `ID="_r" Version="2.0" IssueInstant="2026-05-01T10`},
		{"another root", "samlp:Response", "samlp:ArtifactResponse"},
	} {
		raw := strings.ReplaceAll(good(t), c.old, c.new)
		if raw == good(t) {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		if _, err := samlsp.Verify([]byte(raw), provider(), want); err == nil {
			t.Errorf("%s: taken", c.name)
		}
	}
	nowhere := strings.Replace(fmt.Sprintf(responseText, assertionText),
		` Destination="https://wms.example/auth/v1/sso/saml/acs"`, "", 1)
	if _, err := samlsp.Verify([]byte(sign2(t, nowhere)), provider(), want); err == nil {
		t.Error("a signed response without destination: taken")
	}
	w := want
	w.RequestID = ""
	if _, err := samlsp.Verify([]byte(good(t)), provider(), w); err == nil {
		t.Error("an answer to a request was taken for an unsolicited one")
	}
}

// forgeries are documents around a true signature:
// wrapping in eight shapes, stripping, comments, other keys, weak algorithms,
// bombs.
func forgeries(t testing.TB) map[string]string {
	signed := sign(t, assertionText, ours(), sha256)
	evil := strings.NewReplacer("ann-1", "admin", "ann@corp.example", "boss@corp.example").Replace(assertionText)
	evilID := strings.Replace(evil, `ID="_a"`, `ID="_evil"`, 1)
	signature := signed[strings.Index(signed, "<ds:Signature") : strings.Index(signed,
		"</ds:Signature>")+len("</ds:Signature>")]
	inside := func(outer, child string) string {
		return strings.Replace(outer, "</saml:Issuer>", "</saml:Issuer>"+child, 1)
	}
	wrapped := func(body string) string { return fmt.Sprintf(responseText, body) }
	object := strings.Replace(signature, "</ds:Signature>", "<ds:Object>"+assertionText+"</ds:Object></ds:Signature>", 1)
	long := strings.Repeat("<x>", 100_000) + strings.Repeat("</x>", 100_000)
	signedResponse := sign(t, wrapped(assertionText), ours(), sha256)
	out := map[string]string{
		"unsigned":                                    wrapped(assertionText),
		"XSW: forged first, signed second":            wrapped(evilID + signed),
		"XSW: signed first, forged second":            wrapped(signed + evilID),
		"XSW: signed within forged":                   wrapped(inside(evilID, signed)),
		"XSW: signed in the signature's object":       wrapped(inside(evilID, object)),
		"XSW: forged with the signature's copy":       wrapped(inside(evil, signature)),
		"XSW: other id, signature's copy":             wrapped(inside(evilID, signature)),
		"XSW: signed in an extension":                 wrapped("<samlp:Extensions>" + signed + "</samlp:Extensions>" + evilID),
		"XSW: the same id twice":                      wrapped("<samlp:Extensions ID=\"_a\"/>" + signed),
		"XSW: signed response within a response":      wrapped(signedResponse + evilID),
		"XSW: assertion swapped in a signed response": strings.Replace(signedResponse, "ann-1", "admin", 1),
		"signature stripped of its value": wrapped(strings.Replace(signed, "<ds:SignatureValue>",
			"<ds:SignatureValue>AAAA", 1)),
		"attribute changed":                    wrapped(strings.Replace(signed, "ann@corp", "eve@corp", 1)),
		"a comment in the name":                wrapped(strings.Replace(signed, "ann-1", "ann<!-- -->-1", 1)),
		"a processing instruction in the name": wrapped(strings.Replace(signed, "ann-1", "ann<?x y?>-1", 1)),
		"another key":                          wrapped(sign(t, assertionText, newPair(2), sha256)),
		"a false signature around a true one":  sign(t, wrapped(signed), newPair(2), sha256),
		"SHA-1":                                wrapped(sign(t, assertionText, ours(), dsig.ECDSASHA1SignatureMethod)),
		"digest called SHA-1": wrapped(strings.Replace(signed, "http://www.w3.org/2001/04/xmlenc#sha256",
			"http://www.w3.org/2000/09/xmldsig#sha1", 1)),
		"a transform that drops things": wrapped(strings.Replace(signed,
			"http://www.w3.org/2000/09/xmldsig#enveloped-signature",
			"http://www.w3.org/TR/1999/REC-xpath-19991116", 1)),
		"a reference to nothing":         wrapped(strings.Replace(signed, `URI="#_a"`, `URI=""`, 1)),
		"encrypted":                      wrapped(`<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>`),
		"no assertion":                   wrapped(""),
		"entity bomb":                    `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>` + wrapped(signed),
		"external entity":                `<!DOCTYPE x SYSTEM "file:///etc/passwd">` + wrapped(signed),
		"ten megabytes":                  wrapped(signed + strings.Repeat(" ", 10<<20)),
		"a hundred thousand nested tags": wrapped(signed + long),
		"sixty-five levels":              wrapped(signed + strings.Repeat("<x>", 65) + strings.Repeat("</x>", 65)),
		"two roots":                      wrapped(signed) + "<x/>",
		"trailing text":                  wrapped(signed) + "<",
		"nothing":                        "",
		"a name that does not survive":   wrapped(signed + `<:x a:b:c=""/>`),
	}
	for name, text := range oddities(t) {
		out[name] = wrapped(text)
	}
	return out
}

// None of them is taken, and none costs more than a document of its size: what
// is read of one is bounded before a tree is built.
func TestForgeries(t *testing.T) {
	for name, raw := range forgeries(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := samlsp.Verify([]byte(raw), provider(), want)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: taken: %+v", name, got)
		}
		if n := after.TotalAlloc - before.TotalAlloc - uint64(len(raw)); n > 8<<20 {
			t.Errorf("%s: %d MB were allocated", name, n>>20)
		}
		samlsp.Issuer([]byte(raw))
	}
}

// recorded is a response of another implementation, and who sent it.
func recorded(t testing.TB) ([]byte, *samlsp.Provider, samlsp.Want) {
	t.Helper()
	raw, err := os.ReadFile("testdata/simplesamlphp-response.xml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/simplesamlphp-metadata.xml")
	if err != nil {
		t.Fatal(err)
	}
	w := samlsp.Want{EntityID: "http://127.0.0.1:45821/auth/v1/sso/saml/metadata",
		ACS: "http://127.0.0.1:45821/auth/v1/sso/saml/acs",
		Now: time.Date(2026, 11, 21, 11, 54, 0, 0, time.UTC)}
	p, err := samlsp.Metadata(text, w.Now)
	if err != nil {
		t.Fatal(err)
	}
	return raw, p, w
}

func TestRecordedResponse(t *testing.T) {
	raw, p, w := recorded(t)
	good, err := samlsp.Verify(raw, p, w)
	if err != nil {
		t.Fatal(err)
	}
	if good.NameID != "sam" || good.Attributes["mail"][0] != "sam@samlphp.example" ||
		good.Attributes["groups"][0] != "wms-managers" || good.SessionEnd.IsZero() {
		t.Errorf("%+v", good)
	}
	// Whatever single byte is changed: refused, or read as it was signed.
	for i := 0; i < len(raw); i += 7 {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		if got, err := samlsp.Verify(changed, p, w); err == nil {
			if d := cmp.Diff(good, got); d != "" {
				t.Fatalf("byte %d (%q): %s", i, raw[max(0, i-20):min(len(raw), i+20)], d)
			}
		}
	}
}

func metadata(certs ...*x509.Certificate) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!-- made by hand --><EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="` + entity +
		`"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">`)
	for _, c := range certs {
		b.WriteString(`<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>` +
			base64.StdEncoding.EncodeToString(c.Raw) + "\n</X509Certificate></X509Data></KeyInfo></KeyDescriptor>")
	}
	b.WriteString(`<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" ` +
		`Location="https://idp.example/sso"/></IDPSSODescriptor></EntityDescriptor>`)
	return b.String()
}

func TestMetadata(t *testing.T) {
	text := metadata(ours().cert, newPair(2).cert)
	p, err := samlsp.Metadata([]byte(text), now)
	if err != nil || p.EntityID != entity || len(p.Certs) != 2 || p.SignIn != "https://idp.example/sso" {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, c := range map[string][2]string{
		"expired": {`entityID="`, `validUntil="2026-01-01T00:00:00Z" entityID="`}, "no entity": {`entityID="` + entity + `"`,
			""}, "a script": {"https://idp.example/sso", "javascript:alert(1)"},
		"no redirect binding": {"HTTP-Redirect", "HTTP-POST"}, "encryption keys only": {`use="signing"`,
			`use="encryption"`}, "a service provider's": {"IDPSSODescriptor", "SPSSODescriptor"},
		"a DOCTYPE":      {`<?xml version="1.0"?>`, `<?xml version="1.0"?><!DOCTYPE x>`},
		"no certificate": {"<X509Certificate>", "<X509Certificate>!"},
	} {
		bad := strings.ReplaceAll(text, c[0], c[1])
		if bad == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := samlsp.Metadata([]byte(bad), now); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Nothing that a stranger posts makes it panic, and nothing unsigned is taken.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(good(f)))
	f.Add([]byte(sign(f, fmt.Sprintf(responseText, assertionText), ours(), sha256)))
	f.Add([]byte(fmt.Sprintf(responseText, assertionText)))
	f.Add([]byte(`<!DOCTYPE x>`))
	for _, raw := range forgeries(f) {
		if len(raw) <= samlsp.MaxXML {
			f.Add([]byte(raw))
		}
	}
	foreign, _, _ := recorded(f)
	f.Add(foreign)
	p := provider()
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := samlsp.Verify(raw, p, want)
		if err == nil && (a.NameID != "ann-1" || a.Attributes["mail"][0] != "ann@corp.example") {
			t.Errorf("taken: %+v", a)
		}
		samlsp.Issuer(raw)
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(metadata(ours().cert)))
	f.Add([]byte(`<EntityDescriptor/>`))
	foreign, err := os.ReadFile("testdata/simplesamlphp-metadata.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(foreign)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, err := samlsp.Metadata(raw, now); err == nil && (len(p.Certs) == 0 || p.SignIn == "") {
			t.Errorf("half a provider: %+v", p)
		}
	})
}
