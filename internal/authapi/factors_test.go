package authapi_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/identity/totp"
)

// The exchange that supabase-js makes: enroll, challenge, verify, unenroll.
func TestFactors(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		s.want(s.call("POST", "/factors", obj{"factor_type": "totp"}), 401, "no_authorization")
		s.want(s.call("POST", "/factors", obj{"factor_type": "phone", "phone": "+49"}, bearer(sess)), 422, "mfa_phone_enroll_not_enabled")
		r := s.call("POST", "/factors", obj{"factor_type": "totp", "friendly_name": "phone", "issuer": nil}, bearer(sess))
		setup, _ := r.body["totp"].(obj)
		if r.status != 200 || r.body["type"] != "totp" || r.body["friendly_name"] != "phone" || setup["secret"] == "" || !strings.HasPrefix(setup["uri"].(string), "otpauth://totp/Holdfast:a@x.example?") {
			s.Fatalf("%d %s", r.status, r.text)
		}
		id := r.body["id"].(string)
		r = s.call("POST", "/factors/"+id+"/challenge", obj{"factorId": id}, bearer(sess))
		if at, _ := r.body["expires_at"].(float64); r.status != 200 || r.body["type"] != "totp" || time.Until(time.Unix(int64(at), 0)) > 5*time.Minute {
			s.Fatalf("%d %s", r.status, r.text)
		}
		challenge := r.body["id"]
		s.want(s.call("POST", "/factors/"+id+"/verify", obj{"challenge_id": challenge, "code": "000000"}, bearer(sess)), 422, "mfa_verification_failed")
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
		s.want(s.call("DELETE", "/factors/00000000-0000-0000-0000-000000000000", nil, bearer(up)), 404, "mfa_factor_not_found")
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
		if r = s.call("PUT", "/admin/users/"+user+"/factors/"+id, obj{"friendly_name": "desk"}, key); r.status != 200 || r.body["friendly_name"] != "desk" {
			s.Errorf("%d %s", r.status, r.text)
		}
		if r = s.call("DELETE", "/factors/"+id, nil, bearer(up)); r.status != 200 || r.body["id"] != id {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("DELETE", "/admin/users/"+user+"/factors/"+id, nil, key), 404, "mfa_factor_not_found")
	})
}
