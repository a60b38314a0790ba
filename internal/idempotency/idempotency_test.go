package idempotency

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const tenant = "11111111-1111-4111-8111-111111111111"

var made = &Answer{Status: 201, Head: map[string][]string{"Location": {"/zones?id=eq.1"}},
	Body: []byte(`[{"name":"Überlauf"}]`)}

// post is a request that differs from the next where the arguments do.
func post(user, key, body string) Request {
	return Request{Scope: db.Scope{Tenant: tenant}, Caller: user, Route: "POST /v1/zones", Key: key,
		Print: Fingerprint(body)}
}

type bench struct {
	*Keys
	t  *testing.T
	at time.Time
}

func each(t *testing.T, f func(t *testing.T, b *bench)) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		b := &bench{t: t, at: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}
		b.Keys = New(dbtest.Open(t, o), func() time.Time { return b.at })
		f(t, b)
	})
}

// ask claims for a request and says what came of it: "runs", "replay" or the
// kind of refusal.
func (b *bench) ask(r Request) (string, *Claim) {
	b.t.Helper()
	c, old, err := b.Claim(context.Background(), r)
	switch {
	case fault.Is(err, fault.Conflict):
		return "still running", nil
	case fault.Is(err, fault.Unprocessable):
		return "another request", nil
	case err != nil:
		b.t.Fatal(err)
	case old != nil:
		if old.Status != made.Status || old.Head["Location"][0] != made.Head["Location"][0] ||
			string(old.Body) != string(made.Body) {
			b.t.Errorf("replayed %d %v %s", old.Status, old.Head, old.Body)
		}
		return "replay", nil
	}
	b.t.Cleanup(c.stopRenewing)
	return "runs", c
}

func (b *bench) want(what string, r Request) *Claim {
	b.t.Helper()
	got, c := b.ask(r)
	if got != what {
		b.t.Errorf("got %q, want %q", got, what)
	}
	return c
}

// What becomes of a key while its request runs, after it succeeded, after it
// failed, after its node died, and after a day.
func TestLifeOfAKey(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		first := post("anna", "k1", "a")
		c := b.want("runs", first)
		b.want("still running", first)
		b.want("still running", post("anna", "k1", "b"))
		for name, other := range map[string]Request{
			"key": post("anna", "k2", "b"), "user": post("ben", "k1", "b"),
			"path": {Scope: first.Scope, Caller: "anna", Route: "POST /v1/items", Key: "k1", Print: Fingerprint("b")},
			"tenant": {Scope: db.Scope{Tenant: "22222222-2222-4222-8222-222222222222"}, Caller: "anna", Route: first.Route,
				Key: "k1", Print: Fingerprint("b")},
		} {
			if got, _ := b.ask(other); got != "runs" {
				t.Errorf("another %s: %s", name, got)
			}
		}
		c.Settle(context.Background(), made)
		b.want("replay", first)
		b.want("another request", post("anna", "k1", "b"))
		b.at = b.at.Add(KeptFor - time.Second)
		b.want("replay", first)
		b.at = b.at.Add(time.Second)
		b.want("runs", post("anna", "k1", "b")).Release(context.Background())
		b.want("runs", first)
		b.at = b.at.Add(db.DeadAfter)
		b.want("runs", post("anna", "k1", "b")) // the node of the first died
		b.at = b.at.Add(db.DeadAfter)
		b.want("runs", first)
	})
}

// The answer is there if and only if the effect is, and a request whose claim
// was taken over has no effect.
func TestAnswerIsOfTheEffectsTransaction(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		ctx := context.Background()
		write := func(c *Claim, then error) error {
			return b.d.Write(ctx, c.r.Scope, func(tx *db.Tx) error {
				if err := c.Keep(tx, made); err != nil {
					return err
				}
				return then
			})
		}
		undone := b.want("runs", post("anna", "undone", ""))
		if err := write(undone, errors.New("no")); err == nil {
			t.Fatal("the transaction did not fail")
		}
		undone.Release(ctx)
		b.want("runs", post("anna", "undone", ""))

		done := b.want("runs", post("anna", "done", ""))
		if err := write(done, nil); err != nil {
			t.Fatal(err)
		}
		b.want("replay", post("anna", "done", "")) // though nobody settled it
		done.kept = false
		done.Release(ctx) // as after a commit of unknown outcome
		b.want("replay", post("anna", "done", ""))

		late := b.want("runs", post("anna", "late", ""))
		b.at = b.at.Add(db.DeadAfter)
		b.want("runs", post("anna", "late", ""))
		if err := write(late, nil); !fault.Is(err, fault.Conflict) {
			t.Errorf("a request that lost its claim: %v", err)
		}
	})
}

// Only so much is kept, and only so long.
func TestBoundsOfKeys(t *testing.T) {
	for key, ok := range map[string]bool{"k": true, strings.Repeat("k", MaxKey): true,
		strings.Repeat("k", MaxKey+1): false, "a b": false, "ä": false, "\x00": false} {
		if err := CheckKey(key); (err == nil) != ok || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	each(t, func(t *testing.T, b *bench) {
		ctx := context.Background()
		long := &Answer{Status: 200, Body: []byte(strings.Repeat("x", MaxBody+1))}
		b.want("runs", post("anna", "long", "")).Settle(ctx, long)
		b.want("runs", post("anna", "long", "")).Release(ctx)
		// More is swept than one transaction takes, and of the crowd only.
		b.batch = 2
		other := post("anna", "1", "")
		other.Scope.Tenant = "22222222-2222-4222-8222-222222222222"
		b.want("runs", other).Settle(ctx, made)
		keys := []string{"1", "2", "3", "4", "5", "6", "7"}
		for _, key := range keys {
			b.want("runs", post("anna", key, "")).Settle(ctx, made)
			b.at = b.at.Add(time.Minute)
		}
		if err := b.sweepOld(ctx, 2); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys[:5] {
			b.want("runs", post("anna", key, ""))
		}
		b.want("replay", post("anna", "6", ""))
		b.want("replay", post("anna", "7", ""))
		b.want("replay", other)
		b.at = b.at.Add(KeptFor)
		if n, err := b.forgetSome(ctx, "", b.at.Add(-KeptFor)); err != nil || n != 2 {
			t.Errorf("one transaction forgot %d keys, want 2: %v", n, err)
		}
		if err := b.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		left := -1
		err := b.d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One("SELECT count(*) FROM idempotency_keys", nil, func(r *db.Row) error {
				left = int(r.Int(0))
				return nil
			})
		})
		if err != nil || left != 0 {
			t.Errorf("%d keys left after a day: %v", left, err)
		}
	})
}
