package access

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"holdfast/internal/fault"
)

// A burst is ten attempts for an address, whichever accounts it names, and
// twenty for an account, whichever addresses name it.
func TestAuthAttempts(t *testing.T) {
	d := open()
	for i, c := range []struct {
		address, account string
		pass             int
	}{
		{"192.0.2.1", "ann", 10},
		{"192.0.2.1", "bob", 0},
		{"192.0.2.9", "ann", 10}, // the owner, after a stranger
		{"192.0.2.5", "ann", 0},
		{"192.0.2.7", "bob", 10},
		{"2001:db8::1", "", 10},
		{"2001:db8::2", "", 0}, // the same /64
	} {
		n := 0
		for range 12 {
			if err := d.TakeAuth(httptest.NewRecorder(), Attempt{Address: c.address, Account: c.account}); err == nil {
				n++
			} else if !fault.Is(err, fault.Limited) {
				t.Fatal(err)
			}
		}
		if n != c.pass {
			t.Errorf("%d: %d attempts from %s on %q, want %d", i, n, c.address, c.account, c.pass)
		}
	}
}

// pass makes n attempts and returns how many were not refused.
func (d *door) pass(t *testing.T, n int, a Attempt) (passed int) {
	t.Helper()
	for range n {
		switch err := d.TakeAuth(httptest.NewRecorder(), a); {
		case err == nil:
			passed++
		case !fault.Is(err, fault.Limited):
			t.Fatal(err)
		}
	}
	return passed
}

func yes() bool { return true }

// Strangers empty what they share with the owner: his account's window, his
// address', or that of everybody. He has his own share where he is known, and it
// is no wider than an address'.
func TestStrangersKeepNobodyOut(t *testing.T) {
	owner := Attempt{Address: "192.0.2.1", Account: "ann", Known: yes}
	for name, strangers := range map[string]func(d *door){
		"five addresses on his account": func(d *door) {
			for i := range 5 {
				d.pass(t, 12, Attempt{Address: fmt.Sprintf("198.51.100.%d", i), Account: "ann"})
			}
		},
		"his neighbours on accounts of theirs": func(d *door) {
			d.pass(t, 12,
				Attempt{Address: "192.0.2.1", Account: "bob"})
		},
		"a flood over addresses and accounts": func(d *door) {
			for i := range 120 {
				for n := range 10 {
					d.pass(t, 1, Attempt{Address: fmt.Sprintf("198.51.100.%d", i), Account: fmt.Sprint(i, n)})
				}
			}
		},
	} {
		d := open()
		strangers(d)
		w := httptest.NewRecorder()
		if err := d.TakeAuth(w, owner); err != nil || w.Header().Get("X-RateLimit-Limit") != "60" ||
			w.Header().Get("X-RateLimit-Used") != "1" {
			t.Errorf("%s: %v %v", name, err, w.Header())
		}
		if n := d.pass(t, 20, owner); n != 9 {
			t.Errorf("%s: he has %d more, want 9", name, n)
		}
		if n := d.pass(t, 1, Attempt{Address: owner.Address, Account: "ann"}); n != 0 {
			t.Errorf("%s: passed without being known", name)
		}
	}
}

// Who is known has no more than an address' attempts when nobody is in his way.
func TestKnownHasNoMore(t *testing.T) {
	d := open()
	for name, a := range map[string]Attempt{
		"known":     {Address: "192.0.2.1", Account: "ann", Known: yes},
		"a session": {Address: "192.0.2.2", Account: "user:1", Session: true},
	} {
		if n := d.pass(t, 30, a); n != 10 {
			t.Errorf("%s: %d attempts, want 10", name, n)
		}
	}
	if n := d.pass(t, 20, Attempt{Address: "192.0.2.3", Account: "user:1", Session: true}); n != 10 {
		t.Errorf("the same session from a second address: %d attempts, want what the account has left", n)
	}
	if n := d.pass(t, 20, Attempt{Address: "192.0.2.4", Account: "user:1", Session: true}); n != 0 {
		t.Errorf("and from a third: %d", n)
	}
}

// What the database is asked for has a bound: an address' requests.
func TestKnownIsAskedFor(t *testing.T) {
	d, asked := open(), 0
	for i := range 500 {
		d.pass(t, 1, Attempt{Address: "192.0.2.1", Account: fmt.Sprint(i), Known: func() bool { asked++; return false }})
	}
	if asked != 200 {
		t.Errorf("asked %d times", asked)
	}
	if n := d.pass(t, 1, Attempt{Address: "192.0.2.1", Account: "user:1", Session: true}); n != 1 {
		t.Error("a session, of which nothing is asked, waits for those who are asked about")
	}
}

// Junk from an address, a hundred attempts in a burst, keeps nobody out who is
// known there.
func TestJunkBesideTheKnown(t *testing.T) {
	d := open()
	for i := range 100 {
		d.pass(t, 1, Attempt{Address: "192.0.2.1", Account: fmt.Sprint(i), Known: func() bool { return false }})
	}
	if n := d.pass(t, 1, Attempt{Address: "192.0.2.1", Account: "ann", Known: yes}); n != 1 {
		t.Error("who is known there was refused")
	}
}

// A server that signs many people in is not counted on its address: what it tries
// is, on the account and together with all others.
func TestServerOfMany(t *testing.T) {
	d, server := open(), Attempt{Address: "192.0.2.1", Many: true, Known: yes}
	for name, a := range map[string]Attempt{"ann": {Account: "ann"}, "ann, looked up": {Account: "user:1", Found: true}} {
		a.Address, a.Many, a.Known = server.Address, true, yes
		if n := d.pass(t, 60, a); n != 20 {
			t.Errorf("%s: %d attempts, want the account's 20", name, n)
		}
	}
	passed := 0
	for i := range 1200 {
		a := server
		a.Account = fmt.Sprint(i)
		passed += d.pass(t, 1, a)
	}
	if passed != 980 {
		t.Errorf("%d attempts at many accounts, want what everybody together has left", passed)
	}
	w := httptest.NewRecorder()
	if err := open().TakeAuth(w, server); err != nil || w.Header().Get("X-RateLimit-Used") != "0" ||
		w.Header().Get("X-RateLimit-Remaining") != "60" {
		t.Errorf("%v %v", err, w.Header())
	}
}

// Whoever has a whole site's IPv6 addresses does not use up what everybody
// together has.
func TestSite(t *testing.T) {
	d, passed := open(), 0
	for i := range 256 {
		passed += d.pass(t, 10, Attempt{Address: fmt.Sprintf("2001:db8:0:%x::1", i), Account: fmt.Sprint(i)})
	}
	if passed != 100 {
		t.Errorf("%d attempts from one /56, want 100", passed)
	}
	for name, a := range map[string]Attempt{
		"a stranger elsewhere":       {Address: "2001:db8:1::1", Account: "bob"},
		"who is known there":         {Address: "2001:db8:0:1::1", Account: "ann", Known: yes},
		"a mailed link there":        {Address: "2001:db8:0:ffff::1", Secret: true},
		"an IPv4 address with a map": {Address: "::ffff:192.0.2.1", Account: "cid"},
	} {
		if n := d.pass(t, 1, a); n != 1 {
			t.Errorf("%s was refused", name)
		}
	}
}

// An account that is found by two names has one window, and so have both names.
func TestFoundAccount(t *testing.T) {
	d := open()
	heard := 0
	for i := range 60 {
		address, name := fmt.Sprintf("192.0.2.%d", i), []string{"ann", "phone:1"}[i%2]
		if d.pass(t, 1, Attempt{Address: address, Account: name}) == 1 {
			heard += d.pass(t, 1, Attempt{Address: address, Account: "user:1", Found: true})
		}
	}
	if heard != 20 {
		t.Errorf("%d guesses at one account by its two names, want 20", heard)
	}
	if n := d.pass(t, 1, Attempt{Address: "192.0.2.99", Account: "user:1", Found: true, Known: yes}); n != 1 {
		t.Error("its owner is kept out")
	}
}

// All attempts together have a bound, however many addresses and accounts they
// are spread over; secrets that nobody can guess pass in small numbers even then.
func TestOverall(t *testing.T) {
	d, passed := open(), 0
	for i := range 1200 {
		passed += d.pass(t, 1, Attempt{Address: fmt.Sprintf("2001:db8:%x::1", i), Account: fmt.Sprint(i)})
	}
	if passed != 1000 {
		t.Errorf("%d attempts passed in a burst", passed)
	}
	if n := d.pass(t, 10, Attempt{Address: "192.0.2.2"}); n != 0 {
		t.Errorf("%d attempts that name no account passed", n)
	}
	if n := d.pass(t, 10, Attempt{Address: "192.0.2.1", Secret: true}); n != 2 {
		t.Errorf("%d links and passkeys from one address during a flood, want 2", n)
	}
}

// Who asks for mails uses up nobody's attempts to sign in, nor who guesses the
// mails; five addresses leave an account's owner his, at an address nobody knows.
func TestMailsAskedFor(t *testing.T) {
	d := open()
	for i := range 5 {
		a := Attempt{Address: fmt.Sprintf("198.51.100.%d", i), Account: "ann", Mail: true}
		if n := d.pass(t, 12, a); n != 10 {
			t.Errorf("%d mails asked for, want 10", n)
		}
		a.Mail = false
		if n := d.pass(t, 10, a); n != 10 && i < 2 {
			t.Errorf("%d attempts beside mails, want 10", n)
		}
	}
	if n := d.pass(t, 12, Attempt{Address: "192.0.2.1", Account: "ann", Mail: true}); n != 10 {
		t.Errorf("the owner asked for %d, want 10", n)
	}
	for i := range 20 {
		d.pass(t, 10, Attempt{Address: fmt.Sprintf("203.0.113.%d", i), Account: "ann", Mail: true})
	}
	if n := d.pass(t, 12, Attempt{Address: "192.0.2.2", Account: "ann", Mail: true, Known: yes}); n != 10 {
		t.Errorf("after twenty more, the owner where he is known asked for %d, want 10", n)
	}
	if n := d.pass(t, 1, Attempt{Address: "192.0.2.3", Account: "ann", Mail: true}); n != 0 {
		t.Error("an account's mails have no bound")
	}
}
