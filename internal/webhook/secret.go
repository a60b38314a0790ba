package webhook

import (
	"crypto/rand"
	"encoding/base64"

	"holdfast/internal/secrets"
)

// secretSize is the length of a signing secret; the rule asks for 24 bytes or
// more.
const secretSize = 32

// secretPrefix begins a secret as it is shown (Standard Webhooks 1.0.0,
// "Signature scheme").
const secretPrefix = "whsec_"

func newSecret() []byte {
	b := make([]byte, secretSize)
	rand.Read(b)
	return b
}

func formatSecret(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// sealSecret seals a secret for its webhook: a sealed text moved to another row
// does not open.
func (s *Service) sealSecret(secret []byte, id string) string {
	return string(s.keys.Close(secrets.WebhookSecret, secret, id))
}

func (s *Service) openSecret(sealed, id string) ([]byte, error) {
	return s.keys.Open(secrets.WebhookSecret, []byte(sealed), id)
}
