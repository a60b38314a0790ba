package codes

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/factor"
	"holdfast/internal/web"
)

// Known reports whether somebody signed in to an account from a client's address
// before. The account is named as Counted names it; one that nobody has is known
// from nowhere.
func (s *Post) Known(ctx context.Context, account, address string) (known bool, err error) {
	column, value := "email", account
	if number, texted := strings.CutPrefix(account, accounts.PhoneAccount); texted {
		column, value = "phone", number
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		return tx.Query(db.FillWords(`
			SELECT signed_in_from
			FROM users
			WHERE {column} = $1
				AND is_sso = $2
				AND deleted_at IS NULL`, "{column}", column),
			[]any{value, false}, func(r *db.Row) error {
				known = factor.ReadPlaces(r.Text(0)).Has(web.AddressKey(address))
				return nil
			})
	})
	return known, err
}

// Spaced refuses a second mail, or text, of one purpose that an address asks for
// at one account within the mail interval, and more than a day's from where the
// account is not known. Others who ask do not keep its owner waiting. An account
// that nobody has is told the same.
func (s *Post) Spaced(ctx context.Context, purpose, account string, c accounts.Client) error {
	if s.Config.MailInterval <= 0 {
		return nil
	}
	all, now, day := purpose+"|"+account, s.Now(), 24*time.Hour
	here := all + "|" + c.Place()
	if left := s.Recent.Wait(here, now, s.Config.MailInterval); left > 0 {
		return TooSoon(left, 1)
	}
	if c.Place() == "" {
		return nil
	}
	left, most := s.Recent.Ration(here, now, accounts.PlaceMails, day), accounts.PlaceMails
	if left <= 0 {
		if left, most = s.Recent.Ration(all, now, accounts.AccountMails, day), accounts.AccountMails; left <= 0 {
			return nil
		}
		s.Recent.Return(here, now)
	}
	if known, err := s.Known(ctx, account, c.Address); err != nil || known {
		return err
	}
	return TooSoon(left, most)
}

// AskedLately reports that a mail of a kind went to an account within the mail
// interval because of the same client: across nodes, where memory does not reach.
// He is not told.
func (s *Post) AskedLately(tx *db.Tx, u *accounts.User, kind string, c accounts.Client) (bool, error) {
	slot, sent, _ := KindFacts(kind)
	if c.Place() == "" {
		return s.SentLately(map[string]accounts.Time{"confirmation_sent_at": u.ConfirmationSentAt,
			"recovery_sent_at": u.RecoverySentAt}[sent]), nil
	}
	lately := false
	err := tx.Query(`
		SELECT created_at
		FROM one_time_tokens
		WHERE user_id = $1
			AND slot = $2
			AND asked_from = $3`,
		[]any{u.ID, slot, c.Place()}, func(r *db.Row) error {
			lately = s.SentLately(accounts.Time{Time: r.Time(0)})
			return nil
		})
	return lately, err
}

const heldElsewhereSQL = `
	SELECT id
	FROM one_time_tokens
	WHERE user_id = $1 AND slot = $2 AND asked_from <> $3 AND asked_from <> '' AND expires_at > $4`

// HeldElsewhere reports a code of a change that was asked for elsewhere and holds: a
// stranger who asks for it again does not take it out of its owner's hands.
func (s *Post) HeldElsewhere(tx *db.Tx, u *accounts.User, kind string, c accounts.Client) (held bool, err error) {
	slot, _, _ := KindFacts(kind)
	err = tx.Query(heldElsewhereSQL, []any{u.ID, slot, c.Place(), s.Now()}, func(*db.Row) error {
		held = true
		return nil
	})
	return held, err
}

// Asked reports whether a code that an account waits for was asked for from a
// client's address: strangers elsewhere who guess at the account's codes do not
// keep him from typing it. The account is named as Counted names it.
func (s *Post) Asked(ctx context.Context, account, address string) (asked bool, err error) {
	at := strings.TrimPrefix(account, accounts.PhoneAccount)
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT id
			FROM one_time_tokens
			WHERE address = $1
				AND asked_from = $2
				AND expires_at > $3`,
			[]any{at, web.AddressKey(address), s.Now()}, func(*db.Row) error {
				asked = true
				return nil
			})
	})
	return asked, err
}

// SentLately holds the mail interval across nodes, where memory does not
// reach; the caller is not told.
func (s *Post) SentLately(at accounts.Time) bool {
	return !at.IsZero() && s.Config.MailInterval > 0 && s.Now().Sub(at.Time) < s.Config.MailInterval
}
