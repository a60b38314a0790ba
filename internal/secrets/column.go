package secrets

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// Column is a column of the database that holds sealed values. Close and Open
// take no other place, so that a change of the master key, which walks all
// Columns, forgets none.
type Column uint8

// Every column that holds sealed values.
const (
	SigningKey       Column = iota // a private JWK
	FactorSecret                   // TOTP's
	FlowSecrets                    // of a sign-in that goes on
	RequestSecrets                 // of a sign-in at an organisation's provider
	ConnectionSecret               // an organisation's OpenID client's
	WebhookSecret                  // signs deliveries
	WebhookOldSecret               // signs them too while receivers change over
	Columns                        // how many there are
)

// use is what one derived key is for.
type use uint8

const (
	forIdentity use = iota
	forWebhooks
	uses
)

// keyLabel is what the key of a use is derived with (RFC 5869 section 3.2).
func (u use) keyLabel() string {
	return [uses]string{"holdfast identity seal", "holdfast webhook secrets"}[u]
}

// place is where a column is and how values lie in it.
type place struct {
	table, name string
	use         use
	text        bool   // as NAME:BASE64, not as bytes
	owner       string // stands before the row's id in what is authenticated
}

func (c Column) placeOf() place {
	return [Columns]place{
		SigningKey:       {table: "signing_keys", name: "sealed"},
		FactorSecret:     {table: "mfa_factors", name: "secret"},
		FlowSecrets:      {table: "flow_states", name: "secrets"},
		RequestSecrets:   {table: "sso_requests", name: "secrets"},
		ConnectionSecret: {table: "sso_connections", name: "secret", text: true},
		WebhookSecret:    {table: "webhooks", name: "secret", use: forWebhooks, text: true, owner: "webhooks/"},
		WebhookOldSecret: {table: "webhooks", name: "old_secret", use: forWebhooks, text: true, owner: "webhooks/"},
	}[c]
}

// Table and Name say which column it is; its rows have the key "id".
func (c Column) Table() string { return c.placeOf().table }

// Name is the column's.
func (c Column) Name() string { return c.placeOf().name }

// Text reports a column of text; the others hold bytes.
func (c Column) Text() bool { return c.placeOf().text }

// mark begins sealed bytes that name their key. Those of older versions begin
// with their nonce.
const mark = "\x00hf1"

// Close encrypts with AES-256-GCM. The name of the key stands before the
// result, and id, the row's, is authenticated with it, so that a sealed value
// cannot be moved to another row. In a column of text the result is one.
func (k Keys) Close(c Column, plain []byte, id string) []byte {
	p := c.placeOf()
	r := k.rings[p.use]
	nonce := make([]byte, r.NonceSize())
	rand.Read(nonce)
	sealed := r.Seal(nonce, nonce, plain, []byte(p.owner+id))
	if p.text {
		return []byte(hex.EncodeToString(r.name[:]) + ":" + base64.StdEncoding.EncodeToString(sealed))
	}
	return append(append([]byte(mark), r.name[:]...), sealed...)
}

// Open decrypts what Close made for the same column and row, in this version
// or in one that did not name the key.
func (k Keys) Open(c Column, sealed []byte, id string) ([]byte, error) {
	p := c.placeOf()
	r := k.rings[p.use]
	name, value, err := p.splitName(sealed)
	if err != nil {
		return nil, fmt.Errorf("seal: %s of %s %s is damaged: %w", p.name, p.table, id, err)
	}
	plain, err := r.openSealed(value, p.owner+id)
	if err != nil && name != nil && !p.text {
		// Once in four thousand million times an old value's nonce looks so.
		if old, olderr := r.openSealed(sealed, p.owner+id); olderr == nil {
			return old, nil
		}
	}
	if err != nil && name != nil && !bytes.Equal(name, r.name[:]) {
		return nil, fmt.Errorf("seal: %s of %s %s was sealed with master key %x; this is %x", p.name, p.table, id, name,
			r.name)
	}
	if err != nil {
		return nil, fmt.Errorf("seal: %s of %s %s does not open; is this the master key it was sealed with? %w", p.name,
			p.table, id, err)
	}
	return plain, nil
}

// splitName takes the key's name off, nil where there is none.
func (p place) splitName(sealed []byte) (name, value []byte, err error) {
	if !p.text {
		if rest, ok := bytes.CutPrefix(sealed, []byte(mark)); ok && len(rest) >= nameSize {
			return rest[:nameSize], rest[nameSize:], nil
		}
		return nil, sealed, nil
	}
	before, text, named := bytes.Cut(sealed, []byte(":"))
	if !named {
		text = sealed
	} else if name, err = hex.DecodeString(string(before)); err != nil {
		return nil, nil, err
	}
	value, err = base64.StdEncoding.DecodeString(string(text))
	return name, value, err
}

func (r ring) openSealed(sealed []byte, owner string) ([]byte, error) {
	n := r.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("it is cut short")
	}
	return r.AEAD.Open(nil, sealed[:n], sealed[n:], []byte(owner))
}

// Again seals anew what old sealed; what k itself sealed, with its name, is
// returned as it is. A value that neither opens is an error.
func (k Keys) Again(old Keys, c Column, sealed []byte, id string) ([]byte, error) {
	p := c.placeOf()
	if name, _, err := p.splitName(sealed); err == nil && bytes.Equal(name, k.rings[p.use].name[:]) {
		if _, err := k.Open(c, sealed, id); err == nil {
			return sealed, nil
		}
	}
	plain, err := old.Open(c, sealed, id)
	if err != nil {
		return nil, err
	}
	return k.Close(c, plain, id), nil
}
