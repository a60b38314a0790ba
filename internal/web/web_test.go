package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
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
		{"10.0.0.1:5", "2001:db8::1%any \xff text", "2001:db8::1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "10.1.2.3", "10.1.2.3"}, // a client among the proxies
		{"10.0.0.1:5", "10.1.2.3, 10.0.0.2", "10.1.2.3"},
		{"10.0.0.1:5", "::ffff:10.1.2.3", "10.1.2.3"},
		{"10.0.0.1:5", "garbage, 10.0.0.2", "10.0.0.2"}, // the last who is known
		{"10.0.0.1:5", "203.0.113.9:4711", "203.0.113.9"},
		{"10.0.0.1:5", "203.0.113.9, [2001:db8::1]:443, 10.0.0.2:80", "2001:db8::1"},
		{"10.0.0.1:5", "203.0.113.9:port", "10.0.0.1"},
		{"192.0.2.1:5", "10.1.2.3", "192.0.2.1"}, // a stranger's claim to be one of them
		{"192.0.2.1:5", "203.0.113.9:4711", "192.0.2.1"},
		{"10.0.0.1:5", "10.1.2.3, 192.0.2.1", "192.0.2.1"},
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

// Origins are compared whole; nothing of a foreign one comes back, an answer
// says that it depends on the origin, and credentials are admitted to none.
// A caller who leaves is no failure of the server, and alarms nobody.
func TestFail_callerLeft(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for _, left := range []bool{false, true} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		ctx, leave := context.WithCancel(t.Context())
		if left {
			leave()
		}
		Fail(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil), simpleShape,
			errors.New("cut short"))
		leave()
		if strings.Contains(log.String(), "level=ERROR") == left {
			t.Errorf("left: %v: %s", left, log.String())
		}
	}
}

func TestCORS(t *testing.T) {
	front := &Front{Origins: []string{"https://app.example"}}
	h := front.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for origin, want := range map[string]string{
		"https://app.example": "https://app.example", "https://app.example.evil": "", "https://app.example:8443": "",
		"https://evil.app.example": "", "https://evilapp.example": "",
		"http://app.example": "", "null": "", "https://app.example, https://evil.example": "", "HTTPS://APP.EXAMPLE": "",
		"https://evil.example": "", "*": "",
	} {
		for _, method := range []string{"GET", "OPTIONS"} {
			r := httptest.NewRequest(method, "/", nil)
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header()
			if got.Get("Access-Control-Allow-Origin") != want || got.Get("Vary") != "Origin" ||
				got.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s with origin %q: %v", method, origin, got)
			}
			if got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s: %v", method, got)
			}
		}
	}
}

// A caller's request id is kept when it is harmless in headers and logs.
func TestRequestIDs(t *testing.T) {
	h := (&Front{}).Handler(http.NotFoundHandler())
	for id, kept := range map[string]bool{"given-id_1.x": true, strings.Repeat("a", 64): true, "short": false,
		strings.Repeat("a", 65): false,
		"with blank 1":          false, "a\r\nSet-Cookie: x=y": false, "\x1b[31mred-red": false, `{"level":"x"}`: false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["X-Request-Id"] = []string{id}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("X-Request-Id"); (got == id) != kept || got == "" {
			t.Errorf("%q: answered %q", id, got)
		}
	}
}

// A body is as long as it may be, not packed, and of the type it is read as:
// what a form of another site can send is none of that.
func TestReadBody(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*http.Request)
		kind fault.Kind
	}{
		"packed":            {func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, fault.Unsupported},
		"too long, said so": {func(r *http.Request) { r.ContentLength = 101 }, fault.TooLarge},
		"too long, unsaid": {func(r *http.Request) {
			r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(strings.Repeat(" ", 101)))
		}, fault.TooLarge},
		"text": {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, fault.Unsupported},
		"a form": {func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
			fault.Unsupported},
		"no type at all": {func(r *http.Request) { r.Header.Set("Content-Type", "json") }, fault.Unsupported},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"a":1}`))
		c.set(r)
		var v map[string]int
		if err := Decode(r, 100, &v); !fault.Is(err, c.kind) || v != nil {
			t.Errorf("%s: %v %v", name, v, err)
		}
	}
}

// A preflight may ask for any header: it gets back the names it asked for, in any
// number of lines, and no credentials. What is no list of names is refused and
// named, and one with a credential is no preflight.
func TestCORS_preflight(t *testing.T) {
	served := 0
	front := &Front{Origins: []string{"https://app.example"}, Shape: simpleShape}
	h := front.Handler(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		served++
		w.WriteHeader(http.StatusOK)
	}))
	for _, c := range []struct {
		asked   []string
		status  int
		allowed string
	}{
		{nil, 204, allowHeaders},
		{[]string{"x-my-app, X-Trace"}, 204, "x-my-app, X-Trace"},
		{[]string{"x-one", "x-two,x-three"}, 204, "x-one, x-two, x-three"},
		{[]string{"x my app"}, 400, ""},
		{[]string{"x-a,,x-b"}, 400, ""},
		{[]string{"x-a;b"}, 400, ""},
		{[]string{strings.Repeat("x-a,", 90<<10/4) + "x"}, 400, ""},
	} {
		r := httptest.NewRequest("OPTIONS", "/", nil)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header["Access-Control-Request-Headers"] = c.asked
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Header()
		if w.Code != c.status || got.Get("Access-Control-Allow-Headers") != c.allowed ||
			got.Get("Access-Control-Allow-Credentials") != "" ||
			c.status == 204 && got.Get("Access-Control-Max-Age") == "" ||
			c.status == 400 && !strings.Contains(w.Body.String(), "Access-Control-Request-Headers") {
			t.Errorf("%.40q: %d %.100s %v", c.asked, w.Code, w.Body, got)
		}
	}
	r := httptest.NewRequest("OPTIONS", "/", nil)
	r.Header.Set("Origin", "https://app.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Apikey", "a key")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); served != 1 || w.Code != 200 {
		t.Errorf("with a credential: %d, served %d", w.Code, served)
	}
}
