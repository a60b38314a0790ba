package codes

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/mailqueue"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/mail"
)

// Mailer hands a message on.
type Mailer interface {
	Send(ctx context.Context, m mail.Message) error
}

// Post words mails, sends them, and says how often one may be asked for.
type Post struct {
	*accounts.Base
	Links  *accounts.Links
	Mailer Mailer
	Outbox *mailqueue.Queue
	Recent *mailqueue.Recent
}

// Send queues one letter.
func (s *Post) Send(l mailtemplate.Letter) error {
	return s.Outbox.Add(func(ctx context.Context) error { return s.Deliver(ctx, l) })
}

// Deliver words a letter and hands it on; what letters of accounts say is sent
// off the request path, or its time would tell who has one.
func (s *Post) Deliver(ctx context.Context, l mailtemplate.Letter) error {
	m, err := s.wordMail(ctx, l)
	if err != nil {
		return err
	}
	if err := s.Mailer.Send(ctx, m); err != nil {
		return fmt.Errorf("identity: send %s: %w", l.Kind, err)
	}
	return nil
}

// Alert tells the owner of an account, after the commit, that what protects it
// was changed.
func (s *Post) Alert(tx *db.Tx, u *accounts.User, what mailtemplate.Change, about string) {
	if u.Email == "" || u.EmailConfirmedAt.IsZero() {
		return
	}
	l := mailtemplate.Letter{Kind: mailtemplate.ProtectionChanged, User: u.ID, To: u.Email, Change: what, Other: about}
	tx.After(func() { s.Links.Ours(s.Send(l)) })
}

// throttle refuses a second mail of one purpose to one address within the
// mail interval.
func (s *Post) throttle(purpose, email string) error {
	left := s.Recent.Wait(purpose+"|"+email, s.Now(), s.Config.MailInterval)
	if left <= 0 {
		return nil
	}
	return TooSoon(left, 1)
}

// TooSoon refuses what comes before the time that is left, where most may come.
func TooSoon(left time.Duration, most int) error {
	f := fault.New(fault.Limited, "over_email_send_rate_limit",
		"For security purposes, you can only request this after %d seconds.", fault.WaitSeconds(left))
	f.RetryAfter = left
	access.Explain(f, most, time.Now().Add(left))
	return f
}

// ThrottleTx is throttle within a transaction. What is undone has sent nothing
// and counts for nothing: it may be about to run again.
func (s *Post) ThrottleTx(tx *db.Tx, purpose, email string) error {
	if err := s.throttle(purpose, email); err != nil {
		return err
	}
	tx.Undone(func() { s.Recent.Forget(purpose + "|" + email) })
	return nil
}
