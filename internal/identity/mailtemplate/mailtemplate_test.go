package mailtemplate

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
)

func TestLetter_Message(t *testing.T) {
	valid := map[string]string{"en": "10 minutes", "de": "10 Minuten"}
	for _, locale := range Locales() {
		subjects := map[string]Kind{}
		for _, k := range Kinds() {
			m, err := Letter{Kind: k, Locale: locale, To: "a@x.example", Site: "https://site.example",
				Link: "https://site.example/v?a=1&b=2",
				Code: "123456", Valid: 10 * time.Minute,
				Tenant: "<b>North</b>", Role: "viewer", Other: "b@x.example"}.Message()
			if err != nil {
				t.Fatal(err)
			}
			if m.Subject == "" || m.To != "a@x.example" || m.Kind != string(k) || strings.ContainsAny(m.Subject, "\r\n") {
				t.Errorf("%s: %+v", k, m)
			}
			if !strings.Contains(m.Text, "https://site.example/v?a=1&b=2") || !strings.Contains(m.Text, "Code: 123456") ||
				!strings.Contains(m.Text, valid[locale]) {
				t.Errorf("%s: text\n%s", k, m.Text)
			}
			if !strings.Contains(m.HTML, `href="https://site.example/v?a=1&amp;b=2"`) || strings.Contains(m.HTML, "<b>North") ||
				!strings.Contains(m.HTML, `<html lang="`+locale+`"`) {
				t.Errorf("%s: html\n%s", k, m.HTML)
			}
			if other := subjects[m.Subject]; other != "" && k != TenantInvite {
				t.Errorf("%s and %s have one subject: %s", k, other, m.Subject)
			}
			subjects[m.Subject] = k
		}
	}
}

// The two languages never share a word of prose, so a forgotten translation
// shows.
func TestLanguages(t *testing.T) {
	for _, k := range Kinds() {
		en, de := englishWording(Sample(k, "en")), germanWording(Sample(k, "de"))
		if en.Subject == de.Subject || en.Lead == de.Lead || en.Tail == de.Tail || (en.Action == "") != (de.Action == "") ||
			en.Action != "" &&
				en.Action == de.Action {
			t.Errorf("%s: %+v, %+v", k, en, de)
		}
		if got := englishWording(Letter{Kind: k}).Subject; strings.HasPrefix(got, "Message from") {
			t.Errorf("%s has no words", k)
		}
	}
	for _, c := range changes() {
		said := map[string]string{}
		for _, locale := range Locales() {
			m, err := Letter{Kind: ProtectionChanged, Locale: locale, Change: c, Other: "X"}.Message()
			if err != nil {
				t.Fatal(err)
			}
			own, err := Template{Subject: "s", Text: "{{.Other}}"}.Message(Letter{Kind: ProtectionChanged, Locale: locale,
				Change: c, Other: "X"})
			if err != nil {
				t.Fatal(err)
			}
			if len(own.Text) < 10 || !strings.Contains(m.Text, ": "+own.Text+".") {
				t.Errorf("%s in %s: %q, in a tenant's words %q", c, locale, m.Text, own.Text)
			}
			if said[own.Text] != "" {
				t.Errorf("%s is %q in %s and %s", c, own.Text, locale, said[own.Text])
			}
			said[own.Text] = locale
		}
	}
	for _, kind := range []WayKind{ByPasskey, ByApp, ByKey, ByPhone, ByProvider} {
		for _, name := range []string{"", "Mine"} {
			list := []Way{{kind, name}}
			en, de := englishWays(list), germanWays(list)
			if en == de || len(en) < 5+len(name) || len(de) < 5+len(name) || !strings.Contains(en, name) ||
				strings.Contains(en, string(ByApp)) {
				t.Errorf("%s %q: %q, %q", kind, name, en, de)
			}
			own, err := Template{Subject: "s", Text: "{{.Other}}"}.Message(Letter{Kind: PasswordChanged, Locale: "de",
				Ways: list})
			if err != nil || strings.TrimSpace(own.Text) != de {
				t.Errorf("in a tenant's words %q: %v", own.Text, err)
			}
		}
	}
	for tag, want := range map[string]string{"de": "de", "de-AT": "de", "DE_ch": "de", " en-GB": "en", "fr": "", "": "",
		"deutsch": ""} {
		if got := LocaleOf(tag); got != want {
			t.Errorf("%q: %q", tag, got)
		}
	}
}

func allowed(u string) bool { return strings.HasPrefix(u, "https://ok.example/") }

// What a tenant may write, and what is refused, by the field that is named.
func TestTemplate_Check(t *testing.T) {
	ok := Template{Subject: "Hello", Text: "Go to {{.Link}}"}
	for _, c := range []struct {
		name, field string
		kind        Kind
		change      func(*Template)
	}{
		{"text alone", "", Confirmation, func(t *Template) {}},
		{"every placeholder", "", Invite, func(t *Template) {
			t.Text = "{{.Link}} {{.Code}} {{.Minutes}} {{.Tenant}} {{.Role}} {{.Other}} {{.Site}} {{.Email}}"
		}},
		{"conditions", "", Confirmation, func(t *Template) { t.Text = "{{if .Code}}{{.Code}}{{else}}{{.Link}}{{end}}" }},
		{"a link and a picture", "", Confirmation, func(t *Template) {
			t.HTML = `<h1 style="color:red">Hi</h1><a href="{{.Link}}">go</a><img src="https://ok.example/logo.png" alt="us">`
		}},
		{"a notice needs nothing", "", PasswordChanged, func(t *Template) { t.Text = "It was changed." }},
		{"a code for a reauthentication", "", Reauthentication, func(t *Template) { t.Text = "{{.Code}}" }},

		{"a warning of the tenant itself", "kind", SSODomain, func(t *Template) { t.Text = "{{.Code}}" }},
		{"no subject", "subject", Confirmation, func(t *Template) { t.Subject = " " }},
		{"a header in the subject", "subject", Confirmation, func(t *Template) { t.Subject = "a\nBcc: b@x.example" }},
		{"no text", "text", Confirmation, func(t *Template) { t.Text = "" }},
		{"nothing to follow", "text", Confirmation, func(t *Template) { t.Text = "Hello" }},
		{"nothing to type", "text", Reauthentication, func(t *Template) { t.Text = "{{.Link}}" }},
		{"nothing to follow in HTML", "html", Recovery, func(t *Template) { t.HTML = "<p>Hi</p>" }},
		{"an unknown placeholder", "text", Confirmation, func(t *Template) { t.Text = "{{.Link}} {{.Password}}" }},
		{"a placeholder of a placeholder", "text", Confirmation, func(t *Template) { t.Text = "{{.Link.Host}}" }},
		{"a loop", "text", Confirmation, func(t *Template) { t.Text = "{{.Link}}{{range 1000000000}}x{{end}}" }},
		{"a function", "text", Confirmation, func(t *Template) { t.Text = `{{.Link}}{{printf "%1000000000d" 1}}` }},
		{"a pipe", "html", Confirmation, func(t *Template) { t.HTML = `<a href="{{.Link | html}}">x</a>` }},
		{"a variable", "text", Confirmation, func(t *Template) { t.Text = "{{$x := .Link}}{{$x}}" }},
		{"a definition", "text", Confirmation, func(t *Template) { t.Text = `{{.Link}}{{define "x"}}{{template "x"}}{{end}}` }},
		{"a call", "text", Confirmation, func(t *Template) { t.Text = `{{.Link}}{{template "text"}}` }},
		{"no end", "text", Confirmation, func(t *Template) { t.Text = "{{.Link}}{{if .Code}}" }},
		{"another address in the text", "text", Confirmation,
			func(t *Template) { t.Text = "{{.Link}} https://evil.example/" }},
		{"another address in the subject", "subject", Confirmation, func(t *Template) { t.Subject = "see www.evil.example" }},
		{"an address grown from ours", "text", Confirmation,
			func(t *Template) { t.Text = "{{.Link}} {{.Site}}.evil.example/" }},
		{"another address behind a condition", "text", Confirmation,
			func(t *Template) { t.Text = "{{if .Code}}{{.Link}}{{else}}https://evil.example/{{end}}" }},
		{"an address in two conditions", "html", Confirmation, func(t *Template) {
			t.HTML = `<a href="{{if .Code}}{{.Link}}{{else}}{{if .Role}}{{.Site}}{{else}}https://evil.example{{end}}{{end}}">x</a>`
		}},
		{"another link", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<a href="https://evil.example/">x</a>` }},
		{"a link without a scheme", "html", Confirmation,
			func(t *Template) { t.HTML = `{{.Link}}<a href="//evil.example/">x</a>` }},
		{"a link that runs", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<a href="javascript:alert(1)">x</a>` }},
		{"a link hidden in entities", "html", Confirmation,
			func(t *Template) { t.HTML = `{{.Link}}<a href="&#104;ttps://evil.example/">x</a>` }},
		{"a script", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<script>x()</script>` }},
		{"a handler", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<p onclick="x()">x</p>` }},
		{"a form", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<form action="{{.Link}}"><input name="password"></form>` }},
		{"a base", "html", Confirmation, func(t *Template) { t.HTML = `<base href="https://evil.example/"><a href="{{.Link}}">x</a>` }},
		{"a refresh", "html", Confirmation, func(t *Template) {
			t.HTML = `{{.Link}}<meta http-equiv="refresh" content="0;url=https://evil.example/">`
		}},
		{"a picture by style", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<p style="background:url(https://evil.example/)">x</p>` }},
		{"a style escaped", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<p style="background:\75rl(https://evil.example/)">x</p>` }},
		{"a frame", "html", Confirmation, func(t *Template) { t.HTML = `{{.Link}}<iframe src="{{.Link}}"></iframe>` }},
	} {
		tpl := ok
		c.change(&tpl)
		err := tpl.Check(c.kind, allowed)
		f := fault.As(err)
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.field != "" && (f == nil || f.Kind != fault.Unprocessable || len(f.Fields) != 1 ||
			f.Fields[0].Name != c.field):
			t.Errorf("%s: %v, want a refusal of %s", c.name, err, c.field)
		}
	}
}

// What placeholders hold is text, wherever it comes from.
func TestTemplate_Message(t *testing.T) {
	tpl := Template{Subject: "{{.Tenant}}", Text: "{{.Link}} {{.Other}}",
		HTML: `<p title="{{.Other}}">{{.Tenant}}</p><a href="{{.Link}}">go</a>`}
	m, err := tpl.Message(Letter{Kind: Invite, To: "a@x.example", Link: `javascript:alert(1)`,
		Tenant: "<script>x</script>\r\nBcc: b@x.example",
		Other:  `"><script>`})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(m.HTML, "<script") || strings.Contains(m.HTML, "javascript:") ||
		strings.ContainsAny(m.Subject, "\r\n") {
		t.Errorf("%q\n%s", m.Subject, m.HTML)
	}
	if m.Text != `javascript:alert(1) "><script>` || m.To != "a@x.example" || m.Kind != "invite" {
		t.Errorf("%+v", m)
	}
}

// Whatever is accepted renders, whatever the letter, and only with our links.
func FuzzTemplate(f *testing.F) {
	f.Add("Hi", "{{.Link}}", `<a href="{{.Link}}" style="color:red">{{if .Code}}x{{end}}</a>`)
	f.Add("{{.Tenant}}", "{{if .Code}}{{.Link}}{{end}}", `<p title='{{.Other}}'><!-- x --></p>{{.Link}}`)
	f.Fuzz(func(t *testing.T, subject, text, html string) {
		if len(subject)+len(text)+len(html) > 2000 {
			return
		}
		tpl := Template{subject, text, html}
		if tpl.Check(Confirmation, allowed) != nil {
			return
		}
		for _, l := range []Letter{{}, Sample(Confirmation, "en"),
			{Other: `"><script src=//evil.example>`, Tenant: "'", Link: "https://site.example/x"}} {
			m, err := tpl.Message(l)
			if err != nil {
				t.Fatal(err)
			}
			if low := strings.ToLower(m.HTML); strings.Contains(low, "<script") || strings.Contains(low, "javascript:") {
				t.Errorf("%q", m.HTML)
			}
		}
	})
}

// changes lists every change.
func changes() []Change {
	return []Change{FactorAdded, FactorRemoved, CodesMade, CodeTried, PasskeyAdded, PasskeyRemoved, Linked, Unlinked,
		OwnershipGiven, OwnershipTaken}
}
