package accounts

import (
	"context"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/secrets"
	"holdfast/internal/web"
)

// maxGuesses is how many wrong passwords an account takes in GuessDay from addresses
// that it is not known at: a window of a minute alone lets a patient stranger try
// a hundred thousand.
const (
	maxGuesses = 1000
	GuessDay   = 24 * time.Hour
)

// guesses are the wrong passwords that strangers tried at an account.
type guesses struct {
	Account string // its id, or one made of a name that nobody has; "" = what can be nobody's name
	tries   int64
	since   time.Time
}

// QueueGuesses reads into g, at the next flush, what was tried at the account that
// where names by key, a condition on users; else at the name itself.
func QueueGuesses(tx *db.Tx, keys secrets.Keys, g *guesses, where, key string) {
	g.Account = keys.UUID("nobody", where, key)
	g.queue(tx)
	tx.Queue(db.FillWords(`
		SELECT w.tries, w.since
		FROM users
		JOIN wrong_passwords w ON w.account = users.id
		WHERE {where}`, "{where}", where),
		[]any{key, false}, g.read)
}

// queue asks for what was tried at g's account.
func (g *guesses) queue(tx *db.Tx) {
	tx.Queue("SELECT tries, since FROM wrong_passwords WHERE account = $1", []any{g.Account}, g.read)
}

func (g *guesses) read(r *db.Row) error {
	g.tries, g.since = r.Int(0), r.Time(1)
	return nil
}

// guessesAt reads what was tried at an account.
func guessesAt(tx *db.Tx, userID string) (g guesses, err error) {
	g.Account = userID
	g.queue(tx)
	err = tx.Flush()
	return g, err
}

// Refuse says when the account takes passwords from strangers again, if it takes
// none now. It is said before a password is looked at, and of names that nobody
// has alike.
func (g guesses) Refuse(now time.Time) error {
	opens := g.since.Add(GuessDay)
	if g.tries < maxGuesses || !now.Before(opens) {
		return nil
	}
	f := fault.New(fault.Limited, "over_request_rate_limit", "Too many wrong passwords were tried here today: "+
		"sign in with a passkey or a mailed link, or from where you signed in before")
	f.RetryAfter = opens.Sub(now)
	access.Explain(f, maxGuesses, opens)
	return f
}

// Count counts one more.
func (g guesses) Count(tx *db.Tx, now time.Time) {
	if g.Account == "" {
		return
	}
	tx.Queue(`INSERT INTO wrong_passwords (account, tries, since) VALUES ($1, 1, $2) ON CONFLICT (account) DO UPDATE SET
		tries = CASE WHEN wrong_passwords.since <= $3 THEN 1 ELSE wrong_passwords.tries + 1 END,
		since = CASE WHEN wrong_passwords.since <= $3 THEN excluded.since ELSE wrong_passwords.since END`,
		[]any{g.Account, now, now.Add(-GuessDay)}, nil)
}

// OwnPassword compares the password that the caller of a session says is his. Who
// has a stolen session guesses no more at it than at the door.
func (s *Passwords) OwnPassword(ctx context.Context, a actor.Actor, u *User, pw string) error {
	stranger := !u.From.Has(web.AddressKey(a.Address))
	var g guesses
	if stranger {
		err := s.DB.Read(ctx, Everywhere, func(tx *db.Tx) (err error) {
			g, err = guessesAt(tx, u.ID)
			return err
		})
		if err == nil {
			err = g.Refuse(s.Now())
		}
		if err != nil {
			return err
		}
	}
	ok, err := s.Hasher.Check(ctx, u.Hash, pw)
	if err != nil || ok {
		return err
	}
	if stranger {
		err = s.DB.Write(ctx, Everywhere, func(tx *db.Tx) error {
			g.Count(tx, s.Now())
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
	PlaceMails   = 10
	AccountMails = 100
)

// Place is the address a client is counted by; "" = it stands for many people.
func (c Client) Place() string {
	if c.Shared {
		return ""
	}
	return web.AddressKey(c.Address)
}
