package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Prefixes of opaque API keys, as supabase-js knows them.
const (
	PublishablePrefix = "sb_publishable_"
	SecretPrefix      = "sb_secret_"
	TenantPrefix      = "hf_tenant_" // of a tenant's own keys
)

// Opaque derives an opaque API key from a server secret and the key's id, so
// that it can be shown again while the database holds its hash alone.
func Opaque(prefix, id string, secret []byte) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("api-key|" + prefix + "|" + id))
	return prefix + base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:24])
}

// keyLife is how long an API key in JWT form is valid.
const keyLife = 10 * 365 * 24 * time.Hour

// KeyJWT makes an API key in JWT form (HS256). The same arguments give the
// same text.
func KeyJWT(role, id string, made time.Time, secret string) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(secret)},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("token: API key signer: %w", err)
	}
	body, err := json.Marshal(struct {
		Issuer   string `json:"iss"`
		Role     string `json:"role"`
		ID       string `json:"jti"`
		IssuedAt int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}{"holdfast", role, id, made.Unix(), made.Add(keyLife).Unix()})
	if err != nil {
		return "", fmt.Errorf("token: API key: %w", err)
	}
	jws, err := signer.Sign(body)
	if err != nil {
		return "", fmt.Errorf("token: API key: %w", err)
	}
	return jws.CompactSerialize()
}
