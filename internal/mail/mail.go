// Package mail sends messages, by SMTP or into a list that a developer reads.
//
// Layer: adapters. Begin at [Sender].
package mail

import (
	"context"
	"net/mail"
	"slices"
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
// the message was refused and with fault.Unavailable when nobody has judged it.
// Either may pass: Hopeless tells what does not.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Hopeless reports an error of Send that no later try changes: the message
// cannot be written, or nobody has such an address. What else a server refuses
// for good (mail_refused) may be its own state, as a spent quota or a blocked
// sender.
func Hopeless(err error) bool {
	return err != nil && slices.Contains([]string{"mail_address", "mail_subject", "mail_text", "mail_message"},
		fault.As(err).Code)
}

// checkHeaders refuses what could be read as more than one recipient or as another
// header (RFC 5322 section 2.2: a line break ends a header).
func (m Message) checkHeaders() error {
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
