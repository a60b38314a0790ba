package sms

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/internal/fault"
)

func TestWebhook(t *testing.T) {
	type message struct{ To, Text, Channel string }
	var got message
	status := http.StatusAccepted
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		if r.Method != "POST" || user != "me" || pass != "s3cret" || r.Header.Get("Content-Type") != "application/json" ||
			r.URL.Path != "/send" {
			t.Errorf("%s %s %s:%s", r.Method, r.URL, user, pass)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
	}))
	defer srv.Close()
	w, err := NewWebhook(strings.Replace(srv.URL, "http://", "http://me:s3cret@", 1) + "/send")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), Message{"15550001111", "Your code is 123456.", WhatsApp}); err != nil ||
		got != (message{"+15550001111", "Your code is 123456.", "whatsapp"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, status = range []int{302, 401, 500} {
		if err := w.Send(t.Context(), Message{To: "15550001111", Text: "x"}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	srv.Close()
	err = w.Send(t.Context(), Message{To: "15550001111", Text: "x"})
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("down: %v", err)
	}
	for _, bad := range []string{"", "log", "ftp://x", "/send", "http://"} {
		if _, err := NewWebhook(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}
