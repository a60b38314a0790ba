package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// secrets are the keys derived from the master key, one for each use.
type secrets struct {
	seal   cipher.AEAD
	mac    []byte // codes, states, decoys, refresh keys
	api    []byte // opaque API keys
	shared string // HS256 secret when none is configured
}

func deriveSecrets(master []byte) (secrets, error) {
	var s secrets
	out := map[string][]byte{}
	for _, use := range []string{"seal", "mac", "api", "hs256"} {
		k, err := hkdf.Key(sha256.New, master, nil, "holdfast identity "+use, 32)
		if err != nil {
			return s, fmt.Errorf("identity: derive key: %w", err)
		}
		out[use] = k
	}
	block, err := aes.NewCipher(out["seal"])
	if err != nil {
		return s, fmt.Errorf("identity: derive key: %w", err)
	}
	if s.seal, err = cipher.NewGCM(block); err != nil {
		return s, fmt.Errorf("identity: derive key: %w", err)
	}
	s.mac, s.api, s.shared = out["mac"], out["api"], hex.EncodeToString(out["hs256"])
	return s, nil
}

// close encrypts with AES-256-GCM; id, the row's, is authenticated with it, so
// that a sealed value cannot be moved to another row.
func (s secrets) close(plain []byte, id string) []byte {
	nonce := make([]byte, s.seal.NonceSize())
	rand.Read(nonce)
	return s.seal.Seal(nonce, nonce, plain, []byte(id))
}

func (s secrets) open(sealed []byte, id string) ([]byte, error) {
	n := s.seal.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("identity: sealed value of %s is cut short", id)
	}
	plain, err := s.seal.Open(nil, sealed[:n], sealed[n:], []byte(id))
	if err != nil {
		return nil, fmt.Errorf("identity: sealed value of %s does not open; is this the master key it was sealed with? %w", id, err)
	}
	return plain, nil
}

// sum is a keyed hash of parts, which may hold no NUL.
func (s secrets) sum(parts ...string) []byte {
	m := hmac.New(sha256.New, s.mac)
	m.Write([]byte(strings.Join(parts, "\x00")))
	return m.Sum(nil)
}

// uuid is a keyed hash in the form of a random UUID.
func (s secrets) uuid(parts ...string) string {
	var id uuid.UUID
	copy(id[:], s.sum(parts...))
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// newID returns a UUIDv7.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// canonicalID accepts exactly one spelling of a UUID, 36 characters in either
// case, and returns it in lower case. Braces, urn: and blanks never pass.
func canonicalID(s string) (string, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}
