package identity

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/post"
)

// Post words mails, sends them, and says how often one may be asked for.
type Post struct {
	*Base
	links  *Links
	mailer Mailer
	outbox *post.Queue
	recent *post.Recent
}

// send queues one letter.
func (s *Post) send(l letter.Letter) error {
	return s.outbox.Add(func(ctx context.Context) error { return s.Deliver(ctx, l) })
}

// Deliver words a letter and hands it on; what letters of accounts say is sent
// off the request path, or its time would tell who has one.
func (s *Post) Deliver(ctx context.Context, l letter.Letter) error {
	m, err := s.word(ctx, l)
	if err != nil {
		return err
	}
	if err := s.mailer.Send(ctx, m); err != nil {
		return fmt.Errorf("identity: send %s: %w", l.Kind, err)
	}
	return nil
}

// alert tells the owner of an account, after the commit, that what protects it
// was changed.
func (s *Post) alert(tx *db.Tx, u *User, what letter.Change, about string) {
	if u.Email == "" || u.EmailConfirmedAt.IsZero() {
		return
	}
	l := letter.Letter{Kind: letter.ProtectionChanged, User: u.ID, To: u.Email, Change: what, Other: about}
	tx.After(func() { s.links.ours(s.send(l)) })
}

// throttle refuses a second mail of one purpose to one address within the
// mail interval.
func (s *Post) throttle(purpose, email string) error {
	left := s.recent.Wait(purpose+"|"+email, s.now(), s.cfg.MailInterval)
	if left <= 0 {
		return nil
	}
	return tooSoon(left, 1)
}

// tooSoon refuses what comes before the time that is left, where most may come.
func tooSoon(left time.Duration, most int) error {
	secs := int((left + time.Second - 1) / time.Second)
	f := fault.New(fault.Limited, "over_email_send_rate_limit", "For security purposes, you can only request this after %d seconds.", secs)
	f.RetryAfter = time.Duration(secs) * time.Second
	gate.Explain(f, most, time.Now().Add(f.RetryAfter))
	return f
}

// throttleTx is throttle within a transaction. What is undone has sent nothing
// and counts for nothing: it may be about to run again.
func (s *Post) throttleTx(tx *db.Tx, purpose, email string) error {
	if err := s.throttle(purpose, email); err != nil {
		return err
	}
	tx.Undone(func() { s.recent.Forget(purpose + "|" + email) })
	return nil
}
