package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/fault"
)

const (
	issuer = "http://localhost:8080/auth/v1"
	user   = "0192f0c0-0000-7000-8000-000000000001"
	sess   = "0192f0c0-0000-7000-8000-000000000002"
	secret = "a-test-secret-0123456789-abcdefghij-XYZ"
)

var now = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func claims() Claims {
	return Claims{Issuer: issuer, Subject: user, Audience: Audience, IssuedAt: now.Unix(), NotBefore: now.Unix(),
		Expires: now.Add(time.Hour).Unix(), Role: "authenticated", SessionID: sess, AAL: "aal1"}
}

func newKeys(t testing.TB, secret string) (*Keys, jose.JSONWebKey) {
	t.Helper()
	k, err := Generate("key-1")
	if err != nil {
		t.Fatal(err)
	}
	ks, err := New([]jose.JSONWebKey{k}, secret)
	if err != nil {
		t.Fatal(err)
	}
	return ks, k
}

func seg(v any) string {
	b, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(b)
}

// hs256 forges a token with any header and any HMAC key.
func hs256(head map[string]any, c Claims, key []byte) string {
	in := seg(head) + "." + seg(c)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(in))
	return in + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// What we sign is a JWS as go-jose reads one, of either kind of key.
func TestKeys_Sign(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curved, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for alg, key := range map[jose.SignatureAlgorithm]crypto.Signer{jose.ES256: curved, jose.RS256: small} {
		ks, err := New([]jose.JSONWebKey{{Key: key, KeyID: `a "key"`}}, "")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // R and S are shorter than 32 bytes now and then
			raw, err := ks.Sign(claims())
			if err != nil {
				t.Fatal(err)
			}
			jws, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{alg})
			if err != nil {
				t.Fatal(err)
			}
			if h := jws.Signatures[0].Header; h.KeyID != `a "key"` || h.Algorithm != string(alg) ||
				h.ExtraHeaders["typ"] != "JWT" {
				t.Errorf("%s: header %+v", alg, h)
			}
			if _, err := jws.Verify(key.Public()); err != nil {
				t.Errorf("%s: %v", alg, err)
			}
		}
	}
}

func TestKeys_Verify(t *testing.T) {
	ks, _ := newKeys(t, secret)
	raw, err := ks.Sign(claims())
	if err != nil {
		t.Fatal(err)
	}
	got, err := ks.Verify(raw, issuer, now)
	if err != nil || got.Subject != user || got.SessionID != sess {
		t.Fatalf("%+v %v", got, err)
	}
	if Header(raw) != "key-1" {
		t.Error("kid not read")
	}
}

// Nothing a token says about itself may widen what we take (RFC 8725 section 3).
func TestKeys_Verify_attacks(t *testing.T) {
	ks, own := newKeys(t, secret)
	raw, err := ks.Sign(claims())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&own.Key.(*ecdsa.PrivateKey).PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	pubJWK, err := own.Public().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	other, strange := newKeys(t, "")
	foreign, err := other.Sign(claims())
	if err != nil {
		t.Fatal(err)
	}
	anon, err := KeyJWT(RoleAnon, "k", now, secret)
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: strange.Key},
		(&jose.SignerOptions{EmbedJWK: true}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(claims())
	if err != nil {
		t.Fatal(err)
	}
	jws, err := embedded.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	withJWK, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(raw, ".")
	service := claims()
	service.Role = RoleService
	key := Claims{Role: RoleService, IssuedAt: now.Unix(), Expires: now.Add(time.Hour).Unix()}
	large := claims()
	large.UserMetadata, _ = json.Marshal(strings.Repeat("A", 20<<10))
	signedHuge, err := ks.Sign(large)
	if err != nil {
		t.Fatal(err)
	}
	for name, tok := range map[string]string{
		"alg none":                      seg(map[string]any{"alg": "none", "typ": "JWT"}) + "." + seg(claims()) + ".",
		"alg None, kid":                 seg(map[string]any{"alg": "None", "kid": "key-1"}) + "." + seg(claims()) + ".",
		"alg none keeps signature":      seg(map[string]any{"alg": "none", "kid": "key-1"}) + "." + parts[1] + "." + parts[2],
		"HS256 with the public key DER": hs256(map[string]any{"alg": "HS256", "kid": "key-1"}, claims(), der),
		"HS256 with the public JWK":     hs256(map[string]any{"alg": "HS256", "kid": "key-1"}, claims(), pubJWK),
		"HS256 with the JWKS":           hs256(map[string]any{"alg": "HS256"}, claims(), ks.JWKS()),
		"HS256 with the anon key":       hs256(map[string]any{"alg": "HS256"}, claims(), []byte(anon)),
		"HS256 with an empty key":       hs256(map[string]any{"alg": "HS256"}, claims(), nil),
		"HS256 user token, real secret": hs256(map[string]any{"alg": "HS256"}, claims(), []byte(secret)),
		"HS256 service with session":    hs256(map[string]any{"alg": "HS256"}, service, []byte(secret)),
		"service key, the public DER":   hs256(map[string]any{"alg": "HS256"}, key, der),
		"service key, the public JWK":   hs256(map[string]any{"alg": "HS256"}, key, pubJWK),
		"service key, the JWKS":         hs256(map[string]any{"alg": "HS256"}, key, ks.JWKS()),
		"service key, the anon key":     hs256(map[string]any{"alg": "HS256"}, key, []byte(anon)),
		"service key, an empty key":     hs256(map[string]any{"alg": "HS256"}, key, nil),
		"service key, alg none":         seg(map[string]any{"alg": "none"}) + "." + seg(key) + ".",
		"well signed and huge":          signedHuge,
		"kid traversal":                 hs256(map[string]any{"alg": "HS256", "kid": "../../dev/null"}, claims(), nil),
		"unknown kid":                   seg(map[string]any{"alg": "ES256", "kid": "x"}) + "." + parts[1] + "." + parts[2],
		"no kid":                        seg(map[string]any{"alg": "ES256"}) + "." + parts[1] + "." + parts[2],
		"RS256 for an EC key": seg(map[string]any{"alg": "RS256",
			"kid": "key-1"}) + "." + parts[1] + "." + parts[2],
		"same kid, another key": foreign,
		"embedded jwk":          withJWK,
		"altered payload":       parts[0] + "." + seg(Claims{Issuer: issuer, Subject: sess}) + "." + parts[2],
		"cut signature":         parts[0] + "." + parts[1] + "." + parts[2][:20],
		"no signature":          parts[0] + "." + parts[1] + ".",
		"JSON serialisation":    `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"two tokens":            raw + "." + raw,
		"garbage":               "garbage",
		"empty":                 "",
		"huge":                  raw + strings.Repeat("A", 20<<10),
	} {
		_, err := ks.Verify(tok, issuer, now)
		if !fault.Is(err, fault.Unauthorized) || !fault.HasCode(err, "bad_jwt") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token says what it was signed for, and no other is taken for it (RFC 8725
// section 3.11).
func TestKeys_Verify_type(t *testing.T) {
	ks, own := newKeys(t, secret)
	signed := func(typ any, with jose.SigningKey, c Claims) string {
		t.Helper()
		o := &jose.SignerOptions{}
		if typ != nil {
			o.WithHeader(jose.HeaderType, typ)
		}
		s, err := jose.NewSigner(with, o)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		jws, err := s.Sign(body)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := jws.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	key := Claims{Role: RoleService, IssuedAt: now.Unix(), Expires: now.Add(time.Hour).Unix()}
	for _, c := range []struct {
		typ          any
		access, apis bool
	}{
		{"JWT", true, true},
		{"jwt", true, true},
		{nil, false, true},
		{"", false, false},
		{"at+jwt", false, false},
		{"secevent+jwt", false, false},
		{"JWT ", false, false},
		{7, false, false},
		{[]string{"JWT"}, false, false},
	} {
		_, err := ks.Verify(signed(c.typ, jose.SigningKey{Algorithm: jose.ES256, Key: own}, claims()), issuer, now)
		if ok := err == nil; ok != c.access || !ok && !fault.HasCode(err, "bad_jwt") {
			t.Errorf("access token of typ %v: %v", c.typ, err)
		}
		_, err = ks.Verify(signed(c.typ, jose.SigningKey{Algorithm: jose.HS256, Key: []byte(secret)}, key), issuer, now)
		if ok := err == nil; ok != c.apis || !ok && !fault.HasCode(err, "bad_jwt") {
			t.Errorf("API key of typ %v: %v", c.typ, err)
		}
	}
}

func TestKeys_Verify_claims(t *testing.T) {
	ks, _ := newKeys(t, "")
	for name, change := range map[string]func(*Claims){
		"expired":            func(c *Claims) { c.Expires = now.Add(-31 * time.Second).Unix() },
		"no expiry":          func(c *Claims) { c.Expires = 0 },
		"issued tomorrow":    func(c *Claims) { c.IssuedAt = now.Add(24 * time.Hour).Unix() },
		"not yet":            func(c *Claims) { c.NotBefore = now.Add(time.Minute).Unix() },
		"no sub":             func(c *Claims) { c.Subject = "" },
		"sub no uuid":        func(c *Claims) { c.Subject = "admin" },
		"no session":         func(c *Claims) { c.SessionID = "" },
		"other issuer":       func(c *Claims) { c.Issuer = "https://evil.example/auth/v1" },
		"other audience":     func(c *Claims) { c.Audience = "elsewhere" },
		"tenant no uuid":     func(c *Claims) { c.TenantID = "*" },
		"service role, sess": func(c *Claims) { c.Role = RoleService; c.Subject = "" },
	} {
		c := claims()
		change(&c)
		raw, err := ks.Sign(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ks.Verify(raw, issuer, now); !fault.HasCode(err, "bad_jwt") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := claims()
	c.Expires = now.Add(-20 * time.Second).Unix()
	raw, err := ks.Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ks.Verify(raw, issuer, now); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
}

func TestKeyJWT(t *testing.T) {
	ks, _ := newKeys(t, secret)
	a, err := KeyJWT(RoleService, "k1", now, secret)
	if err != nil {
		t.Fatal(err)
	}
	b, err := KeyJWT(RoleService, "k1", now, secret)
	if err != nil || a != b {
		t.Fatal("an API key can be shown again", err)
	}
	c, err := ks.Verify(a, issuer, now)
	if err != nil || c.Role != RoleService || c.ID != "k1" {
		t.Errorf("%+v %v", c, err)
	}
	none, _ := newKeys(t, "")
	if _, err := none.Verify(a, issuer, now); err == nil {
		t.Error("HS256 without a configured secret")
	}
}

func TestJWKS_publicOnly(t *testing.T) {
	ks, _ := newKeys(t, secret)
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(ks.JWKS(), &set); err != nil || len(set.Keys) != 1 {
		t.Fatal(err, string(ks.JWKS()))
	}
	k := set.Keys[0]
	if k["d"] != nil || k["k"] != nil || k["alg"] != "ES256" || k["kid"] != "key-1" || k["use"] != "sig" ||
		k["crv"] != "P-256" {
		t.Error(k)
	}
}

func TestCheckSecret(t *testing.T) {
	for s, ok := range map[string]bool{
		"": false, "secret": false, "12345678": false, strings.Repeat("a", 64): false,
		"super-secret-jwt-token-with-at-least-32-characters-long": false, secret: true,
	} {
		if (CheckSecret(s) == nil) != ok {
			t.Errorf("CheckSecret(%q)", s)
		}
	}
}

func TestNew_refuses(t *testing.T) {
	small := jose.JSONWebKey{Key: []byte("short"), KeyID: "s"}
	dup, err := Generate("a")
	if err != nil {
		t.Fatal(err)
	}
	nokid, err := Generate("")
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string][]jose.JSONWebKey{"short oct": {small}, "same kid twice": {dup, dup},
		"no kid": {nokid}} {
		if _, err := New(keys, ""); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
}

func TestRefresh(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	s, err := NewRefresh(sess, 300, key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRefresh(s)
	if err != nil || r.Session != sess || r.Counter != 300 || !r.SignedBy(key) || r.SignedBy(key[1:]) {
		t.Fatalf("%+v %v", r, err)
	}
	for i := range s {
		c := byte('A')
		if s[i] == 'A' {
			c = 'B'
		}
		if m, err := ParseRefresh(s[:i] + string(c) + s[i+1:]); err == nil && m.SignedBy(key) {
			t.Errorf("altered at %d and still good", i)
		}
	}
	for _, bad := range []string{"", "short", s[:len(s)-1], s + "A", strings.ToLower(s), "!" + s[1:],
		strings.Repeat("A", 52), strings.Repeat("x", 200)} {
		if _, err := ParseRefresh(bad); !fault.HasCode(err, "validation_failed") {
			t.Errorf("ParseRefresh(%q): %v", bad, err)
		}
	}
}

func FuzzParseRefresh(f *testing.F) {
	s, err := NewRefresh(sess, 1, []byte("k"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s)
	f.Add(s[:12] + "\n" + s[12:])
	f.Fuzz(func(t *testing.T, in string) {
		r, err := ParseRefresh(in)
		if err != nil {
			return
		}
		if r.SignedBy([]byte("k")) {
			again, err := NewRefresh(r.Session, r.Counter, []byte("k"))
			if err != nil || again != in {
				t.Errorf("%q reads as %q", in, again)
			}
		}
	})
}

func FuzzVerify(f *testing.F) {
	ks, _ := newKeys(f, secret)
	raw, err := ks.Sign(claims())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, in string) {
		if c, err := ks.Verify(in, issuer, now); err == nil && in != raw {
			t.Errorf("%q verified as %+v", in, c)
		}
	})
}
