package auth_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/identity"
	"holdfast/internal/identity/totp"
)

// The exchange that supabase-js makes: enroll, challenge, verify, unenroll.
func TestFactors(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		s.want(s.call("POST", "/factors", obj{"factor_type": "totp"}), 401, "no_authorization")
		s.want(s.call("POST", "/factors", obj{"factor_type": "phone", "phone": "+49"}, bearer(sess)), 422,
			"mfa_phone_enroll_not_enabled")
		r := s.call("POST", "/factors", obj{"factor_type": "totp", "friendly_name": "phone", "issuer": nil}, bearer(sess))
		setup, _ := r.body["totp"].(obj)
		if r.status != 200 || r.body["type"] != "totp" || r.body["friendly_name"] != "phone" || setup["secret"] == "" ||
			!strings.HasPrefix(setup["uri"].(string), "otpauth://totp/Holdfast:a@x.example?") {
			s.Fatalf("%d %s", r.status, r.text)
		}
		id := r.body["id"].(string)
		r = s.call("POST", "/factors/"+id+"/challenge", obj{"factorId": id}, bearer(sess))
		if at, _ := r.body["expires_at"].(float64); r.status != 200 || r.body["type"] != "totp" ||
			time.Until(time.Unix(int64(at), 0)) > 5*time.Minute {
			s.Fatalf("%d %s", r.status, r.text)
		}
		challenge := r.body["id"]
		s.want(s.call("POST", "/factors/"+id+"/verify", obj{"challenge_id": challenge, "code": "000000"}, bearer(sess)), 422,
			"mfa_verification_failed")
		code, err := totp.Secret(setup["secret"].(string)).At(time.Now())
		if err != nil {
			s.Fatal(err)
		}
		r = s.call("POST", "/factors/"+id+"/verify", obj{"challenge_id": challenge, "code": code}, bearer(sess))
		if r.status != 200 || r.body["refresh_token"] == sess["refresh_token"] || r.body["expires_in"] == 0.0 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		up := r.body
		f := up["user"].(obj)["factors"].([]any)[0].(obj)
		if f["id"] != id || f["factor_type"] != "totp" || f["status"] != "verified" || f["created_at"] == nil {
			s.Errorf("%v", f)
		}
		if f := s.call("GET", "/user", nil, bearer(up)).body["factors"].([]any); len(f) != 1 {
			s.Errorf("%v", f)
		}
		// The path's ids.
		s.want(s.call("POST", "/factors/x/challenge", obj{}, bearer(up)), 404, "validation_failed")
		s.want(s.call("DELETE", "/factors/00000000-0000-0000-0000-000000000000", nil, bearer(up)), 404,
			"mfa_factor_not_found")
		s.want(s.call("PUT", "/factors/"+id, nil, bearer(up)), 405, "method_not_allowed")

		r = s.call("POST", "/factors/recovery-codes", nil, bearer(up))
		codes := r.body["codes"].([]any)
		if r.status != 200 || len(codes) != 10 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		low := s.call("POST", "/token?grant_type=password", obj{"email": "a@x.example", "password": pw}).body
		s.want(s.call("PUT", "/user", obj{"password": "another-long-password"}, bearer(low)), 401, "insufficient_aal")
		s.want(s.call("DELETE", "/factors/"+id, nil, bearer(low)), 422, "insufficient_aal")
		s.want(s.call("POST", "/factors", obj{"factor_type": "totp"}, bearer(low)), 403, "insufficient_aal")
		if r = s.call("POST", "/factors/recovery-codes/verify", obj{"code": codes[0]}, bearer(low)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		if r = s.call("GET", "/factors/recovery-codes", nil, bearer(r.body)); r.body["remaining"] != 9.0 {
			s.Error(r.text)
		}
		user := up["user"].(obj)["id"].(string)
		key := "apikey: " + s.keys.SecretKey
		s.want(s.call("GET", "/admin/users/"+user+"/factors", nil, bearer(up)), 403, "not_admin")
		if r = s.call("GET", "/admin/users/"+user+"/factors", nil, key); r.status != 200 || !strings.HasPrefix(r.text, "[{") {
			s.Errorf("%d %s", r.status, r.text)
		}
		if r = s.call("PUT", "/admin/users/"+user+"/factors/"+id, obj{"friendly_name": "desk"}, key); r.status != 200 ||
			r.body["friendly_name"] != "desk" {
			s.Errorf("%d %s", r.status, r.text)
		}
		if r = s.call("DELETE", "/factors/"+id, nil, bearer(up)); r.status != 200 || r.body["id"] != id {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("DELETE", "/admin/users/"+user+"/factors/"+id, nil, key), 404, "mfa_factor_not_found")
	})
}

// The wire form of passkeys: what a browser is handed, what it hands back.
func TestPasskeys(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Passkeys = true }, func(s *server) {
		sess := s.signUp("a@x.example")
		if r := s.call("GET", "/settings", nil); r.body["passkeys_enabled"] != true {
			s.Error(r.text)
		}
		r := s.call("POST", "/passkeys/registration/options", obj{}, bearer(sess))
		o, _ := r.body["options"].(obj)
		if r.status != 200 || o["rp"].(obj)["id"] != "localhost" || o["attestation"] != "none" ||
			o["authenticatorSelection"].(obj)["residentKey"] != "required" || o["challenge"] == "" {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.want(s.call("POST", "/passkeys/registration/verify",
			obj{"challenge_id": r.body["challenge_id"], "credential": obj{}}, bearer(sess)), 400,
			"webauthn_verification_failed")
		s.want(s.call("POST", "/passkeys/registration/verify", obj{"challenge_id": "x", "credential": nil}, bearer(sess)),
			400, "webauthn_challenge_not_found")
		r = s.call("POST", "/passkeys/authentication/options", nil)
		if o, _ = r.body["options"].(obj); r.status != 200 || o["rpId"] != "localhost" ||
			o["userVerification"] != "required" || o["allowCredentials"] != nil {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("POST", "/passkeys/authentication/verify",
			obj{"challenge_id": r.body["challenge_id"], "credential": obj{}}), 400,
			"webauthn_verification_failed")
		if r = s.call("GET", "/passkeys", nil, bearer(sess)); r.status != 200 || r.text != "[]\n" {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("PATCH", "/passkeys/01a1fdd3-49a8-71f7-afb0-243f4650b256", obj{"friendly_name": "x"}, bearer(sess)),
			404, "webauthn_credential_not_found")
		s.want(s.call("DELETE", "/passkeys/01a1fdd3-49a8-71f7-afb0-243f4650b256", nil, bearer(sess)), 404,
			"webauthn_credential_not_found")
	})
}

func TestSessions(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		one := s.signUp("a@x.example")
		two := s.call("POST", "/token?grant_type=password", obj{"email": "a@x.example", "password": pw},
			"User-Agent: Phone").body
		r := s.call("GET", "/sessions", nil, bearer(one))
		list := r.body["sessions"].([]any)
		if r.status != 200 || len(list) != 2 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		phone, mine := list[0].(obj), list[1].(obj)
		if phone["user_agent"] != "Phone" || phone["current"] != false || mine["current"] != true ||
			phone["aal"] != "aal1" || phone["address"] == nil {
			s.Error(r.text)
		}
		stranger := s.signUp("b@x.example")
		for _, id := range []any{phone["id"], "00000000-0000-0000-0000-000000000000"} {
			s.want(s.call("DELETE", "/sessions/"+id.(string), nil, bearer(stranger)), 404, "not_found")
		}
		if r = s.call("DELETE", "/sessions/"+phone["id"].(string), nil, bearer(one)); r.status != 204 {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("GET", "/user", nil, bearer(two)), 403, "session_not_found")
		if r = s.call("GET", "/user", nil, bearer(one)); r.status != 200 {
			s.Errorf("%d %s", r.status, r.text)
		}
	})
}
