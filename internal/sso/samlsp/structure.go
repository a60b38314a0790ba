// Package samlsp is the service provider's half of SAML 2.0 web sign-in: it
// reads metadata, writes authentication requests and verifies responses. It
// knows no database and no clock but the one it is given.
//
// Layer: across domains. Begin at [Verify].
package samlsp

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	rtv "github.com/mattermost/xml-roundtrip-validator"
)

// Bounds of a document: a stranger sends it, before anything is verified.
const (
	MaxXML   = 256 << 10 // bytes
	maxDepth = 64
	maxAttrs = 64
)

// Namespaces.
const (
	nsProtocol  = "urn:oasis:names:tc:SAML:2.0:protocol"
	nsAssertion = "urn:oasis:names:tc:SAML:2.0:assertion"
	nsSignature = "http://www.w3.org/2000/09/xmldsig#"
)

var (
	errDoctype   = errors.New("samlsp: a DOCTYPE is not read")
	errDepth     = errors.New("samlsp: nested too deeply")
	errSize      = errors.New("samlsp: document too large")
	errAssertion = errors.New("samlsp: a response holds exactly one assertion, right below its root")
	errEncrypted = errors.New("samlsp: encrypted assertions are not taken; switch encryption off at the provider")
)

// checkStructure walks a document once, without building a tree, and refuses what two
// readers may read in two ways or what costs more than it says. strict is for
// responses: neither comments nor processing instructions, so that no text is
// in pieces, one assertion, and no id twice.
func checkStructure(b []byte, strict bool) error {
	if len(b) > MaxXML {
		return errSize
	}
	w := walker{strict: strict, ids: map[string]bool{}}
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		t, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("samlsp: malformed XML: %w", err)
		}
		if err := w.checkToken(t); err != nil {
			return err
		}
	}
	if strict && (w.assertions != 1 || !w.direct) {
		return errAssertion
	}
	// encoding/xml and etree could disagree on names and prefixes that do not
	// survive being written again.
	if err := rtv.Validate(bytes.NewReader(b)); err != nil {
		return fmt.Errorf("samlsp: ambiguous XML: %w", err)
	}
	return nil
}

type walker struct {
	strict     bool
	depth      int
	assertions int
	direct     bool // the assertion is a child of the root
	roots      int
	ids        map[string]bool
}

func (w *walker) checkToken(t xml.Token) error {
	switch t := t.(type) {
	case xml.Directive:
		return errDoctype
	case xml.ProcInst:
		if w.strict && t.Target != "xml" {
			return errors.New("samlsp: a processing instruction in a response")
		}
	case xml.Comment:
		if w.strict {
			return errors.New("samlsp: a comment in a response")
		}
	case xml.StartElement:
		return w.openElement(t)
	case xml.EndElement:
		w.depth--
	}
	return nil
}

func (w *walker) openElement(t xml.StartElement) error {
	if w.depth == 0 {
		if w.roots++; w.roots > 1 {
			return errors.New("samlsp: two roots")
		}
	}
	if w.depth++; w.depth > maxDepth || len(t.Attr) > maxAttrs {
		return errDepth
	}
	if !w.strict {
		return nil
	}
	switch t.Name.Local {
	case "EncryptedAssertion":
		return errEncrypted
	case "Assertion":
		w.assertions++
		w.direct = w.depth == 2 && t.Name.Space == nsAssertion
	}
	for _, a := range t.Attr {
		if a.Name.Space == "" && (a.Name.Local == "ID" || a.Name.Local == "Id" || a.Name.Local == "id") {
			if w.ids[a.Value] {
				return errors.New("samlsp: an id stands twice")
			}
			w.ids[a.Value] = true
		}
	}
	return nil
}
