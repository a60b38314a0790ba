package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/internal/fault"
)

func TestCheckJSON(t *testing.T) {
	for _, c := range []struct {
		body string
		ok   bool
	}{
		{`{"a":1,"b":[true,null,"x"]}`, true},
		{`"\ud83d\ude00"`, true},
		{`"\\ud800"`, true}, // an escaped backslash, then letters
		{`{"a":1,"a":2}`, false},
		{`{"a":{"b":1,"b":1}}`, false},
		{`{"a":1} {}`, false},
		{`{"a":`, false},
		{`{"a":1,}`, false},
		{`"a\u0000b"`, false},
		{`"\ud800"`, false},
		{`"\udc00\ud800"`, false},
		{"\"\xff\"", false},
		{strings.Repeat("[", 64) + strings.Repeat("]", 64), true},
		{strings.Repeat("[", 65) + strings.Repeat("]", 65), false},
		{``, false},
	} {
		if err := CheckJSON([]byte(c.body)); (err == nil) != c.ok {
			t.Errorf("%.80s: %v", c.body, err)
		} else if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%.80s: %v is no fault of the input", c.body, err)
		}
	}
}

func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u00e9"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if CheckJSON(b) == nil && (!json.Valid(b) || !utf8.Valid(b)) {
			t.Errorf("accepted %q", b)
		}
	})
}

func TestClientAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "203.0.113.9", "192.0.2.1"}, // a stranger's claim
		{"10.0.0.1:5", "203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:5", "198.51.100.7, 203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"10.0.0.1:5", "203.0.113.9, garbage", "10.0.0.1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := clientAddress(r, proxies); got != c.want {
			t.Errorf("%s behind %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
	if a, b := AddressKey("2001:db8::1"), AddressKey("2001:db8::2"); a != b {
		t.Errorf("one /64 counts as %s and %s", a, b)
	}
}

// A panic is a 500 in the surface's shape, and the request id is answered.
func TestWrap(t *testing.T) {
	shape := func(_ *http.Request, e *fault.Error) Reply {
		return Reply{Status: Status(e.Kind), Body: map[string]string{"error": e.Msg}}
	}
	front := &Front{Origins: []string{"https://app.example"}}
	h := front.Handler(Wrap(shape, func(http.ResponseWriter, *http.Request) error { panic("secret") }))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Request-Id", "given-id-1")
	r.Header.Set("Origin", "https://evil.example")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || w.Header().Get("X-Request-Id") != "given-id-1" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("a foreign origin is admitted")
	}
}
