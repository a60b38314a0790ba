package password

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"holdfast/internal/fault"
)

func TestHasher_roundTrip(t *testing.T) {
	h, ctx := New(8), context.Background()
	hash, err := h.Hash(ctx, "a long enough sentence")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("hash %q, %v", hash, err)
	}
	for pw, want := range map[string]bool{"a long enough sentence": true, "a long enough sentencf": false, "": false} {
		if ok, err := h.Check(ctx, hash, pw); ok != want || err != nil {
			t.Errorf("Check(%q) = %v, %v", pw, ok, err)
		}
	}
	if Stale(hash) {
		t.Error("a fresh hash is stale")
	}
	long := strings.Repeat("a long enough sentence ", 4)
	if hash, err = h.Hash(ctx, long+"one"); err != nil {
		t.Fatal(err)
	}
	if ok, err := h.Check(ctx, hash, long+"two"); ok || err != nil {
		t.Errorf("what follows the 72nd byte does not count: %v, %v", ok, err)
	}
}

func TestHasher_importedHashes(t *testing.T) {
	b, err := bcrypt.GenerateFromPassword([]byte("imported-pw"), 5)
	if err != nil {
		t.Fatal(err)
	}
	h := New(8)
	if ok, _ := h.Check(context.Background(), string(b), "imported-pw"); !ok || !Stale(string(b)) {
		t.Error("a bcrypt hash matches once and is then replaced")
	}
	huge := "$argon2id$v=19$m=4194304,t=2,p=1$c2FsdHNhbHRzYWx0$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	if Importable(huge) == nil {
		t.Error("a hash may not ask for 4 GiB")
	}
	if ok, _ := h.Check(context.Background(), huge, "x"); ok {
		t.Error("an out-of-bounds hash matches")
	}
	if Importable("$2a$20$abcdefghijklmnopqrstuuxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") == nil {
		t.Error("bcrypt cost 20 accepted")
	}
}

// An unknown account must cost what a known one does.
func TestHasher_unknownAccountBurnsAHash(t *testing.T) {
	h, ctx := New(8), context.Background()
	hash, err := h.Hash(ctx, "some password here")
	if err != nil {
		t.Fatal(err)
	}
	burned := func(hash string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := h.Check(ctx, hash, "wrong"); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) >> 20
	}
	// The time would say the same, but not on every machine.
	if known, unknown := burned(hash), burned(""); known != memoryKiB/1024 || unknown != known {
		t.Errorf("unknown %d MiB, known %d", unknown, known)
	}
}

func TestHasher_boundedQueue(t *testing.T) {
	h := New(2)
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 64 {
		wg.Go(func() {
			_, err := h.Hash(context.Background(), "flood flood flood")
			if err == nil {
				return
			}
			f := fault.As(err)
			mu.Lock()
			defer mu.Unlock()
			refused++
			if f.Kind != fault.Unavailable || f.RetryAfter == 0 {
				t.Errorf("refusal %v", f)
			}
		})
	}
	wg.Wait()
	if refused == 0 {
		t.Error("64 hashes at once were all queued")
	}
}

func TestPolicy_Check(t *testing.T) {
	p := Policy{MinLength: 8}
	for _, tt := range []struct{ pw, code, reason string }{
		{"short1!", "weak_password", "length"},
		{"Password", "weak_password", "pwned"},
		{"P@ssw0rd2024!", "weak_password", "pwned"},
		{"12345678", "weak_password", "pwned"},
		{"87654321", "weak_password", "pwned"},
		{"1234567890", "weak_password", "pwned"},
		{"aaaaaaaaaa", "weak_password", "pwned"},
		{"abcabcabcabc", "weak_password", "pwned"},
		{"qwertyuiop", "weak_password", "pwned"},
		{"Sunshine99", "weak_password", "pwned"},
		{"anna.berg@north.example", "weak_password", "pwned"},
		{"anna.berg77", "weak_password", "pwned"},
		{"Anna-Berg!", "weak_password", "pwned"},
		{"bergAnna2026", "weak_password", "pwned"},
		{"4nn4_B3rg", "weak_password", "pwned"},
		{"Berg-2026", "weak_password", "pwned"},
		{"Lindqvist1", "weak_password", "pwned"}, // the person's name, which the address lacks
		{"AnnaLindqvist", "weak_password", "pwned"},
		{"Northwind Hauliers", "weak_password", "pwned"}, // the tenant's
		{"northwind#1", "weak_password", "pwned"},
		{"+15550001111", "weak_password", "pwned"},
		{"Anna saw a Berg", "", ""}, // a name within is no name
		{"iloveyou2", "weak_password", "pwned"},
		{"blink182", "weak_password", "pwned"}, // listed, no stem of ours
		{"Ncc1701d!", "weak_password", "pwned"},
		{strings.Repeat("x1", 37), "validation_failed", ""},
		{"holdfast-demo", "", ""},
		{"eight ch", "", ""},
		{"ünïcödé€", "", ""},
		{"Kx9#vTq2", "", ""},
		{strings.Repeat("long ", 14) + "ab", "", ""},
	} {
		err := p.Check(tt.pw, "anna.berg@north.example", "15550001111", "Anna Lindqvist", "Northwind Hauliers", "Holdfast")
		if tt.code == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.pw, err)
			}
			continue
		}
		f := fault.As(err)
		if f == nil || f.Code != tt.code {
			t.Errorf("%q: %v, want %s", tt.pw, err, tt.code)
			continue
		}
		if tt.reason != "" {
			got := f.Data.(map[string]any)["weak_password"].(map[string]any)["reasons"].([]string)[0]
			if got != tt.reason {
				t.Errorf("%q: reason %s, want %s", tt.pw, got, tt.reason)
			}
		}
	}
}

// What is missing is told at once, and that it is known only of what could be
// taken; classes of characters are asked for only where
// the operator wants it.
func TestPolicy_Reasons(t *testing.T) {
	for _, tt := range []struct {
		requirements, pw string
		want             []string
	}{
		{"", "kx vtq mn", nil},
		{"letters_digits", "kx vtq mn", []string{"characters"}},
		{"letters_digits", "kx vtq m7", nil},
		{"lower_upper_letters_digits", "kx vtq m7", []string{"characters"}},
		{"lower_upper_letters_digits", "Kx vtq m7", nil},
		{"lower_upper_letters_digits_symbols", "Kx vtq m7", []string{"characters"}},
		{"lower_upper_letters_digits_symbols", "Kx-vtq m7", nil},
		{"lower_upper_letters_digits", "kx", []string{"length", "characters"}},
		{"letters_digits", "secret", []string{"length", "characters"}},
		{"", "secret", []string{"length"}},
		{"letters_digits", "secret12", []string{"pwned"}},
	} {
		classes, ok := ClassesOf(tt.requirements)
		if !ok {
			t.Fatalf("%q is unknown", tt.requirements)
		}
		var got []string
		if f := fault.As(Policy{MinLength: 8, Classes: classes}.Check(tt.pw)); f != nil && f.Data != nil {
			got = f.Data.(map[string]any)["weak_password"].(map[string]any)["reasons"].([]string)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: %v, want %v", tt.requirements, tt.pw, got, tt.want)
		}
	}
	if _, ok := ClassesOf("letters"); ok {
		t.Error("an unknown requirement was taken")
	}
}

// The list is sorted, which its look-up needs, holds the top 10,000 of the
// length that is asked for, and every line of it is found.
func TestListed(t *testing.T) {
	lines := strings.Fields(listedText)
	long := 0
	for i, w := range lines {
		if i > 0 && lines[i-1] >= w || w != strings.ToLower(w) || len(w) < 6 || !isListed(w) {
			t.Fatalf("line %d: %q", i+1, w)
		}
		if len(w) >= 8 {
			long++
		}
	}
	if long < 10000 {
		t.Errorf("%d have 8 characters or more", long)
	}
	for _, w := range []string{"", "!", "zzzzzzzzzzzzzzzz", "kx9#vtq2", lines[0][:3], lines[0] + "x",
		lines[len(lines)-1] + "x"} {
		if isListed(w) {
			t.Errorf("%q is no line", w)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=1,t=1,p=1$$")
	f.Add(firebaseSample)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseHash(s)
		if err == nil && (p.memory > maxMemoryKiB || p.passes > maxPasses || p.lanes > maxLanes) {
			t.Errorf("parse accepts %+v", p)
		}
	})
}

// The values are those of Firebase's own sample (github.com/firebase/scrypt).
const firebaseSample = "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$" +
	"C0sHCg9ek77hsg==$" +
	"zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw=="

func TestHasher_firebase(t *testing.T) {
	h := New(10)
	for pw, want := range map[string]bool{"mytestpassword": true, "mytestpassworD": false, "": false} {
		if ok, err := h.Check(t.Context(), firebaseSample, pw); ok != want || err != nil {
			t.Errorf("%q: %v %v", pw, ok, err)
		}
	}
	if err := Importable(firebaseSample); err != nil || !Stale(firebaseSample) {
		t.Error(err)
	}
	for name, change := range map[string][2]string{
		"memory":       {"n=14", "n=31"},
		"no memory":    {"n=14", "n=0"},
		"block size":   {"r=8", "r=1024"},
		"lanes":        {"p=1", "p=16"},
		"version":      {"v=1", "v=2"},
		"salt":         {"C0sHCg9ek77hsg==", "!"},
		"hash":         {"zKVTMvnW", "!"},
		"shorter hash": {"zKVTMvnWVw5BBOZNUdnsalx4", ""},
		"separator":    {"ss=Bw==", "ss=B"},
		"twice":        {"r=8", "r=8,r=8"},
	} {
		if hash := strings.Replace(firebaseSample, change[0], change[1], 1); Importable(hash) == nil {
			t.Errorf("%s: %s accepted", name, hash)
		}
	}
}

// Who leaves while waiting for a slot is let go, with the code of a timeout.
func TestHasher_cancelled(t *testing.T) {
	h := New(1)
	for _, slots := range []chan struct{}{h.slots, h.spare} {
		for len(slots) < cap(slots) {
			slots <- struct{}{}
		}
	}
	ctx, leave := context.WithCancel(context.Background())
	leave()
	if _, err := h.Hash(ctx, "a password"); !fault.HasCode(err, "request_timeout") {
		t.Error(err)
	}
}
