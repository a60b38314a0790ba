package captcha

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/internal/fault"
)

func TestVerifier(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.PostFormValue("secret") != "s" || r.PostFormValue("remoteip") != "192.0.2.1" {
			t.Errorf("%s %v", r.Method, r.Form)
		}
		switch r.PostFormValue("response") {
		case "good":
			w.Write([]byte(`{"success":true}`))
		case "bad":
			w.Write([]byte(`{"success":false,"error-codes":["invalid-input-response"]}`))
		case "secret":
			w.Write([]byte(`{"success":false,"error-codes":["invalid-input-secret"]}`))
		case "lie":
			http.Error(w, `{"success":true}`, 500)
		case "away":
			w.Write([]byte(`<html>`))
		}
	}))
	defer srv.Close()
	v, err := New(srv.URL, "s")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{"good": "", "bad": "captcha_failed", "": "captcha_failed",
		"secret": "unexpected_failure",
		"lie":    "unexpected_failure", "away": "unexpected_failure"} {
		err := v.Check(t.Context(), answer, "192.0.2.1")
		if want == "" && err != nil || want != "" && !fault.HasCode(err, want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	srv.Close()
	if err := v.Check(t.Context(), "good", ""); !fault.Is(err, fault.Unavailable) {
		t.Errorf("down: %v", err)
	}
	for _, c := range [][2]string{{"", "s"}, {"https://x.example", ""}, {"ftp://x", "s"}} {
		if _, err := New(c[0], c[1]); err == nil {
			t.Errorf("%v accepted", c)
		}
	}
}
