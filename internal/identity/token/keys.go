// Package token makes and reads the credentials of the service: signed access
// tokens, refresh tokens and API keys. It keeps no state; the identity service
// decides what a valid token may still do.
//
// Layer: domains. Begin at [Keys].
package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/fault"
)

// Keys is an immutable set of verification keys and the one key that signs.
// Every key has exactly one algorithm: what a token's header says about itself
// only chooses among our keys, it never brings an algorithm or a key (RFC 8725
// sections 3.1 and 3.5).
type Keys struct {
	signer *signer // nil = none
	kid    string
	verify map[string]jose.JSONWebKey // by kid
	secret []byte                     // HS256, for API keys in JWT form only; nil = none
	jwks   []byte
}

// minSecret is the shortest HS256 secret, RFC 7518 section 3.2.
const minSecret = 32

// wellKnown are secrets that stand in public documentation.
var wellKnown = map[string]bool{
	"super-secret-jwt-token-with-at-least-32-characters-long":      true,
	"your-super-secret-jwt-token-with-at-least-32-characters-long": true,
}

// CheckSecret refuses an HS256 secret that is short, uniform or published.
func CheckSecret(secret string) error {
	if len(secret) < minSecret {
		return fmt.Errorf("the JWT secret has %d bytes; it needs at least %d random ones", len(secret), minSecret)
	}
	if wellKnown[secret] {
		return fmt.Errorf("the JWT secret is one printed in public documentation; make a random one")
	}
	seen := map[byte]bool{}
	for i := range len(secret) {
		seen[secret[i]] = true
	}
	if len(seen) < 8 {
		return fmt.Errorf("the JWT secret repeats a few characters; make a random one")
	}
	return nil
}

// Generate makes a new ES256 key as a private JWK.
func Generate(kid string) (jose.JSONWebKey, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("token: make signing key: %w", err)
	}
	return jose.JSONWebKey{Key: k, KeyID: kid, Algorithm: string(jose.ES256), Use: "sig"}, nil
}

// New builds a set: the first private asymmetric key signs, all verify. A
// symmetric key of the set, or secret, verifies API keys in JWT form.
func New(keys []jose.JSONWebKey, secret string) (*Keys, error) {
	s := &Keys{verify: map[string]jose.JSONWebKey{}}
	if secret != "" {
		s.secret = []byte(secret)
	}
	public := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range keys {
		if oct, ok := k.Key.([]byte); ok {
			if err := CheckSecret(string(oct)); err != nil {
				return nil, fmt.Errorf("token: imported key set: %w", err)
			}
			s.secret = oct
			continue
		}
		alg, private, err := algorithmOf(k)
		if err != nil {
			return nil, err
		}
		if k.KeyID == "" || len(k.KeyID) > 128 || s.verify[k.KeyID].Key != nil {
			return nil, fmt.Errorf("token: every signing key needs a key id of its own")
		}
		if private && s.signer == nil {
			if s.signer, err = newSigner(k.Key, k.KeyID, alg); err != nil {
				return nil, err
			}
			s.kid = k.KeyID
		}
		pub := k.Public()
		pub.Algorithm, pub.Use = string(alg), "sig"
		s.verify[k.KeyID] = pub
		public.Keys = append(public.Keys, pub)
	}
	var err error
	if s.jwks, err = json.Marshal(public); err != nil {
		return nil, fmt.Errorf("token: encode key set: %w", err)
	}
	return s, nil
}

// algorithmOf pins a key to the one algorithm it is used with. Clients verify
// ES256 and RS256 only, so nothing else is taken.
func algorithmOf(k jose.JSONWebKey) (alg jose.SignatureAlgorithm, private bool, err error) {
	switch x := k.Key.(type) {
	case *ecdsa.PrivateKey:
		alg, private = jose.ES256, true
		if x.Curve != elliptic.P256() {
			alg = ""
		}
	case *ecdsa.PublicKey:
		alg = jose.ES256
		if x.Curve != elliptic.P256() {
			alg = ""
		}
	case *rsa.PrivateKey:
		alg, private = jose.RS256, true
		if x.N.BitLen() < 2048 {
			alg = ""
		}
	case *rsa.PublicKey:
		alg = jose.RS256
		if x.N.BitLen() < 2048 {
			alg = ""
		}
	}
	if alg == "" || k.Algorithm != "" && k.Algorithm != string(alg) {
		return "", false, fmt.Errorf("token: key %q is neither P-256 for ES256 nor RSA of 2048 bits for RS256", k.KeyID)
	}
	return alg, private, nil
}

// ParseSet reads a JWK set (RFC 7517) with private keys.
func ParseSet(text []byte) ([]jose.JSONWebKey, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) == 0 {
		var one jose.JSONWebKey
		if json.Unmarshal(text, &one) != nil || one.Key == nil {
			return nil, fmt.Errorf("token: not a JWK set: %w", err)
		}
		set.Keys = []jose.JSONWebKey{one}
	}
	return set.Keys, nil
}

// JWKS returns the public keys as a JSON text; the caller must not change it.
func (s *Keys) JWKS() []byte { return s.jwks }

// KeyID returns the id of the key that signs, or "".
func (s *Keys) KeyID() string { return s.kid }

// Has reports whether a token names a key of this set.
func (s *Keys) Has(kid string) bool { return s.verify[kid].Key != nil }

func badJWT(format string, args ...any) error {
	return fault.New(fault.Unauthorized, "bad_jwt", "invalid JWT: unable to parse or verify signature, "+format, args...)
}
