package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// With a captcha configured nothing that makes accounts, tries passwords or
// sends mails goes without a good answer.
func TestCaptchaIsConfigured(t *testing.T) {
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("secret") == "site-secret" && r.PostFormValue("response") == "solved" {
			w.Write([]byte(`{"success":true}`))
			return
		}
		w.Write([]byte(`{"success":false}`))
	}))
	defer judge.Close()
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for path, body := range map[string]map[string]any{
			"/signup":                    {"email": "new@else.example", "password": "a-good-long-password"},
			"/token?grant_type=password": {"email": "owner@north.example", "password": "holdfast-demo"},
			"/recover":                   {"email": "owner@north.example"},
			"/otp":                       {"email": "viewer@north.example"},
			"/magiclink":                 {"email": "driver@north.example"},
			"/resend":                    {"email": "operator@north.example", "type": "signup"},
		} {
			for _, answer := range []string{"", "guessed"} {
				body["gotrue_meta_security"] = map[string]any{"captcha_token": answer}
				if r := k.Post("", "/auth/v1"+path, body); r.Status != 400 || !strings.Contains(string(r.Body), "captcha_failed") {
					t.Errorf("%s, answer %q: %d %s", path, answer, r.Status, r.Body)
				}
			}
			body["gotrue_meta_security"] = map[string]any{"captcha_token": "solved"}
			if r := k.Post("", "/auth/v1"+path, body); r.Status != 200 {
				t.Errorf("%s, solved: %d %s", path, r.Status, r.Body)
			}
		}
	}, func(c *config.Config) { c.CaptchaURL, c.CaptchaSecret = judge.URL, "site-secret" })
}

// A fixed key counts beside the one that was made, in place of it in status.
func TestKeysAreConfigured(t *testing.T) {
	const fixed = "sb_secret_0123456789abcdefghijklmnopqrstuv"
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for key, status := range map[string]int{fixed: 200, k.Service(): 200, fixed + "x": 401} {
			if r := k.Call(testkit.Request{Method: "GET", Path: "/auth/v1/admin/users", Bearer: key}); r.Status != status {
				t.Errorf("%.20s: %d %s", key, r.Status, r.Body)
			}
		}
		keys, err := k.App.Identity.Keyring.Keys(t.Context())
		if err != nil || keys.SecretKey != fixed {
			t.Errorf("%v %v", keys.SecretKey, err)
		}
	}, func(c *config.Config) { c.SecretKey = fixed })
}
