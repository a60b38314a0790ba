package app_test

import (
	"context"
	"testing"

	"holdfast/internal/testkit"
)

// A key revoked on one node is refused by the others without waiting for their
// own look, a rotated signing key is in their key set, and what a tenant asks
// to forget is forgotten by all.
func TestKeysOfTwoNodes(t *testing.T) {
	twoNodes(t, func(t *testing.T, one, two *testkit.Kit) {
		old := one.Service()
		zones := func(key string) int {
			return two.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: key}).Status
		}
		if got := zones(old); got != 200 {
			t.Fatalf("the service key: %d", got)
		}
		if err := one.App.Identity.Keyring.RenewAPIKey(context.Background(), "secret", 0); err != nil {
			t.Fatal(err)
		}
		within(t, "the old key is refused", func() bool { return zones(old) == 401 })
		if got := zones(one.Service()); got != 200 {
			t.Errorf("the new key: %d", got)
		}
		if err := one.App.Identity.Keyring.RotateKeys(context.Background()); err != nil {
			t.Fatal(err)
		}
		const set = "/auth/v1/.well-known/jwks.json"
		want := string(one.Get("", set).Body)
		within(t, "both nodes show the same keys", func() bool { return string(two.Get("", set).Body) == want })
	})
}
