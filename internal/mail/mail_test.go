package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
)

// backend is a server that keeps what it is given and refuses what it is told.
type backend struct {
	mu                         sync.Mutex
	got                        []received
	refuse, sender, afterwards error // what it says to RCPT, to MAIL and to the message
	user                       string
}

type received struct {
	from string
	to   []string
	data string
}

func (b *backend) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{b: b}, nil }

type session struct {
	b *backend
	r received
}

func (s *session) Reset()        { s.r = received{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.r.from = from
	return s.b.sender
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.r.to = append(s.r.to, to)
	return s.b.refuse
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.r.data = string(text)
	if s.b.afterwards != nil {
		return s.b.afterwards
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.got = append(s.b.got, s.r)
	return err
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "secret" {
			return errors.New("wrong password")
		}
		s.b.user = user
		return nil
	}), nil
}

// listen starts a server and returns its host and port.
func listen(t *testing.T, b *backend) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := smtp.NewServer(b)
	s.Domain = "test"
	s.AllowInsecureAuth = true
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func sender(t *testing.T, address string) *SMTP {
	t.Helper()
	s, err := NewSMTP(address, "Holdfast <noreply@holdfast.example>")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var letter = Message{
	To:      "anna@north.example",
	Subject: "Confirm Ångström & co",
	Text:    "Open https://holdfast.example/auth/v1/verify?token=abc&type=signup.\nThe code is 123456.",
	HTML:    `<p>Open <a href="https://holdfast.example/auth/v1/verify?token=abc&amp;type=signup">this</a>, see https://holdfast.example/help</p>`,
	Kind:    "confirmation",
}

func TestSMTPDelivers(t *testing.T) {
	var b backend
	if err := sender(t, "smtp://"+listen(t, &b)).Send(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	if len(b.got) != 1 {
		t.Fatalf("%d messages", len(b.got))
	}
	got := b.got[0]
	if got.from != "noreply@holdfast.example" || !cmp.Equal(got.to, []string{letter.To}) {
		t.Errorf("envelope %q %q", got.from, got.to)
	}
	msg, err := mail.ReadMessage(strings.NewReader(got.data))
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	from, _ := msg.Header.AddressList("From")
	if subject != letter.Subject || len(from) != 1 || from[0].Name != "Holdfast" {
		t.Errorf("subject %q, from %v", subject, from)
	}
	if id := msg.Header.Get("Message-ID"); !strings.HasSuffix(id, "@holdfast.example>") {
		t.Errorf("message id %q", id)
	}
	if msg.Header.Get("Auto-Submitted") != "auto-generated" || msg.Header.Get("X-Mailer") != "" ||
		msg.Header.Get("Kind") != "" {
		t.Errorf("headers %v", msg.Header)
	}
	want := []string{"text/plain: " + strings.ReplaceAll(letter.Text, "\n", "\r\n"), "text/html: " + letter.HTML}
	if diff := cmp.Diff(want, parts(t, msg)); diff != "" {
		t.Error(diff)
	}
}

func parts(t *testing.T, msg *mail.Message) (out []string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(msg.Body, params["boundary"])
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, kind+": "+strings.TrimRight(string(body), "\r\n"))
	}
}

func TestSMTPSignsIn(t *testing.T) {
	var b backend
	host := listen(t, &b)
	if err := sender(t, "smtp://robot:secret@"+host).Send(t.Context(), letter); err != nil || b.user != "robot" {
		t.Errorf("user %q: %v", b.user, err)
	}
	err := sender(t, "smtp://robot:wrong@"+host).Send(t.Context(), letter)
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "wrong@") {
		t.Errorf("wrong password: %v", err)
	}
}

func TestSMTPTellsRefusedFromUnreachable(t *testing.T) {
	for name, row := range map[string]struct {
		refuse error
		want   fault.Kind
		code   string
	}{
		"no such user": {&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"},
			fault.Invalid, "mail_address"},
		"greylisted": {&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "later"},
			fault.Unavailable, "mail_unavailable"},
		"quota spent": {&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 4, 5}, Message: "tomorrow"},
			fault.Invalid, "mail_refused"},
	} {
		t.Run(name, func(t *testing.T) {
			b := backend{refuse: row.refuse}
			err := sender(t, "smtp://"+listen(t, &b)).Send(t.Context(), letter)
			if !fault.Is(err, row.want) || !fault.HasCode(err, row.code) {
				t.Errorf("kind %v: %v", fault.As(err).Kind, err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if err := sender(t, "smtp://"+l.Addr().String()).Send(t.Context(), letter); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
	})
	t.Run("silent server", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := sender(t, "smtp://"+l.Addr().String()).Send(ctx, letter); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
	})
}

// Only what a server says of a recipient, and of nothing else, ends the tries.
func TestHopeless(t *testing.T) {
	no := func(code, subject, detail int) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, subject, detail}, Message: "no"}
	}
	for _, row := range []struct {
		name string
		b    *backend
		want bool
	}{
		{"no such mailbox", &backend{refuse: no(550, 1, 1)}, true},
		{"no such host", &backend{refuse: no(550, 1, 2)}, true},
		{"bad syntax", &backend{refuse: no(553, 1, 3)}, true},
		{"moved", &backend{refuse: no(551, 1, 6)}, true},
		{"a host that takes no mail", &backend{refuse: no(556, 1, 10)}, true},
		{"a sender's bad syntax", &backend{refuse: no(553, 1, 7)}, false},
		{"a blocked sender", &backend{refuse: no(550, 1, 8)}, false},
		{"a provider's spent quota", &backend{refuse: no(550, 1, 90)}, false},
		{"policy", &backend{refuse: no(550, 7, 1)}, false},
		{"not now", &backend{refuse: no(450, 1, 1)}, false},
		{"no such sender", &backend{sender: no(550, 1, 1)}, false},
		{"a sender's domain", &backend{sender: no(550, 1, 8)}, false},
		{"refused when it was read", &backend{afterwards: no(550, 1, 1)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := sender(t, "smtp://"+listen(t, row.b)).Send(t.Context(), letter)
			if err == nil || Hopeless(err) != row.want || fault.HasCode(err, "mail_address") != row.want {
				t.Errorf("%v (%s), want hopeless = %v", err, fault.As(err).Code, row.want)
			}
		})
	}
	for _, m := range injections() {
		if err := new(Sink).Send(t.Context(), m); !Hopeless(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%q %q would be tried again: %v", m.To, m.Subject, err)
		}
	}
	if Hopeless(nil) || Hopeless(context.DeadlineExceeded) {
		t.Error("what is not a refusal is hopeless")
	}
}

func TestNewSMTPRefuses(t *testing.T) {
	for _, address := range []string{
		"", "mail.example", "http://mail.example", "smtp://", "smtp://mail.example:0", "smtp://mail.example:70000",
		"smtp://mail.example/path", "smtp://user:secret@mail.example:25?tls=off", "smtp://us%zzer:secret@mail.example",
	} {
		_, err := NewSMTP(address, "a@b.example")
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := NewSMTP("smtp://127.0.0.1:1025", "nobody"); err == nil {
		t.Error("a sender without @ was accepted")
	}
	for _, address := range []string{"smtps://u:p@mail.example", "smtp://u:p@mail.example:2525",
		"smtp://catcher:1025?tls=off", "smtp://[::1]:1025"} {
		if _, err := NewSMTP(address, "a@b.example"); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A server without STARTTLS gets neither message nor password, unless it is on
// this machine or the address says that it may.
func TestClearTextIsNotFallenBackTo(t *testing.T) {
	var b backend
	_, port, _ := net.SplitHostPort(listen(t, &b))
	s, err := NewSMTP("smtp://u:secret@localhost.:"+port, "a@b.example") // the dot makes it no known loopback name
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), letter); err == nil || len(b.got) != 0 || b.user != "" {
		t.Errorf("sent in the clear: %v", err)
	}
}

func injections() []Message {
	var out []Message
	for _, to := range []string{
		"", "nobody", "a@b.example, c@d.example", "a@b.example\r\nBcc: c@d.example", "a@b.example\nBcc: c@d.example",
		"Anna <a@b.example>", "<a@b.example>", "a@b.example\x00", "a@b.example ", "\"x\r\nBcc: c\"@b.example",
	} {
		out = append(out, Message{To: to, Subject: "s", Text: "t"})
	}
	for _, subject := range []string{"a\r\nBcc: c@d.example", "a\nb", "a\rb", "a\x00b", "\xff"} {
		out = append(out, Message{To: "a@b.example", Subject: subject, Text: "t"})
	}
	return append(out, Message{To: "a@b.example", Text: " \n"}, Message{To: "a@b.example", Text: "\xff"})
}

func TestHeaderInjectionIsRefused(t *testing.T) {
	var b backend
	var sink Sink
	server := sender(t, "smtp://"+listen(t, &b))
	for _, m := range injections() {
		for _, s := range []Sender{server, &sink} {
			if err := s.Send(t.Context(), m); !fault.Is(err, fault.Invalid) {
				t.Errorf("%T took %q %q: %v", s, m.To, m.Subject, err)
			}
		}
	}
	if len(b.got) != 0 || len(sink.List("")) != 0 {
		t.Errorf("%d sent, %d kept", len(b.got), len(sink.List("")))
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("a@b.example", "subject", "text")
	for _, m := range injections() {
		f.Add(m.To, m.Subject, m.Text)
	}
	s, err := NewSMTP("smtp://127.0.0.1:1", "a@b.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, to, subject, text string) {
		m := Message{To: to, Subject: subject, Text: text}
		if m.checkHeaders() != nil {
			return
		}
		msg, err := s.composeMessage(m)
		if err != nil {
			return
		}
		var out strings.Builder
		if _, err := msg.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		got, err := mail.ReadMessage(strings.NewReader(out.String()))
		if err != nil {
			t.Fatalf("%q: %v", out.String(), err)
		}
		list, err := got.Header.AddressList("To")
		if err != nil || len(list) != 1 || got.Header.Get("Bcc") != "" || got.Header.Get("Cc") != "" {
			t.Fatalf("to %q became %v (%v) in %q", to, list, err, out.String())
		}
	})
}

func TestSinkKeepsTheLast(t *testing.T) {
	var s Sink
	for i := range kept + 5 {
		if err := s.Send(t.Context(), Message{To: "a@b.example", Subject: fmt.Sprint(i), Text: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	list := s.List("")
	if len(list) != kept || list[0].Subject != letter.Subject || list[kept-1].Subject != "6" {
		t.Errorf("%d kept, first %q, last %q", len(list), list[0].Subject, list[kept-1].Subject)
	}
	want := []string{"https://holdfast.example/auth/v1/verify?token=abc&type=signup", "https://holdfast.example/help"}
	if diff := cmp.Diff(want, list[0].Links); diff != "" {
		t.Error(diff)
	}
	if got := s.List("ANNA@north.example"); len(got) != 1 || got[0].Kind != "confirmation" {
		t.Errorf("to anna: %v", got)
	}
	if one := list[0]; one.HTML != letter.HTML {
		t.Errorf("%v", one)
	}
	if list := new(Sink).List(""); list == nil || len(list) != 0 {
		t.Errorf("%v", list)
	}
}
