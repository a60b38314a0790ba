package identity_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity"
)

// The schema before knew no addresses: who has a session as it changes is known from
// where that began, with both factors where there are two.
func TestKnownAfterUpgrade(t *testing.T) {
	steps, err := db.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(steps, func(m db.Migration) bool { return m.Name == "signed_in_from_sessions" })
	if i < 0 {
		t.Fatal("no such migration")
	}
	onBoth(t, nil, func(k *kit) {
		in := func(email, from string) *identity.Session {
			k.Helper()
			s, err := k.svc.SignIn(k.ctx, email, pw, identity.Client{Address: from})
			k.ok(err)
			return s
		}
		for _, email := range []string{"once@x.example", "twice@x.example", "six@x.example", "two@x.example", "out@x.example"} {
			k.signUp(email, nil)
			k.exec("DELETE FROM sessions")
		}
		in("once@x.example", "192.0.2.7")
		in("twice@x.example", "192.0.2.7")
		k.sleep(time.Second)
		in("twice@x.example", "192.0.2.8")
		in("six@x.example", "2001:db8::1")
		in("six@x.example", "::ffff:192.0.2.9")
		_, up := k.protect(in("two@x.example", "192.0.2.10"))
		k.sleep(time.Second)
		in("two@x.example", "192.0.2.11")
		k.exec("UPDATE users SET signed_in_from = NULL")
		k.exec(steps[i].SQL)
		for _, tt := range []struct {
			email, from string
			want        bool
		}{
			{"once@x.example", "192.0.2.7", true},
			{"once@x.example", "192.0.2.1", false},
			{"twice@x.example", "192.0.2.8", true},
			{"six@x.example", "2001:db8::1", false},
			{"six@x.example", "192.0.2.9", false},
			{"two@x.example", "192.0.2.10", true},
			{"two@x.example", "192.0.2.11", false},
			{"out@x.example", "192.0.2.1", false},
		} {
			if got, err := k.svc.Known(k.ctx, tt.email, tt.from); err != nil || got != tt.want {
				k.Errorf("%s from %s: known %v, %v", tt.email, tt.from, got, err)
			}
		}
		k.refresh(up)
	})
}
