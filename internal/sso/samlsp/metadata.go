package samlsp

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/crewjam/saml"
)

// Provider is an identity provider as its metadata describe it.
type Provider struct {
	EntityID string
	SignIn   string // address of the redirect binding
	Certs    []*x509.Certificate
}

// Metadata reads a provider's metadata. Several signing certificates are
// normal: during a rotation the old and the new one stand side by side.
func Metadata(b []byte, now time.Time) (*Provider, error) {
	if err := checkStructure(b, false); err != nil {
		return nil, err
	}
	var d saml.EntityDescriptor
	if err := xml.Unmarshal(b, &d); err != nil {
		return nil, errors.New("samlsp: not the metadata of one SAML entity (EntityDescriptor)")
	}
	switch {
	case d.EntityID == "" || len(d.EntityID) > 1024:
		return nil, errors.New("samlsp: the metadata name no entity")
	case !d.ValidUntil.IsZero() && now.After(d.ValidUntil):
		return nil, errors.New("samlsp: the metadata have expired (validUntil)")
	case len(d.IDPSSODescriptors) == 0:
		return nil, errors.New("samlsp: the metadata are not those of an identity provider")
	}
	p := &Provider{EntityID: d.EntityID}
	for _, idp := range d.IDPSSODescriptors {
		if err := p.addDescriptor(&idp); err != nil {
			return nil, err
		}
	}
	if p.SignIn == "" {
		return nil, errors.New("samlsp: the provider offers no sign-in by the HTTP-Redirect binding")
	}
	if len(p.Certs) == 0 {
		return nil, errors.New("samlsp: the metadata hold no signing certificate")
	}
	return p, nil
}

func (p *Provider) addDescriptor(d *saml.IDPSSODescriptor) error {
	for _, s := range d.SingleSignOnServices {
		if s.Binding == saml.HTTPRedirectBinding && p.SignIn == "" {
			// The address goes into a browser: nothing but the web.
			u, err := url.Parse(s.Location)
			if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
				return errors.New("samlsp: the sign-in address is not an http(s) URL")
			}
			p.SignIn = s.Location
		}
	}
	for _, k := range d.KeyDescriptors {
		if k.Use != "" && k.Use != "signing" {
			continue
		}
		for _, c := range k.KeyInfo.X509Data.X509Certificates {
			cert, err := parseCertificate(c.Data)
			if err != nil {
				return err
			}
			p.Certs = append(p.Certs, cert)
		}
	}
	return nil
}

func parseCertificate(text string) (*x509.Certificate, error) {
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, fmt.Errorf("samlsp: certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("samlsp: certificate: %w", err)
	}
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return nil, errors.New("samlsp: a signing key of less than 2048 bits")
		}
	case *ecdsa.PublicKey:
	default:
		return nil, errors.New("samlsp: a signing key that is neither RSA nor ECDSA")
	}
	return c, nil
}

// Request is one authentication request.
type Request struct {
	ID, EntityID, ACS, Relay string
	Format                   string // of the name id; "" leaves it to the provider
	Now                      time.Time
}

// Location returns where to send the browser: the request in the redirect
// binding (saml-bindings-2.0 section 3.4), unsigned.
func (p *Provider) Location(r Request) (string, error) {
	create, format := true, r.Format
	q := saml.AuthnRequest{ID: r.ID, Version: "2.0", IssueInstant: r.Now, Destination: p.SignIn,
		AssertionConsumerServiceURL: r.ACS, ProtocolBinding: saml.HTTPPostBinding,
		Issuer: &saml.Issuer{Value: r.EntityID}, NameIDPolicy: &saml.NameIDPolicy{AllowCreate: &create}}
	if format != "" {
		q.NameIDPolicy.Format = &format
	}
	u, err := q.Redirect(r.Relay, &saml.ServiceProvider{})
	if err != nil {
		return "", fmt.Errorf("samlsp: write request: %w", err)
	}
	return u.String(), nil
}

// Descriptor returns our own metadata.
func Descriptor(entityID, acs string) ([]byte, error) {
	wants, signs := true, false
	isDefault := true
	d := saml.EntityDescriptor{EntityID: entityID, SPSSODescriptors: []saml.SPSSODescriptor{{
		SSODescriptor: saml.SSODescriptor{RoleDescriptor: saml.RoleDescriptor{ProtocolSupportEnumeration: nsProtocol},
			NameIDFormats: []saml.NameIDFormat{saml.PersistentNameIDFormat, saml.EmailAddressNameIDFormat}},
		AuthnRequestsSigned: &signs, WantAssertionsSigned: &wants,
		AssertionConsumerServices: []saml.IndexedEndpoint{{Binding: saml.HTTPPostBinding, Location: acs, Index: 1,
			IsDefault: &isDefault}},
	}}}
	b, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("samlsp: write metadata: %w", err)
	}
	return append([]byte(xml.Header), b...), nil
}
