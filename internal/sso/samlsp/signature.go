package samlsp

import (
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
	"github.com/russellhaering/goxmldsig/etreeutils"
)

// Algorithms taken. SHA-1 and canonicalizations that keep comments are not
// among them.
var (
	signatureMethods = []string{
		"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384",
		"http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
		"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384",
		"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512",
	}
	digestMethods = []string{"http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2001/04/xmldsig-more#sha384",
		"http://www.w3.org/2001/04/xmlenc#sha512"}
	canonicals = []string{"http://www.w3.org/2001/10/xml-exc-c14n#"}
	transforms = []string{"http://www.w3.org/2000/09/xmldsig#enveloped-signature",
		"http://www.w3.org/2001/10/xml-exc-c14n#"}
)

var (
	errUnsigned = errors.New("samlsp: not signed")
	// ErrSignature says that no certificate of the provider fits.
	ErrSignature = errors.New("samlsp: the signature does not verify with a certificate of the provider")
	errAlgorithm = errors.New("samlsp: the signature uses an algorithm that is not taken (SHA-256 or stronger, exclusive canonicalization)")
	errReference = errors.New("samlsp: the signature does not cover exactly the element it stands in")
)

// verifySignature returns el anew, built from nothing but the bytes its signature
// covers. An element without a signature of its own is errUnsigned.
func verifySignature(el *etree.Element, certs []*x509.Certificate, now time.Time) (*etree.Element, error) {
	sigs := childElements(el, nsSignature, "Signature")
	if len(sigs) == 0 {
		return nil, errUnsigned
	}
	if len(sigs) > 1 {
		return nil, errReference
	}
	if err := checkSignatureShape(el, sigs[0]); err != nil {
		return nil, err
	}
	for _, cert := range certs {
		// The library changes the tree it is given, so each try has its own.
		own, err := detachElement(el)
		if err != nil {
			return nil, err
		}
		ctx := dsig.NewDefaultValidationContext(&dsig.MemoryX509CertificateStore{Roots: []*x509.Certificate{cert}})
		ctx.Clock = dsig.NewFakeClockAt(now)
		if out, err := ctx.Validate(own); err == nil && out != nil {
			return out, nil
		}
	}
	return nil, ErrSignature
}

// detachElement copies an element with the namespaces it inherits, and without the
// certificate that came along: which one counts is for the metadata to say.
func detachElement(el *etree.Element) (*etree.Element, error) {
	ctx, err := etreeutils.NSBuildParentContext(el)
	if err != nil {
		return nil, err
	}
	own, err := etreeutils.NSDetatch(ctx, el)
	if err != nil {
		return nil, err
	}
	for _, sig := range childElements(own, nsSignature, "Signature") {
		for _, info := range childElements(sig, nsSignature, "KeyInfo") {
			sig.RemoveChild(info)
		}
	}
	return own, nil
}

// checkSignatureShape holds a signature to the one form SAML knows (saml-core-2.0 section
// 5.4): one reference, to the id of the element around it, nothing else signed.
func checkSignatureShape(el, sig *etree.Element) error {
	info, err := onlyChild(sig, nsSignature, "SignedInfo")
	if err != nil || len(childElements(sig, nsSignature, "Object")) > 0 {
		return errReference
	}
	ref, err := onlyChild(info, nsSignature, "Reference")
	id := el.SelectAttrValue("ID", "")
	if err != nil || id == "" || ref.SelectAttrValue("URI", "") != "#"+id {
		return errReference
	}
	for _, want := range []struct {
		in   *etree.Element
		tag  string
		from []string
	}{{info, "SignatureMethod", signatureMethods}, {info, "CanonicalizationMethod", canonicals},
		{ref, "DigestMethod", digestMethods}} {
		m, err := onlyChild(want.in, nsSignature, want.tag)
		if err != nil || !slices.Contains(want.from, m.SelectAttrValue("Algorithm", "")) {
			return errAlgorithm
		}
	}
	list, err := onlyChild(ref, nsSignature, "Transforms")
	if err != nil {
		return errAlgorithm
	}
	for _, t := range childElements(list, nsSignature, "Transform") {
		if !slices.Contains(transforms, t.SelectAttrValue("Algorithm", "")) {
			return errAlgorithm
		}
	}
	return nil
}

// childElements returns the child elements of one name, whatever their prefix.
func childElements(el *etree.Element, ns, tag string) []*etree.Element {
	var out []*etree.Element
	for _, c := range el.ChildElements() {
		if c.Tag == tag && c.NamespaceURI() == ns {
			out = append(out, c)
		}
	}
	return out
}

var errOne = errors.New("samlsp: an element is missing or stands twice")

func onlyChild(el *etree.Element, ns, tag string) (*etree.Element, error) {
	list := childElements(el, ns, tag)
	if len(list) != 1 {
		return nil, errOne
	}
	return list[0], nil
}
