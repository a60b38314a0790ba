package oidc

import (
	"encoding/json"
	"testing"
)

// An address counts as proved where its provider says so as that provider does; of any
// other, the boolean alone counts.
func TestEmailVerified(t *testing.T) {
	for claims, provenAt := range map[string][]string{
		`{"email_verified": true}`:                     {"keycloak", "google", "apple", "linkedin_oidc"},
		`{"email_verified": "true"}`:                   {"apple", "linkedin_oidc"},
		`{"email_verified": 1}`:                        {},
		`{"email_verified": "1"}`:                      {},
		`{"email_verified": "yes"}`:                    {},
		`{"email_verified": ["true"]}`:                 {},
		`{"email_verified": {"true": true}}`:           {},
		`{"email_verified": "false"}`:                  {},
		`{}`:                                           {},
		`{"xms_edov": true}`:                           {"azure"},
		`{"xms_edov": "1"}`:                            {"azure"},
		`{"xms_edov": 1}`:                              {"azure"},
		`{"xms_edov": false, "email_verified": true}`:  {"keycloak", "google", "apple", "linkedin_oidc"},
		`{"xms_edov": "no", "email_verified": "true"}`: {"apple", "linkedin_oidc"},
	} {
		var c idClaims
		if err := json.Unmarshal([]byte(claims), &c); err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, name := range provenAt {
			want[name] = true
		}
		for _, name := range []string{"keycloak", "google", "apple", "linkedin_oidc", "azure"} {
			if got := c.isEmailVerified(presetOf(name)); got != want[name] {
				t.Errorf("%s at %s: %v", claims, name, got)
			}
		}
	}
}
