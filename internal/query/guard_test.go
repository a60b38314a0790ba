package query

import "testing"

func TestGuard(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+x": "'+x", "-5 °C": "'-5 °C", "@a": "'@a", "\tx": "'\tx", "\nx": "'\nx", "＝x": "'＝x", "-": "'-",
		"-5": "-5", "+49170": "+49170", "-1.5": "-1.5", "": "", "a=b": "a=b", "'tis": "'tis", "'": "'",
		"'=x": "''=x", "'-5": "''-5", "''=x": "'''=x",
	} {
		if got := Guard(in); got != want {
			t.Errorf("Guard(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"'=1+1": "=1+1", "'-5": "-5", "'+x": "+x", "'@a": "@a", "=1+1": "=1+1",
		"'tis": "'tis", "'": "'", "'＝x": "＝x"} {
		if got := Unguard(in); got != want {
			t.Errorf("Unguard(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzGuard holds that what was guarded reads back as it was, and runs nowhere.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{"=1", "'=1", "''", "'-5", "+1", "＠"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g := Guard(s)
		if back := Unguard(g); back != s {
			t.Fatalf("%q became %q became %q", s, g, back)
		}
		if g != "" && g[0] != '\'' && g[0] != '+' && g[0] != '-' && isFormula(g) {
			t.Fatalf("%q stays %q", s, g)
		}
	})
}
