package programme

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/mail"
	"holdfast/internal/query"
)

// mails collects rows of safety_mails: one for each key, whoever writes it
// again.
type mails struct{ *db.Rows }

func newMails(tx *db.Tx) mails {
	text := func(name string) db.Column { return db.Column{Name: name, Type: "text"} }
	return mails{tx.Rows("safety_mails", []db.Column{{Name: "tenant_id", Type: "uuid"}, text("key"), {Name: "user_id", Type: "uuid"}, text("kind"), text("address"), text("subject"),
		text("body"), text("html"), text("about"), text("status"), {Name: "tries", Type: "bigint"}, {Name: "made_at", Type: "timestamptz"}, {Name: "next_at", Type: "timestamptz"}}, "ON CONFLICT (tenant_id, key) DO NOTHING")}
}

// queuedMail is a mail that is sent from a moment on.
type queuedMail struct {
	tenant, key, user string
	mail.Message
	at    time.Time
	about string // what it tells of, as JSON, where more may come to it
}

func (m mails) add(x queuedMail) error {
	at := query.FormatTime(x.at)
	return m.Add(x.tenant, x.key, x.user, x.Kind, x.To, x.Subject, x.Text, x.HTML, x.about, "pending", 0, at, at)
}

// How mails are retried: after each of these, then after the last one again until
// the mail is mailLife old. A node that dies while it sends leaves the mail to the
// others after mailClaim.
var mailRetries = [...]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

const (
	mailLife  = 24 * time.Hour // longer than a night's outage; then its news is old
	mailClaim = 10 * time.Minute
	mailPage  = 50
	mailsKept = 30 * 24 * time.Hour
)

// waiting is a mail that is due.
type waiting struct {
	tenant, key string
	tries       int64
	made        time.Time
	mail.Message
}

// SendMails hands the mails that are due to the mail server and returns how
// many it took. Several nodes may call it: each mail is claimed by one. A mail
// is sent again only when its node died between sending and noting so.
func (p *Programme) SendMails(ctx context.Context, to mail.Sender) (sent int, err error) {
	var errs []error
	for {
		list, err := p.dueMails(ctx)
		if err != nil || len(list) == 0 {
			return sent, errors.Join(append(errs, err)...)
		}
		for _, m := range list {
			ok, err := p.sendMail(ctx, to, m)
			if ok {
				sent++
			}
			if err != nil {
				errs = append(errs, err)
			}
			if ctx.Err() != nil {
				return sent, errors.Join(errs...)
			}
		}
	}
}

func (p *Programme) dueMails(ctx context.Context) (list []waiting, err error) {
	err = p.store.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		list = nil
		return tx.Query(fmt.Sprintf("SELECT tenant_id, key, tries, kind, address, subject, body, html, made_at FROM safety_mails WHERE status = 'pending' AND next_at <= $1 ORDER BY next_at, key LIMIT %d", mailPage),
			[]any{p.now().UTC()}, func(r *db.Row) error {
				list = append(list, waiting{r.Text(0), r.Text(1), r.Int(2), r.Time(8), mail.Message{Kind: r.Text(3), To: r.Text(4), Subject: r.Text(5), Text: r.Text(6), HTML: r.Text(7)}})
				return nil
			})
	})
	return list, err
}

func (p *Programme) sendMail(ctx context.Context, to mail.Sender, m waiting) (bool, error) {
	mine, err := p.claimMail(ctx, &m)
	if err != nil || !mine {
		return false, err
	}
	err = to.Send(ctx, m.Message)
	status, next := "sent", p.now()
	switch {
	case err == nil:
	case mail.Hopeless(err) || next.Sub(m.made) >= mailLife:
		status = "failed"
	default:
		status, next = "pending", next.Add(mailRetries[min(m.tries, int64(len(mailRetries)))-1])
	}
	// The mail is out: what became of it is noted even while the server stops.
	noted := p.noteMail(context.WithoutCancel(ctx), m, status, next)
	if err != nil {
		return false, fmt.Errorf("programme: mail %s of tenant %s: %w", m.Kind, m.tenant, errors.Join(err, noted))
	}
	return true, noted
}

// claimMail takes a mail that no other node has taken: the number of tries tells.
func (p *Programme) claimMail(ctx context.Context, m *waiting) (ok bool, err error) {
	err = p.store.DB().Write(ctx, db.Scope{Tenant: m.tenant}, func(tx *db.Tx) error {
		ok = false
		return tx.Query("UPDATE safety_mails SET tries = tries + 1, next_at = $4 WHERE tenant_id = $1 AND key = $2 AND tries = $3 AND status = 'pending' RETURNING subject, body, html",
			[]any{m.tenant, m.key, m.tries, p.now().Add(mailClaim).UTC()}, func(r *db.Row) error {
				// More may have come to it since it was found due.
				ok, m.Subject, m.Text, m.HTML = true, r.Text(0), r.Text(1), r.Text(2)
				return nil
			})
	})
	m.tries++
	return ok, err
}

// noteMail notes what became of a claimed mail.
func (p *Programme) noteMail(ctx context.Context, m waiting, status string, next time.Time) error {
	return p.store.DB().Write(ctx, db.Scope{Tenant: m.tenant}, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE safety_mails SET status = $4, next_at = $5 WHERE tenant_id = $1 AND key = $2 AND tries = $3", m.tenant, m.key, m.tries, status, next.UTC())
		return err
	})
}

// SweepMails forgets mails that were sent or given up a month ago.
func (p *Programme) SweepMails(ctx context.Context) error {
	return p.store.DB().Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM safety_mails WHERE made_at < $1", p.now().Add(-mailsKept).UTC())
		return err
	})
}
