package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"holdfast/internal/fault"
)

// sendTimeout bounds dialling, and each wait for the server after it.
const sendTimeout = 30 * time.Second

// SMTP delivers to one server, with one connection for each message.
type SMTP struct {
	client *gomail.Client
	from   *mail.Address
}

// NewSMTP reads a server's address:
//
//	smtps://user:password@host[:465]   TLS from the first byte
//	smtp://user:password@host[:587]    STARTTLS, refused when the server has none
//	smtp://127.0.0.1:1025              a loopback host is spoken to in the clear
//	smtp://host:1025?tls=off           so is one that says so, without a password
//
// from is the sender, as address or Name <address>. Nothing is sent and no
// connection is made.
func NewSMTP(address, from string) (*SMTP, error) {
	sender, err := mail.ParseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("mail: the sender %q is not an address: %w", from, err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("mail: the server's address is no URL") // which may hold a password
	}
	options, err := dialOptions(u)
	if err != nil {
		return nil, err
	}
	client, err := gomail.NewClient(u.Hostname(), options...)
	if err != nil {
		return nil, fmt.Errorf("mail: %s://%s: %w", u.Scheme, u.Host, err)
	}
	return &SMTP{client: client, from: sender}, nil
}

func dialOptions(u *url.URL) ([]gomail.Option, error) {
	if u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("mail: the server's address is smtp://host:port or smtps://host:port")
	}
	options := []gomail.Option{gomail.WithTimeout(sendTimeout), gomail.WithoutNoop()}
	clear := isLoopback(u.Hostname()) || u.Query().Get("tls") == "off"
	auth, port := gomail.SMTPAuthAutoDiscover, 587
	switch {
	case u.Scheme == "smtps":
		port = 465
		options = append(options, gomail.WithSSL())
	case u.Scheme != "smtp":
		return nil, fmt.Errorf("mail: %q is not smtp or smtps", u.Scheme)
	case clear:
		auth = gomail.SMTPAuthPlainNoEnc
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("mail: %q is no port", p)
		}
		port = int(n)
	}
	options = append(options, gomail.WithPort(port))
	if u.User == nil {
		return options, nil
	}
	if auth == gomail.SMTPAuthPlainNoEnc && !isLoopback(u.Hostname()) {
		return nil, errors.New("mail: a password is not sent in the clear: leave out tls=off or the password")
	}
	password, _ := u.User.Password()
	return append(options, gomail.WithSMTPAuth(auth),
		gomail.WithUsername(u.User.Username()), gomail.WithPassword(password)), nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Send delivers m and returns when the server has taken it. When ctx ends
// before, whether it was delivered is not known.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	if err := m.checkHeaders(); err != nil {
		return err
	}
	msg, err := s.composeMessage(m)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "mail_message", "the message cannot be written")
	}
	// The library heeds the context while it dials, then only its own timeout:
	// the caller does not wait for that.
	sent := make(chan error, 1)
	go func() { sent <- s.client.DialAndSendWithContext(ctx, msg) }()
	select {
	case err := <-sent:
		return classifyRefusal(err)
	case <-ctx.Done():
		return classifyRefusal(ctx.Err())
	}
}

func (s *SMTP) composeMessage(m Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(m.Subject)
	msg.SetDate()
	_, domain, _ := strings.Cut(s.from.Address, "@")
	msg.SetMessageIDWithValue(rand.Text() + "@" + domain) // not this machine's name
	msg.SetGenHeader("Auto-Submitted", "auto-generated")  // RFC 3834 section 5: no vacation replies
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg, nil
}

// noSuchAddress are the codes that say so of a recipient: no such mailbox or
// host, bad syntax, moved (RFC 3463 section 3.2), a host that takes no mail (RFC
// 7505 section 4.2). Others of 5.1 are about the sender, and providers make up
// their own for quotas.
var noSuchAddress = [...]string{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}

// classifyRefusal tells a refusal for good (RFC 5321 section 4.2.1, 5yz) from one that
// may pass.
func classifyRefusal(err error) error {
	if err == nil {
		return nil
	}
	var send *gomail.SendError
	if errors.As(err, &send) && !send.IsTemp() && send.ErrorCode() >= 500 {
		if send.Reason == gomail.ErrSMTPRcptTo && slices.Contains(noSuchAddress[:], send.EnhancedStatusCode()) {
			return fault.Wrap(err, fault.Invalid, "mail_address", "the mail server knows no such address")
		}
		return fault.Wrap(err, fault.Invalid, "mail_refused", "the mail server refused the message")
	}
	return fault.Wrap(err, fault.Unavailable, "mail_unavailable", "the mail server cannot be reached")
}
