package app_test

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/testkit"
)

// letterbox is a mail server that keeps what it is given.
type letterbox struct{ got chan *mail.Message }

// received is a mail as its reader sees it.
type received struct{ To, Subject, Text, HTML string }

func newLetterbox(t *testing.T) (*letterbox, string) {
	t.Helper()
	b := &letterbox{got: make(chan *mail.Message, 100)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := smtp.NewServer(b)
	s.Domain = "test"
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return b, "smtp://" + l.Addr().String()
}

func (b *letterbox) NewSession(*smtp.Conn) (smtp.Session, error)      { return b, nil }
func (b *letterbox) Reset()                                           {}
func (b *letterbox) Logout() error                                    { return nil }
func (b *letterbox) Mail(from string, _ *smtp.MailOptions) error      { return nil }
func (b *letterbox) Rcpt(recipient string, _ *smtp.RcptOptions) error { return nil }

func (b *letterbox) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	m.Body = strings.NewReader(string(body))
	b.got <- m
	return err
}

// next waits for the next mail.
func (b *letterbox) next(t *testing.T) received {
	t.Helper()
	var m *mail.Message
	select {
	case m = <-b.got:
	case <-time.After(30 * time.Second):
		t.Fatal("no mail")
	}
	var out received
	var err error
	out.To = strings.Trim(m.Header.Get("To"), "<>")
	if out.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if params["boundary"] == "" {
		text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		out.Text = string(text)
		return out
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		p, err := parts.NextPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		if kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type")); kind == "text/html" {
			out.HTML = string(text)
		} else {
			out.Text = string(text)
		}
	}
}

// Mails speak the reader's language, else the tenant's; a tenant words its own,
// and cannot word them so that they lead elsewhere. By a real mail server.
func TestLetters(t *testing.T) {
	var box *letterbox
	withBox := func(c *config.Config) {
		var address string
		box, address = newLetterbox(t)
		c.SMTPURL, c.Autoconfirm, c.RedirectURLs = address, false, []string{"https://static.example/**"}
	}
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		ok := func(r testkit.Response, status int) testkit.Response {
			t.Helper()
			if r.Status != status {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			return r
		}
		recoverMail := func(email string) received {
			t.Helper()
			ok(k.Post("", "/auth/v1/recover", map[string]any{"email": email}), 200)
			m := box.next(t)
			if m.To != email || !strings.Contains(m.Text, k.URL+"/auth/v1/verify?") {
				t.Errorf("%+v", m)
			}
			return m
		}

		// Our words, in the language of the person.
		ok(k.Post("", "/auth/v1/signup",
			map[string]any{"email": "neu@else.example", "password": "a-good-long-password",
				"data": map[string]any{"locale": "de-AT"}}), 200)
		if m := box.next(t); m.Subject != "Bitte bestätigen Sie Ihre Adresse" || !strings.Contains(m.HTML, `lang="de"`) ||
			!strings.Contains(m.Text, "/verify?") {
			t.Errorf("%+v", m)
		}
		if m := recoverMail(testkit.As(actor.Viewer)); m.Subject != "Choose a new password" {
			t.Errorf("%+v", m)
		}
		// In the language of the tenant.
		setting := map[string]any{"section": "general", "key": "locale", "value": "fr"}
		ok(k.Post(testkit.As(actor.Admin), "/v1/settings", setting), 422)
		setting["value"] = "de"
		ok(k.Post(testkit.As(actor.Admin), "/v1/settings", setting), 201)
		if m := recoverMail(testkit.As(actor.Viewer)); m.Subject != "Neues Passwort wählen" {
			t.Errorf("%+v", m)
		}
		// In the words of the tenant, and nobody else's.
		own := map[string]any{"kind": "recovery", "locale": "de", "subject": "Passwort für {{.Tenant}}",
			"text": "Hier: {{.Link}}{{if .Code}} ({{.Code}}){{end}}",
			"html": `<p>{{.Email}}</p><img src="https://static.example/logo.png"><a href="{{.Link}}">Weiter</a>`}
		ok(k.Post(testkit.As(actor.Manager), "/v1/mail_templates", own), 403)
		evil := map[string]any{"kind": "recovery", "locale": "de", "subject": "x", "text": "{{.Link}}",
			"html": `<a href="https://evil.example/">Weiter</a>{{.Link}}`}
		if r := ok(k.Post(testkit.As(actor.Admin), "/v1/mail_templates", evil), 422); !strings.Contains(string(r.Body),
			"html") {
			t.Errorf("%s", r.Body)
		}
		evil["html"], evil["text"] = nil, "{{.Link}} {{.Secret}}"
		if r := ok(k.Post(testkit.As(actor.Admin), "/v1/mail_templates", evil), 422); !strings.Contains(string(r.Body),
			"unknown placeholder") {
			t.Errorf("%s", r.Body)
		}
		ok(k.Post(testkit.As(actor.Admin), "/v1/mail_templates", own), 201)
		m := recoverMail(testkit.As(actor.Viewer))
		if !strings.HasPrefix(m.Subject, "Passwort für ") || strings.Contains(m.Subject, "{{") {
			t.Errorf("%+v", m)
		}
		if !strings.HasPrefix(m.Text, "Hier: "+k.URL) || !strings.Contains(m.HTML, `href="`+k.URL) ||
			!strings.Contains(m.HTML, "https://static.example/logo.png") {
			t.Errorf("%+v", m)
		}
		if m := recoverMail("admin@south.example"); m.Subject != "Choose a new password" {
			t.Errorf("%+v", m)
		}
		ok(k.Call(testkit.Request{Method: "PATCH", Path: "/v1/mail_templates?kind=eq.recovery", As: testkit.As(actor.Admin),
			Body: map[string]any{"html": "<script>x</script>{{.Link}}"}}), 422)

		// A preview shows what would be sent, or what is being written.
		preview := func(as string, in map[string]any) (out struct{ Subject, Text, HTML string }) {
			t.Helper()
			r := ok(k.Post(as, "/auth/v1/mail-templates/preview", in), 200)
			if err := json.Unmarshal(r.Body, &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		if p := preview(testkit.As(actor.Owner), map[string]any{"kind": "recovery",
			"locale": "de"}); !strings.HasPrefix(p.Text, "Hier: ") ||
			!strings.Contains(p.HTML, "jo@example.com") {
			t.Errorf("%+v", p)
		}
		if p := preview(testkit.As(actor.Owner), map[string]any{"kind": "recovery",
			"locale": "en"}); p.Subject != "Choose a new password" {
			t.Errorf("%+v", p)
		}
		if p := preview(testkit.As(actor.Owner), map[string]any{"kind": "invite", "subject": "Hi",
			"text": "{{.Tenant}}: {{.Link}}"}); p.Subject != "Hi" ||
			p.HTML != "" || !strings.Contains(p.Text, "/auth/v1/verify") {
			t.Errorf("%+v", p)
		}
		for status, in := range map[int]map[string]any{400: {"kind": "spam"},
			422: {"kind": "invite", "subject": "Hi", "text": "no link"}} {
			ok(k.Post(testkit.As(actor.Owner), "/auth/v1/mail-templates/preview", in), status)
		}
		ok(k.Post(testkit.As(actor.Manager), "/auth/v1/mail-templates/preview", map[string]any{"kind": "recovery"}), 403)
		ok(k.Call(testkit.Request{Method: http.MethodPost, Path: "/auth/v1/mail-templates/preview",
			Body: map[string]any{"kind": "recovery"}}), 401)

		// An invitation speaks for the tenant that sends it.
		ok(k.Post(testkit.As(actor.Admin), "/v1/mail_templates",
			map[string]any{"kind": "invite", "locale": "de", "subject": "Komm zu {{.Tenant}}", "text": "{{.Role}}: {{.Link}}"}),
			201)
		ok(k.Post(testkit.As(actor.Admin), "/v1/invitations",
			map[string]any{"email": "gast@else.example", "role": "viewer"}), 201)
		testkit.Must(t, run(k.App, tenants.MailJob))
		if m := box.next(t); m.To != "gast@else.example" || !strings.HasPrefix(m.Subject, "Komm zu ") ||
			!strings.HasPrefix(m.Text, "viewer: "+k.URL) ||
			m.HTML != "" {
			t.Errorf("%+v", m)
		}
	}, withBox)
}

// A tenant's rules for sessions are checked before they are stored, and hold
// at once.
func TestSecuritySettings(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		demand := func(key string, value any) int {
			return k.Post(testkit.As(actor.Admin), "/v1/settings",
				map[string]any{"section": "security", "key": key, "value": value}).Status
		}
		for key, value := range map[string]any{"mfa_required": "sometimes", "session_idle_minutes": 1,
			"session_max_hours": "long", "single_session": "yes"} {
			if got := demand(key, value); got != 422 {
				t.Errorf("%s = %v: %d", key, value, got)
			}
		}
		if r := k.Get(testkit.As(actor.Viewer), "/v1/zones?limit=1"); r.Status != 200 {
			t.Fatal(r.Status)
		}
		all := testkit.Request{Method: "PATCH", Path: "/v1/settings?key=eq.mfa_required", As: testkit.As(actor.Admin),
			Body: map[string]any{"value": "everyone"}}
		if r := k.Call(all); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := k.Get(testkit.As(actor.Viewer), "/v1/zones?limit=1"); r.Status != 403 ||
			!strings.Contains(string(r.Body), "insufficient_aal") {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		if r := k.Post(testkit.As(actor.Admin), "/auth/v1/mail-templates/preview",
			map[string]any{"kind": "recovery"}); r.Status != 403 ||
			!strings.Contains(string(r.Body), "insufficient_aal") {
			t.Errorf("an administrator without the second factor: %d %s", r.Status, r.Body)
		}
		if r := k.Get(testkit.As(actor.Viewer), "/auth/v1/user"); r.Status != 200 {
			t.Errorf("the account itself: %d", r.Status)
		}
	})
}
