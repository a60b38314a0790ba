package report

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
)

const north = "0190a000-0000-7000-8000-000000000001"

// A token names its tenant and nothing else can be read out of it.
func TestToken(t *testing.T) {
	one, err := newToken(north)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := newToken(north)
	if got, ok := tenantOf(one); !ok || got != north || one == two || len(one) != 43 {
		t.Errorf("%s and %s: tenant %s", one, two, got)
	}
	for _, bad := range []string{"", "abc", one[:42], one + "A", one + "=", strings.Repeat("A", 44), one[:42] + "!",
		one[:20] + "\n" + one[20:]} {
		if tenant, ok := tenantOf(bad); ok {
			t.Errorf("%q is read as tenant %s", bad, tenant)
		}
	}
	if _, err := newToken("x"); err == nil {
		t.Error("a token for no tenant")
	}
}

func FuzzToken(f *testing.F) {
	f.Add(Token(north, make([]byte, 16)))
	f.Add("abc")
	f.Fuzz(func(t *testing.T, token string) {
		tenant, ok := tenantOf(token)
		if ok && (len(token) != 43 || len(tenant) != 36) {
			t.Errorf("%q: %q", token, tenant)
		}
	})
}

// Every field that is wrong is named, all at once.
func TestCheck(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	p := &Place{Location: berlin}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good := Form{Once: NewOnce(), Kind: "hazard", Severity: "low", What: "Oil on the floor"}
	for _, c := range []struct {
		change func(f *Form)
		fields string
		at     string
	}{
		{func(*Form) {}, "", "2026-03-01T12:00:00Z"},
		{func(f *Form) { f.When = "2026-02-28T23:30" }, "", "2026-02-28T22:30:00Z"},
		{func(f *Form) { f.When = "2026-03-01T13:03" }, "", "2026-03-01T12:00:00Z"}, // a clock that runs ahead
		{func(f *Form) { f.When = "2026-03-01T14:00" }, "when", ""},
		{func(f *Form) { f.When = "2025-01-01T14:00" }, "when", ""},
		{func(f *Form) { f.When = "yesterday" }, "when", ""},
		{func(f *Form) { f.Once = "1" }, "once", ""},
		{func(f *Form) { f.What = " \x00\x01ab " }, "what", ""},
		{func(f *Form) { f.Name = strings.Repeat("ä", 101) }, "name", ""},
		{func(f *Form) { f.Where = strings.Repeat("ä", 200) }, "", ""},
		{func(f *Form) { f.Where = strings.Repeat("ä", 201) }, "where", ""},
		{func(f *Form) { f.Kind = "injury" }, "", ""},
		{func(f *Form) { f.Kind = "security" }, "kind", ""},
		{func(f *Form) { *f = Form{} }, "once kind severity what", ""},
	} {
		f := good
		c.change(&f)
		at, err := f.checkForm(p, now)
		var names []string
		if err != nil {
			for _, x := range fault.As(err).Fields {
				names = append(names, x.Name)
			}
		}
		if got := strings.Join(names, " "); got != c.fields || c.at != "" && at.UTC().Format(time.RFC3339) != c.at {
			t.Errorf("%+v: %q at %v, want %q at %s", f, got, at, c.fields, c.at)
		}
	}
}

// A title is the beginning of what was written, whole words on one line.
func TestTitle(t *testing.T) {
	for in, want := range map[string]string{
		"Oil\n on  the floor": "Oil on the floor", strings.Repeat("word ",
			40): strings.TrimSpace(strings.Repeat("word ", 16)) +
			"…", strings.Repeat("ß", 90): strings.Repeat("ß", 80) + "…",
	} {
		if got := shortTitle(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
