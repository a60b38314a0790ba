package identity

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/seal"
	"holdfast/internal/web"
)

// maxGuesses is how many wrong passwords an account takes in guessDay from addresses
// that it is not known at: a window of a minute alone lets a patient stranger try
// a hundred thousand.
const (
	maxGuesses = 1000
	guessDay   = 24 * time.Hour
)

// guesses are the wrong passwords that strangers tried at an account.
type guesses struct {
	account string // its id, or one made of a name that nobody has; "" = what can be nobody's name
	tries   int64
	since   time.Time
}

// queueGuesses reads into g, at the next flush, what was tried at the account that
// where names by key, a condition on users; else at the name itself.
func queueGuesses(tx *db.Tx, keys seal.Keys, g *guesses, where, key string) {
	g.account = keys.UUID("nobody", where, key)
	read := func(r *db.Row) error {
		g.tries, g.since = r.Int(0), r.Time(1)
		return nil
	}
	tx.Queue("SELECT tries, since FROM wrong_passwords WHERE account = $1", []any{g.account}, read)
	tx.Queue("SELECT w.tries, w.since FROM users JOIN wrong_passwords w ON w.account = users.id WHERE "+where, []any{key, false}, read)
}

// guessesAt reads what was tried at an account.
func guessesAt(tx *db.Tx, userID string) (g guesses, err error) {
	g.account = userID
	return g, tx.Query("SELECT tries, since FROM wrong_passwords WHERE account = $1", []any{userID}, func(r *db.Row) error {
		g.tries, g.since = r.Int(0), r.Time(1)
		return nil
	})
}

// refuse says when the account takes passwords from strangers again, if it takes
// none now. It is said before a password is looked at, and of names that nobody
// has alike.
func (g guesses) refuse(now time.Time) error {
	opens := g.since.Add(guessDay)
	if g.tries < maxGuesses || !now.Before(opens) {
		return nil
	}
	f := fault.New(fault.Limited, "over_request_rate_limit", "Too many wrong passwords were tried here today: "+
		"sign in with a passkey or a mailed link, or from where you signed in before")
	f.RetryAfter = (opens.Sub(now) + time.Second - 1).Truncate(time.Second)
	gate.Explain(f, maxGuesses, opens)
	return f
}

// count counts one more.
func (g guesses) count(tx *db.Tx, now time.Time) {
	if g.account == "" {
		return
	}
	tx.Queue(`INSERT INTO wrong_passwords (account, tries, since) VALUES ($1, 1, $2) ON CONFLICT (account) DO UPDATE SET
		tries = CASE WHEN wrong_passwords.since <= $3 THEN 1 ELSE wrong_passwords.tries + 1 END,
		since = CASE WHEN wrong_passwords.since <= $3 THEN excluded.since ELSE wrong_passwords.since END`,
		[]any{g.account, now, now.Add(-guessDay)}, nil)
}

// ownPassword compares the password that the caller of a session says is his. Who
// has a stolen session guesses no more at it than at the door.
func (s *Passwords) ownPassword(ctx context.Context, a actor.Actor, u *User, pw string) error {
	stranger := !u.from.Has(web.AddressKey(a.Address))
	var g guesses
	if stranger {
		err := s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
			g, err = guessesAt(tx, u.ID)
			return err
		})
		if err == nil {
			err = g.refuse(s.now())
		}
		if err != nil {
			return err
		}
	}
	ok, err := s.hasher.Check(ctx, u.hash, pw)
	if err != nil || ok {
		return err
	}
	if stranger {
		err = s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
			g.count(tx, s.now())
			return tx.Flush()
		})
	}
	if err != nil {
		return err
	}
	return fault.New(fault.Invalid, "current_password_invalid", "Current password is not correct")
}

// Mails and texts that one address, and all strangers together, may have sent to an
// account in a day: five who ask as often as they may leave room for its owner.
const (
	placeMails   = 10
	accountMails = 100
)

// place is the address a client is counted by; "" = it stands for many people.
func (c Client) place() string {
	if c.Shared {
		return ""
	}
	return web.AddressKey(c.Address)
}

// spaced refuses a second mail, or text, of one purpose that an address asks for
// at one account within the mail interval, and more than a day's from where the
// account is not known. Others who ask do not keep its owner waiting. An account
// that nobody has is told the same.
func (s *Post) spaced(ctx context.Context, purpose, account string, c Client) error {
	if s.cfg.MailInterval <= 0 {
		return nil
	}
	all, now, day := purpose+"|"+account, s.now(), 24*time.Hour
	here := all + "|" + c.place()
	if left := s.recent.Wait(here, now, s.cfg.MailInterval); left > 0 {
		return tooSoon(left, 1)
	}
	if c.place() == "" {
		return nil
	}
	left, most := s.recent.Ration(here, now, placeMails, day), placeMails
	if left <= 0 {
		if left, most = s.recent.Ration(all, now, accountMails, day), accountMails; left <= 0 {
			return nil
		}
		s.recent.Return(here, now)
	}
	if known, err := s.Known(ctx, account, c.Address); err != nil || known {
		return err
	}
	return tooSoon(left, most)
}

// askedLately reports that a mail of a kind went to an account within the mail
// interval because of the same client: across nodes, where memory does not reach.
// He is not told.
func (s *Post) askedLately(tx *db.Tx, u *User, kind string, c Client) (bool, error) {
	slot, sent, _ := kindFacts(kind)
	if c.place() == "" {
		return s.sentLately(map[string]Time{"confirmation_sent_at": u.ConfirmationSentAt, "recovery_sent_at": u.RecoverySentAt}[sent]), nil
	}
	lately := false
	err := tx.Query("SELECT created_at FROM one_time_tokens WHERE user_id = $1 AND slot = $2 AND asked_from = $3", []any{u.ID, slot, c.place()},
		func(r *db.Row) error {
			lately = s.sentLately(Time{Time: r.Time(0)})
			return nil
		})
	return lately, err
}

// heldElsewhere reports a code of a change that was asked for elsewhere and holds: a
// stranger who asks for it again does not take it out of its owner's hands.
func (s *Post) heldElsewhere(tx *db.Tx, u *User, kind string, c Client) (held bool, err error) {
	slot, _, _ := kindFacts(kind)
	err = tx.Query("SELECT id FROM one_time_tokens WHERE user_id = $1 AND slot = $2 AND asked_from <> $3 AND asked_from <> '' AND expires_at > $4",
		[]any{u.ID, slot, c.place(), s.now()}, func(*db.Row) error {
			held = true
			return nil
		})
	return held, err
}

// Asked reports whether a code that an account waits for was asked for from a
// client's address: strangers elsewhere who guess at the account's codes do not
// keep him from typing it. The account is named as Counted names it.
func (s *Post) Asked(ctx context.Context, account, address string) (asked bool, err error) {
	at := strings.TrimPrefix(account, phoneAccount)
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		return tx.Query("SELECT id FROM one_time_tokens WHERE address = $1 AND asked_from = $2 AND expires_at > $3", []any{at, web.AddressKey(address), s.now()},
			func(*db.Row) error {
				asked = true
				return nil
			})
	})
	return asked, err
}
