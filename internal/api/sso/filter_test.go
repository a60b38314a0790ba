package sso

import "testing"

func TestEquality(t *testing.T) {
	for _, c := range []struct {
		in, attr, value string
		ok              bool
	}{
		{`userName eq "a@b.example"`, "userName", "a@b.example", true},
		{`userName   EQ   "a \"quoted\" b"`, "userName", `a "quoted" b`, true},
		{`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "x"`, "userName", "x", true},
		{`userName eq x`, "", "", false},
		{`userName eq "x" and active eq true`, "", "", false},
		{`userName co "x"`, "", "", false},
		{`userName`, "", "", false},
		{` eq "x"`, "", "", false},
	} {
		attr, value, ok := parseEquality(c.in)
		if ok != c.ok || ok && (attr != c.attr || value != c.value) {
			t.Errorf("%s: %q %q %v", c.in, attr, value, ok)
		}
	}
}

func FuzzEquality(f *testing.F) {
	f.Add(`userName eq "x"`)
	f.Fuzz(func(t *testing.T, in string) {
		if attr, _, ok := parseEquality(in); ok && attr == "" {
			t.Errorf("%q: a comparison of nothing", in)
		}
	})
}
