// Package seal keeps the service's secrets: it derives one key for each use
// from the master key, encrypts what rests in the database and hashes what is
// only compared.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"github.com/google/uuid"
)

// Keys are the keys derived from the master key, one for each use.
type Keys struct {
	API    []byte // derives opaque API keys
	Shared string // HS256 secret of API keys when none is configured
	seal   cipher.AEAD
	mac    []byte // codes, states, decoys, refresh keys
}

// New derives the keys from a master key of 32 bytes.
func New(master []byte) (Keys, error) {
	var s Keys
	out := map[string][]byte{}
	for _, use := range []string{"seal", "mac", "api", "hs256"} {
		k, err := hkdf.Key(sha256.New, master, nil, "holdfast identity "+use, 32)
		if err != nil {
			return s, fmt.Errorf("seal: derive key: %w", err)
		}
		out[use] = k
	}
	block, err := aes.NewCipher(out["seal"])
	if err != nil {
		return s, fmt.Errorf("seal: derive key: %w", err)
	}
	if s.seal, err = cipher.NewGCM(block); err != nil {
		return s, fmt.Errorf("seal: derive key: %w", err)
	}
	s.mac, s.API, s.Shared = out["mac"], out["api"], hex.EncodeToString(out["hs256"])
	return s, nil
}

// Close encrypts with AES-256-GCM; id, the row's, is authenticated with it, so
// that a sealed value cannot be moved to another row.
func (k Keys) Close(plain []byte, id string) []byte {
	nonce := make([]byte, k.seal.NonceSize())
	rand.Read(nonce)
	return k.seal.Seal(nonce, nonce, plain, []byte(id))
}

// Open decrypts what Close made for the same row.
func (k Keys) Open(sealed []byte, id string) ([]byte, error) {
	n := k.seal.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("seal: value of %s is cut short", id)
	}
	plain, err := k.seal.Open(nil, sealed[:n], sealed[n:], []byte(id))
	if err != nil {
		return nil, fmt.Errorf("seal: value of %s does not open; is this the master key it was sealed with? %w", id, err)
	}
	return plain, nil
}

// Sum is a keyed hash of parts, which may hold no NUL.
func (k Keys) Sum(parts ...string) []byte {
	m := hmac.New(sha256.New, k.mac)
	m.Write([]byte(strings.Join(parts, "\x00")))
	return m.Sum(nil)
}

// UUID is a keyed hash in the form of a random UUID.
func (k Keys) UUID(parts ...string) string {
	var id uuid.UUID
	copy(id[:], k.Sum(parts...))
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

// Digest is the SHA-256 of a random secret, for look-up by hash.
func Digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// Digits returns n random decimal digits, n up to 18.
func Digits(n int) (string, error) {
	room := int64(1)
	for range n {
		room *= 10
	}
	v, err := rand.Int(rand.Reader, big.NewInt(room))
	if err != nil {
		return "", fmt.Errorf("seal: random digits: %w", err)
	}
	return fmt.Sprintf("%0*d", n, v.Int64()), nil
}

// RandomHex returns n random bytes in hex.
func RandomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}
