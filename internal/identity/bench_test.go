package identity_test

import (
	"context"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/identity"
)

// What every request of a signed-in client pays.
func BenchmarkAuthenticate_cached(b *testing.B) {
	d, err := db.Open(b.Context(), db.Options{Dir: b.TempDir(), Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	s, err := identity.New(config(), d, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	sess, _, err := s.SignUps.SignUp(b.Context(), identity.SignUp{Email: "a@x.example", Password: pw,
		Data: map[string]any{"tenant_id": someTenant}},
		identity.Client{})
	if err != nil {
		b.Fatal(err)
	}
	c := identity.Credential{Bearer: sess.AccessToken, Address: "192.0.2.1", RequestID: "r"}
	b.ReportAllocs()
	for b.Loop() {
		if a, err := s.Authenticator.Authenticate(context.Background(), c); err != nil || a.TenantID != someTenant {
			b.Fatal(a, err)
		}
	}
}
