// Package secrets keeps the service's secrets: it derives one key for each use
// from the master key, encrypts what rests in the database and hashes what is
// only compared.
//
// Layer: foundations. Begin at [New].
package secrets

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
	Log    []byte // authenticates rows of the audit log as they are written
	rings  [uses]ring
	mac    []byte // codes, states, decoys, refresh keys
}

// ring is a key that seals, and its name, which stands before what it sealed.
type ring struct {
	cipher.AEAD
	name [nameSize]byte
}

const nameSize = 4

// New derives the keys from a master key of 32 bytes.
func New(master []byte) (Keys, error) {
	var s Keys
	if len(master) != MasterSize {
		return s, fmt.Errorf("seal: the master key has %d bytes; it needs %d", len(master), MasterSize)
	}
	out := map[string][]byte{}
	for _, label := range []string{forIdentity.keyLabel(), forWebhooks.keyLabel(), "holdfast identity mac",
		"holdfast identity api", "holdfast identity hs256", "holdfast audit rows"} {
		k, err := hkdf.Key(sha256.New, master, nil, label, 32)
		if err != nil {
			return s, fmt.Errorf("seal: derive key: %w", err)
		}
		out[label] = k
	}
	for u := range uses {
		var err error
		if s.rings[u], err = newRing(out[u.keyLabel()]); err != nil {
			return s, fmt.Errorf("seal: derive key: %w", err)
		}
	}
	s.mac, s.API, s.Shared = out["holdfast identity mac"], out["holdfast identity api"],
		hex.EncodeToString(out["holdfast identity hs256"])
	s.Log = out["holdfast audit rows"]
	return s, nil
}

// MasterSize is the length of a master key in bytes.
const MasterSize = 32

func newRing(key []byte) (r ring, err error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return r, err
	}
	name := sha256.Sum256(append([]byte("name of "), key...))
	copy(r.name[:], name[:])
	r.AEAD, err = cipher.NewGCM(block)
	return r, err
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
