package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Keys are what a provider publishes. A token that none of them verifies makes
// it fetch again, at most once a minute, so that forged tokens cannot make us
// hammer the provider.
type Keys struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu   sync.Mutex
	keys []jose.JSONWebKey
	at   time.Time
}

// NewKeys are the keys at a jwks_uri (RFC 7517 section 5); nothing is fetched yet.
func NewKeys(url string, client *http.Client, now func() time.Time) *Keys {
	return &Keys{url: url, client: client, now: now}
}

// Algorithms an ID token may be signed with at all: none and HMAC are not among them.
var Algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512,
	jose.PS256, jose.PS384, jose.PS512, jose.EdDSA}

const refetch = time.Minute

// VerifySignature implements go-oidc's KeySet. The algorithm was checked
// against the provider's list before; a symmetric key is never used.
func (s *Keys) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	jws, err := jose.ParseSignedCompact(raw, Algorithms)
	if err != nil {
		return nil, fmt.Errorf("oidc: malformed token: %w", err)
	}
	kid := jws.Signatures[0].Header.KeyID
	s.mu.Lock()
	defer s.mu.Unlock()
	if payload, ok := s.tryKey(jws, kid); ok {
		return payload, nil
	}
	if !s.at.IsZero() && s.now().Sub(s.at) < refetch {
		return nil, errors.New("oidc: no key verifies the token")
	}
	if err := s.fetchKeys(ctx); err != nil {
		return nil, err
	}
	if payload, ok := s.tryKey(jws, kid); ok {
		return payload, nil
	}
	return nil, errors.New("oidc: no key verifies the token")
}

func (s *Keys) tryKey(jws *jose.JSONWebSignature, kid string) ([]byte, bool) {
	for _, k := range s.keys {
		if kid != "" && k.KeyID != kid {
			continue
		}
		if _, symmetric := k.Key.([]byte); symmetric || k.Use == "enc" || k.Algorithm != "" &&
			k.Algorithm != jws.Signatures[0].Header.Algorithm {
			continue
		}
		if payload, err := jws.Verify(k); err == nil {
			return payload, true
		}
	}
	return nil, false
}

func (s *Keys) fetchKeys(ctx context.Context) error {
	s.at = s.now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return fmt.Errorf("oidc: keys: %w", err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("oidc: keys: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("oidc: keys: status %d", res.StatusCode)
	}
	var set jose.JSONWebKeySet
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil {
		return fmt.Errorf("oidc: keys: %w", err)
	}
	s.keys = set.Keys
	return nil
}
