package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// signer makes compact JSON web signatures (RFC 7515 section 7.1) with one key:
// the header never changes, which is what makes it cheaper than go-jose's.
type signer struct {
	key  any    // *ecdsa.PrivateKey of P-256, or *rsa.PrivateKey
	head string // encoded, with the dot behind it
}

func newSigner(key any, kid string, alg jose.SignatureAlgorithm) (*signer, error) {
	head, err := json.Marshal(struct {
		Algorithm jose.SignatureAlgorithm `json:"alg"`
		KeyID     string                  `json:"kid"`
		Type      string                  `json:"typ"`
	}{alg, kid, "JWT"})
	if err != nil {
		return nil, fmt.Errorf("token: signing key %s: %w", kid, err)
	}
	return &signer{key, base64.RawURLEncoding.EncodeToString(head) + "."}, nil
}

// signPayload returns header, payload and signature.
func (s *signer) signPayload(payload []byte) (string, error) {
	b64 := base64.RawURLEncoding
	out := make([]byte, 0, len(s.head)+b64.EncodedLen(len(payload))+400)
	out = b64.AppendEncode(append(out, s.head...), payload)
	sig, err := s.signDigest(sha256.Sum256(out))
	if err != nil {
		return "", fmt.Errorf("token: sign: %w", err)
	}
	return string(b64.AppendEncode(append(out, '.'), sig)), nil
}

// signDigest is ES256, R and S as 32 bytes each, or RS256 (RFC 7518 sections 3.4
// and 3.3).
func (s *signer) signDigest(digest [sha256.Size]byte) ([]byte, error) {
	switch key := s.key.(type) {
	case *ecdsa.PrivateKey:
		r, t, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			return nil, err
		}
		sig := make([]byte, 64)
		r.FillBytes(sig[:32])
		t.FillBytes(sig[32:])
		return sig, nil
	case *rsa.PrivateKey:
		return rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	}
	return nil, fmt.Errorf("a %T signs nothing", s.key)
}
