package webhook

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
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

func show(secret []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(secret) }

// sealer derives the key that seals secrets, apart from other uses of the
// master key, and its name.
func sealer(master []byte) (cipher.AEAD, string, error) {
	if len(master) != 32 {
		return nil, "", errors.New("webhook: the sealing key must have 32 bytes")
	}
	key, err := hkdf.Key(sha256.New, master, nil, "holdfast webhook secrets", 32)
	if err != nil {
		return nil, "", fmt.Errorf("webhook: derive key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, "", fmt.Errorf("webhook: derive key: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, "", fmt.Errorf("webhook: derive key: %w", err)
	}
	name := sha256.Sum256(append([]byte("name of "), key...))
	return gcm, hex.EncodeToString(name[:4]), nil
}

// close seals a secret for its webhook: a sealed text moved to another row
// does not open. The key's name comes first.
func (s *Service) close(secret []byte, id string) string {
	nonce := make([]byte, s.seal.NonceSize())
	rand.Read(nonce)
	return s.keyID + ":" + base64.StdEncoding.EncodeToString(s.seal.Seal(nonce, nonce, secret, []byte("webhooks/"+id)))
}

func (s *Service) open(sealed, id string) ([]byte, error) {
	name, text, _ := strings.Cut(sealed, ":")
	if name != s.keyID {
		return nil, fmt.Errorf("webhook: the secret of %s was sealed with key %s, this is %s", id, name, s.keyID)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) < s.seal.NonceSize() {
		return nil, fmt.Errorf("webhook: the secret of %s is damaged", id)
	}
	n := s.seal.NonceSize()
	secret, err := s.seal.Open(nil, b[:n], b[n:], []byte("webhooks/"+id))
	if err != nil {
		return nil, fmt.Errorf("webhook: the secret of %s does not open: %w", id, err)
	}
	return secret, nil
}
