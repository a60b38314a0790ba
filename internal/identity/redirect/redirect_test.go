package redirect

import (
	"net/url"
	"strings"
	"testing"
)

func TestRules_Allowed(t *testing.T) {
	r, err := New("https://app.example.com", []string{
		"https://app.example.com/done", "https://*.preview.example.com/cb", "https://docs.example.com/a/**",
		"com.example.app://callback", "http://localhost:5173/*", "https://10.1.2.3/cb",
	})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"https://app.example.com":                              true,
		"https://app.example.com/":                             true,
		"https://app.example.com:443/x?y=1#z":                  true,
		"https://APP.example.com/x":                            true,
		"https://b1.preview.example.com/cb":                    true,
		"https://docs.example.com/a/b/c":                       true,
		"com.example.app://callback":                           true,
		"http://localhost:5173/welcome":                        true,
		"https://10.1.2.3/cb":                                  true,
		"https://10.1.2.4/cb":                                  false,
		"http://app.example.com/":                              false, // scheme
		"https://app.example.com:8443/":                        false, // port
		"https://evil.example/":                                false,
		"https://app.example.com.evil.example/":                false, // suffix
		"https://evilapp.example.com/":                         false, // prefix
		"https://app.example.com@evil.example/":                false, // user-info
		"https://evil.example#@app.example.com/":               false,
		"https://evil.example\\@app.example.com/":              false, // backslash
		"https:\\\\evil.example":                               false,
		"//evil.example/":                                      false, // scheme-relative
		"///evil.example/":                                     false,
		"https:///evil.example/":                               false,
		"https:evil.example":                                   false,
		"/\\evil.example":                                      false,
		"javascript:alert(1)":                                  false,
		"javascript://app.example.com/%0aalert(1)":             false,
		"data:text/html,x":                                     false,
		"https://app.example.com\t.evil.example/":              false,
		"https://app.example.com\r\nX: y":                      false,
		" https://app.example.com/":                            false,
		"https://app.example.com%2eevil.example/":              false,
		"https://аpp.example.com/":                             false, // Cyrillic а
		"https://x.y.preview.example.com/cb":                   false, // * is one label
		"https://.preview.example.com/cb":                      false,
		"https://b1.preview.example.com/cb/more":               false,
		"https://docs.example.com/a/../../secret":              false,
		"https://docs.example.com/a/%2e%2e/%2e%2e/s":           false,
		"https://docs.example.com/ab":                          false,
		"http://0x7f000001/":                                   false,
		"https://127.0.0.1/":                                   false,
		"https://user@app.example.com/":                        false, // the right host, and more than one reading
		"https://app.example.com/\\evil.example":               false,
		"https://app.example.com/b c":                          false,
		"https://app.example.com/\u0435":                       false,
		"https://docs.example.com/a/x%5c..%5c..%5cs":           false,
		"https://docs.example.com/a/x%2fb":                     false,
		"https://app.example.com/" + strings.Repeat("a", 2048): false,
		"relative/path":                                        false,
		"":                                                     false,
	} {
		if got := r.Allowed(target); got != want {
			t.Errorf("Allowed(%q) = %v", target, got)
		}
	}
}

// Patterns in the form that Supabase documents.
func TestRules_patterns(t *testing.T) {
	r, err := New("https://app.example.com", []string{"http://localhost:**", "https://**--site.example/**", "app://**",
		"https://*-team.pages.example/cb",
		"https://docs.example.com/v*/**/end", "http://[::1]:**"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"http://localhost:3000":                              true,
		"http://localhost:5173/a/b?c=d":                      true,
		"http://localhost:1":                                 true,
		"http://[::1]:3000/x":                                true,
		"https://localhost:3000/":                            false,
		"http://localhost.evil.example:3000/":                false,
		"http://localhost:3000@evil.example/":                false,
		"http://evil.example/localhost:3000":                 false,
		"https://branch--site.example/":                      true,
		"https://branch--site.example":                       true,
		"https://a.b--site.example/x/y":                      true,
		"http://branch--site.example/":                       false,
		"https://branch--site.example.evil.example/":         false,
		"https://evil.example/--site.example/":               false,
		"https://evil.example/x--site.example":               false,
		"https://evil.example?x--site.example/":              false,
		"https://evil.example#x--site.example/":              false,
		"https://evil.example\\x--site.example/":             false,
		"https://branch--site.example:8443/":                 false,
		"https://site.example/":                              false,
		"app://callback":                                     true,
		"app://callback/deep/er?x=1":                         true,
		"app://":                                             false,
		"app:callback":                                       false,
		"application://callback":                             false,
		"https://x-team.pages.example/cb":                    true,
		"https://-team.pages.example/cb":                     false,
		"https://a.x-team.pages.example/cb":                  false,
		"https://docs.example.com/v1/a/b/end":                true,
		"https://docs.example.com/v1/x/a/b/ending":           false,
		"https://docs.example.com/v/1/a/end":                 false,
		"http://localhost:3000/" + strings.Repeat("a/", 900): true,
	} {
		if got := r.Allowed(target); got != want {
			t.Errorf("Allowed(%q) = %v", target, got)
		}
		if r.Exact(target) {
			t.Errorf("Exact(%q)", target)
		}
	}
}

// What a "*" lets in is allowed and not exact.
func TestRules_Exact(t *testing.T) {
	r, err := New("https://app.example.com",
		[]string{"https://docs.example.com/cb", "https://*.preview.example.com/cb", "https://pages.example.com/*/cb",
			"https://docs.example.com/a/**",
			"com.example.app://callback"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"https://app.example.com":              true,
		"https://app.example.com/any/page?a=b": true,
		"https://docs.example.com/cb":          true,
		"https://docs.example.com:443/cb/?x=1": true,
		"com.example.app://callback":           true,
		"https://docs.example.com/a/b":         false,
		"https://docs.example.com/a/**":        false,
		"https://b1.preview.example.com/cb":    false,
		"https://pages.example.com/mallory/cb": false,
		"http://localhost:3000/":               false,
		"https://evil.example/":                false,
		"":                                     false,
	} {
		if got := r.Exact(target); got != want {
			t.Errorf("Exact(%q) = %v", target, got)
		}
	}
}

// The default of an unmodified supabase-js on a developer's machine.
func TestRules_loopbackSite(t *testing.T) {
	r, err := New("http://localhost:3000", nil)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"http://localhost:3000/welcome": true,
		"http://localhost:5173/":        true,
		"http://127.0.0.1:8080/cb":      true,
		"http://[::1]:8080/cb":          true,
		"https://localhost:3000/":       false,
		"http://localhost.evil.example": false,
		"http://127.1/":                 false,
		"http://10.0.0.1/":              false,
	} {
		if got := r.Allowed(target); got != want {
			t.Errorf("Allowed(%q) = %v", target, got)
		}
		if got := r.Exact(target); got != want {
			t.Errorf("Exact(%q) = %v", target, got)
		}
	}
	if got := r.Target("https://evil.example", "", "http://localhost:3000/x"); got != "http://localhost:3000/x" {
		t.Errorf("Target = %q", got)
	}
	if got := r.Target("https://evil.example"); got != "http://localhost:3000" {
		t.Errorf("Target = %q", got)
	}
}

func TestNew_refuses(t *testing.T) {
	for _, a := range []string{"example.com/x", "https://", "https://**/x", "https://**", "https://**.com/cb",
		"https://a.example**",
		"http://:**", "https://**:**",
		"https://u@a.example/", "https://a.example/?q"} {
		if _, err := New("https://app.example.com", []string{a}); err == nil {
			t.Errorf("entry %q accepted", a)
		}
	}
	for _, s := range []string{"", "app.example.com", "ftp://x", "https://u:p@app.example.com"} {
		if _, err := New(s, nil); err == nil {
			t.Errorf("site %q accepted", s)
		}
	}
}

func TestWith(t *testing.T) {
	v := url.Values{"code": {"c1"}}
	if got := WithQuery("https://a.example/cb?sb_flow_id=7#old", v); got != "https://a.example/cb?sb_flow_id=7&code=c1" {
		t.Error(got)
	}
	if got := WithFragment("https://a.example/cb?x=1#old", v); got != "https://a.example/cb?x=1#code=c1" {
		t.Error(got)
	}
}

// Whatever is allowed must go to a host the rules name, as url.Parse reads it.
func FuzzAllowed(f *testing.F) {
	for _, s := range []string{"https://app.example.com/x", "https://app.example.com@evil.example", "//evil",
		"https://evil.example#app.example.com"} {
		f.Add(s)
	}
	r, err := New("https://app.example.com", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !r.Allowed(s) {
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.User != nil || !(u.Host == "app.example.com" || u.Host == "app.example.com:443" ||
			equalFoldHost(u.Host)) {
			t.Errorf("allowed %q (host %q)", s, u.Host)
		}
	})
}

func equalFoldHost(h string) bool {
	low := []byte(h)
	for i, c := range low {
		if c >= 'A' && c <= 'Z' {
			low[i] = c + 32
		}
	}
	return string(low) == "app.example.com" || string(low) == "app.example.com:443"
}
