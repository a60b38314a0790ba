package accounts

import (
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		" Anna@North.Example ":                 "anna@north.example",
		"ａｎｎａ@north.example":                   "anna@north.example", // NFKC
		"a+b@x.example":                        "a+b@x.example",
		"root@localhost":                       "root@localhost",
		"jürgen@bücher.example":                "jürgen@bücher.example",
		"":                                     "",
		"a":                                    "",
		"@x.example":                           "",
		"a@":                                   "",
		"a@b@c.example":                        "",
		"a b@x.example":                        "",
		"a\r\nBcc: c@x.example@x.example":      "",
		"<a@x.example>":                        "",
		"a@-x.example":                         "",
		"a@x..example":                         "",
		".a@x.example":                         "",
		"a..b@x.example":                       "",
		"a@x_y.example":                        "",
		"a\u200b@x.example":                    "",
		"Anna@bücher。example":                  "anna@bücher.example", // an ideographic full stop is a dot
		"anna@XN--BCHER-KVA.example":           "anna@bücher.example",
		strings.Repeat("a", 65) + "@x.example": "",
	} {
		got, err := Canonical(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Canonical(%q) = %q, %v", in, got, err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add("Anna@North.Example")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Canonical(in)
		if err != nil {
			return
		}
		if again, err := Canonical(got); err != nil || again != got {
			t.Errorf("%q -> %q -> %q, %v", in, got, again, err)
		}
		if strings.ContainsAny(got, "\r\n<>\x00 ,;") || strings.Count(got, "@") != 1 {
			t.Errorf("%q", got)
		}
	})
}

func TestCanonicalID(t *testing.T) {
	const id = "0192f0c0-1111-7000-8000-0000000000aa"
	for in, ok := range map[string]bool{
		id: true, strings.ToUpper(id): true, "{" + id + "}": false, "urn:uuid:" + id: false,
		strings.ReplaceAll(id, "-", ""): false, " " + id: false, id + " ": false,
		"": false, id[:35]: false, "0192f0c0-1111-7000-8000-0000000000ag": false,
		"0192f0c01-111-7000-8000-0000000000aa": false,
	} {
		got, good := CanonicalID(in)
		if good != ok || good && got != id {
			t.Errorf("canonicalID(%q) = %q, %v", in, got, good)
		}
	}
}

func TestTokenCache_bounded(t *testing.T) {
	c := NewTokenCache()
	for i := range cacheRoom * 2 {
		c.Put(tokenHash{byte(i), byte(i >> 8), byte(i >> 16)}, &Verified{User: "u"})
	}
	if n := len(c.young) + len(c.old); n > cacheRoom {
		t.Errorf("%d tokens kept", n)
	}
	v := &Verified{User: "u"}
	v.Standing.Store(&Standing{})
	c.Put(tokenHash{1}, v)
	gen := c.Gen.Load()
	c.drop(func(v *Verified) bool { return v.User == "u" })
	if v.Standing.Load() != nil || c.Gen.Load() == gen {
		t.Error("nothing was dropped")
	}
}

// What a new address may look like beside what is an address at all.
func TestLegible(t *testing.T) {
	for email, ok := range map[string]bool{
		"anna@x.example": true, "jürgen.o'neil+1@x.example": true, "анна@x.example": true, "山田taro@x.example": true,
		"たろう山田@x.example":     true,
		"\u0430nna@x.example": false, "ορ.admin@x.example": false, "anna\u3164@x.example": false,
		"an\ufe0fna@x.example": false, "a\u034fb@x.example": false,
	} {
		if got := Legible(email) == nil; got != ok {
			t.Errorf("legible(%q) = %v", email, got)
		}
	}
}

func TestSameSpelling(t *testing.T) {
	for given, same := range map[string]bool{"Anna@North.Example": true, "anna@north.example": true,
		"ａnna@north.example": false, " anna@north.example": false} {
		if got := SameSpelling(given, "anna@north.example"); got != same {
			t.Errorf("sameSpelling(%q) = %v", given, got)
		}
	}
}
