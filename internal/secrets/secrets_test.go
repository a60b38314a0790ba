package secrets

import (
	"bytes"
	"strings"
	"testing"
)

func keys(t *testing.T, master string) Keys {
	t.Helper()
	k, err := New([]byte(strings.Repeat(master, MasterSize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// unnamed is a value as versions wrote it that did not name the key.
func unnamed(c Column, sealed []byte) []byte {
	if c.Text() {
		_, rest, _ := bytes.Cut(sealed, []byte(":"))
		return rest
	}
	return sealed[len(mark)+nameSize:]
}

// Every column: what one key sealed for a row opens for that row with that key,
// whether it names the key or not, and after a change with the new one alone.
func TestColumns(t *testing.T) {
	before, after := keys(t, "a"), keys(t, "b")
	seen := map[string]bool{}
	for c := range Columns {
		where := c.Table() + "." + c.Name()
		if seen[where] || c.Table() == "" || c.Name() == "" {
			t.Errorf("column %d is %q", c, where)
		}
		seen[where] = true
		sealed := before.Close(c, []byte("secret"), "row-1")
		for form, value := range map[string][]byte{"named": sealed, "unnamed": unnamed(c, sealed)} {
			opens := func(k Keys, value []byte, id string) bool {
				plain, err := k.Open(c, value, id)
				return err == nil && string(plain) == "secret"
			}
			changed, err := after.Again(before, c, value, "row-1")
			if err != nil {
				t.Fatal(where, form, err)
			}
			again, err := after.Again(before, c, changed, "row-1")
			if err != nil || !bytes.Equal(again, changed) {
				t.Errorf("%s %s: a value was sealed twice: %v", where, form, err)
			}
			altered := bytes.Clone(value)
			altered[len(altered)-5] ^= 1
			for _, x := range []struct {
				what string
				got  bool
				want bool
			}{
				{"its key", opens(before, value, "row-1"), true},
				{"another row", opens(before, value, "row-2"), false},
				{"another key", opens(after, value, "row-1"), false},
				{"an altered value", opens(before, altered, "row-1"), false},
				{"nothing", opens(before, nil, "row-1"), false},
				{"changed, the new key", opens(after, changed, "row-1"), true},
				{"changed, the old key", opens(before, changed, "row-1"), false},
				{"changed, another row", opens(after, changed, "row-2"), false},
			} {
				if x.got != x.want {
					t.Errorf("%s %s, %s: opens %v", where, form, x.what, x.got)
				}
			}
			if _, err := keys(t, "c").Again(before, c, changed, "row-1"); err == nil ||
				!strings.Contains(err.Error(), "sealed with master key") {
				t.Errorf("%s %s: a third key: %v", where, form, err)
			}
		}
	}
}

// An old value whose nonce begins like a named one opens.
func TestNonceLikeAMark(t *testing.T) {
	k := keys(t, "a")
	nonce := append([]byte(mark), "nonce678"...)
	old := k.rings[forIdentity].Seal(bytes.Clone(nonce), nonce, []byte("secret"), []byte("row-1"))
	if got, err := k.Open(FactorSecret, old, "row-1"); err != nil || string(got) != "secret" {
		t.Error(got, err)
	}
}

func TestShortMaster(t *testing.T) {
	if _, err := New([]byte("short")); err == nil {
		t.Error("a master key of 5 bytes was taken")
	}
}

// A keyed UUID has the form of a random one, and the same parts give the same.
func TestUUID(t *testing.T) {
	s := keys(t, "a")
	a := s.UUID("decoy", "a@x.example")
	if a != s.UUID("decoy", "a@x.example") || a == s.UUID("decoy", "b@x.example") || len(a) != 36 || a[14] != '4' {
		t.Error(a)
	}
}
