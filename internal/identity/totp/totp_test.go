package totp

import (
	"encoding/base32"
	"encoding/xml"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"
)

// RFC 6238 appendix B, SHA-1, the last six of its eight digits.
func TestAt(t *testing.T) {
	s := Secret(base32.StdEncoding.EncodeToString([]byte("12345678901234567890")))
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924",
		2000000000:  "279037",
		20000000000: "353130"} {
		if got, err := s.At(time.Unix(at, 0)); err != nil || got != want {
			t.Errorf("%d: %s, %v, want %s", at, got, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	s, now := NewSecret(), time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name string
		off  time.Duration
		last int64
		ok   bool
	}{
		{"now", 0, 0, true},
		{"a step late", -30 * time.Second, 0, true},
		{"a step early", 30 * time.Second, 0, true},
		{"two steps late", -60 * time.Second, 0, false},
		{"two steps early", 60 * time.Second, 0, false},
		{"accepted before", 0, now.Unix() / 30, false},
		{"older than one accepted", -30 * time.Second, now.Unix() / 30, false},
		{"newer than one accepted", 30 * time.Second, now.Unix() / 30, true},
	} {
		code, err := s.At(now.Add(c.off))
		if err != nil {
			t.Fatal(err)
		}
		step, ok, err := s.Check(code, now, c.last)
		if err != nil || ok != c.ok || ok && step != now.Add(c.off).Unix()/30 {
			t.Errorf("%s: step %d, %v, %v", c.name, step, ok, err)
		}
	}
	for _, bad := range []string{"", "12345", "1234567", "abcdef", "١٢٣٤٥٦"} {
		if _, ok, _ := s.Check(bad, now, 0); ok {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestURIAndQR(t *testing.T) {
	s := NewSecret()
	uri := s.URI("North & Sons", "a+b@x.example")
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/North & Sons:a+b@x.example" ||
		u.Query().Get("secret") != string(s) ||
		u.Query().Get("issuer") != "North & Sons" {
		t.Errorf("%s %v", uri, err)
	}
	if strings.Contains(u.RawQuery, "+") {
		t.Error("a blank written as a plus sign")
	}
	svg, err := QR(uri)
	if err != nil || strings.Contains(svg, "#") || !strings.HasPrefix(svg, "<svg ") {
		t.Fatalf("%.80s %v", svg, err)
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("123456", int64(1_800_000_000))
	s := Secret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
	f.Fuzz(func(t *testing.T, code string, at int64) {
		if at < 60 {
			return
		}
		if step, ok, err := s.Check(code, time.Unix(at, 0), 0); err == nil && ok {
			if want, _ := s.at(step); want != code {
				t.Errorf("%q accepted for %q", code, want)
			}
		}
	})
}
