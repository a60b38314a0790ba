// Package mail sends messages, by SMTP or into a list that a developer reads.
package mail

import (
	"context"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// A Message goes to one recipient. Text is required, HTML may be empty; both
// are UTF-8. Kind says what the message is for (confirmation, recovery,
// invite, ...) and is not sent.
type Message struct {
	To      string
	Subject string
	Text    string
	HTML    string
	Kind    string
}

// A Sender hands a message to the next hop. It fails with fault.Invalid when
// the message cannot be sent, now or later, and with fault.Unavailable when a
// later try may do.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// check refuses what could be read as more than one recipient or as another
// header (RFC 5322 section 2.2: a line break ends a header).
func (m Message) check() error {
	if err := checkAddress(m.To); err != nil {
		return err
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) || !utf8.ValidString(m.Subject) {
		return fault.New(fault.Invalid, "mail_subject", "the subject has a line break or another control character")
	}
	if strings.TrimSpace(m.Text) == "" {
		return fault.New(fault.Invalid, "mail_text", "the message has no text")
	}
	if !utf8.ValidString(m.Text) || !utf8.ValidString(m.HTML) {
		return fault.New(fault.Invalid, "mail_text", "the message is not UTF-8")
	}
	return nil
}

// checkAddress accepts exactly one bare address, no display name and no list.
func checkAddress(s string) error {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		if a, err := mail.ParseAddress(s); err == nil && a.Name == "" && a.Address == s {
			return nil
		}
	}
	return fault.New(fault.Invalid, "mail_address", "not an e-mail address")
}
