// Package totp makes and checks time-based one-time passwords: SHA-1, six
// digits, steps of 30 seconds (RFC 6238), the form every authenticator reads.
//
// Layer: domains. Begin at [NewSecret].
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // RFC 6238's; what authenticators compute
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
)

// Secret bytes (RFC 4226 section 4 asks for 160 bits) and seconds of a step.
const secretBytes, period = 20, 30

// skew is how many steps a clock may be off, either way.
const skew = 1

// Secret is a shared seed in base32, as authenticators are told it.
type Secret string

// NewSecret returns a random seed.
func NewSecret() Secret {
	b := make([]byte, secretBytes)
	rand.Read(b)
	return Secret(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// At returns the password of the step that t falls in.
func (s Secret) At(t time.Time) (string, error) { return s.at(t.Unix() / period) }

// at is the HOTP value of a step (RFC 4226 section 5.3).
func (s Secret) at(step int64) (string, error) {
	seed, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(
		strings.TrimRight(strings.ToUpper(string(s)), "="))
	if err != nil {
		return "", fmt.Errorf("totp: the secret is not base32: %w", err)
	}
	mac := hmac.New(sha1.New, seed)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000), nil
}

// Check looks for the code among the steps around now that come after the last
// one accepted, and returns its step: a password works once (RFC 6238 section
// 5.2). Every candidate is compared, so time tells nothing.
func (s Secret) Check(code string, now time.Time, last int64) (step int64, ok bool, err error) {
	current := now.Unix() / period
	for n := current - skew; n <= current+skew; n++ {
		want, err := s.at(n)
		if err != nil {
			return 0, false, fmt.Errorf("totp: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && n > last && !ok {
			step, ok = n, true
		}
	}
	return step, ok, nil
}

// URI is what a QR code says: the key URI that authenticators read.
func (s Secret) URI(issuer, account string) string {
	label := url.PathEscape(issuer) + ":" + url.PathEscape(account)
	// Authenticators read %20, not a plus sign.
	q := strings.ReplaceAll(url.Values{"secret": {string(s)}, "issuer": {issuer}, "algorithm": {"SHA1"}, "digits": {"6"},
		"period": {"30"}}.Encode(), "+", "%20")
	return "otpauth://totp/" + label + "?" + q
}

// margin is the quiet zone around a QR code, in modules (ISO/IEC 18004, 9.1).
const margin = 4

// QR draws text as an SVG. It holds no number sign, which would end a data URL
// that clients make of it without escaping.
func QR(text string) (string, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", fmt.Errorf("totp: QR code: %w", err)
	}
	n := code.Bounds().Dx()
	var b strings.Builder
	size := n + 2*margin
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" shape-rendering="crispEdges">`+
			`<path fill="white" d="M0 0h%dv%dH0z"/><path fill="black" d="`, size, size, 4*size, 4*size, size, size)
	for y := range n {
		for x := 0; x < n; {
			w := 0
			for x+w < n && dark(code.At(x+w, y)) {
				w++
			}
			if w > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+margin, y+margin, w, w)
			}
			x += w + 1
		}
	}
	b.WriteString(`"/></svg>`)
	return b.String(), nil
}

func dark(c interface{ RGBA() (r, g, b, a uint32) }) bool {
	r, _, _, _ := c.RGBA()
	return r == 0
}
