package codes

import (
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/secrets"
)

// Store makes and matches what is mailed, texted or handed to a browser to be shown once:
// digits, links and authorization codes.
type Store struct {
	*accounts.Base
}

// Kinds of one-time codes. A kind belongs to a slot; an account has at most
// one code outstanding in each, the last one wins; see also severally.
const (
	KindSignup        = "signup"
	KindInvite        = "invite"
	KindRecovery      = "recovery"
	KindMagicLink     = "magiclink"
	KindChangeCurrent = "email_change_current"
	KindChangeNew     = "email_change_new"
	KindReauth        = "reauthentication"
	KindSMS           = "sms"
	KindSMSSignup     = "sms_signup" // as KindSMS, for the one who signed up
	KindPhoneChange   = "phone_change"
)

// slot, the column that says when it was last mailed, and the type in links.
func KindFacts(kind string) (slot, sentColumn, linkType string) {
	switch kind {
	case KindSignup, KindInvite:
		return "confirmation", "confirmation_sent_at", kind
	case KindRecovery, KindMagicLink:
		return "recovery", "recovery_sent_at", kind
	case KindChangeCurrent, KindChangeNew:
		return kind, "email_change_sent_at", "email_change"
	case KindSMS, KindSMSSignup:
		return "phone", "confirmation_sent_at", KindSMS
	case KindPhoneChange:
		return kind, "phone_change_sent_at", kind
	}
	return KindReauth, "reauthentication_sent_at", kind
}

// AcceptsCode says which kinds a /verify request of a type may redeem.
func AcceptsCode(typ, kind string) bool {
	switch typ {
	case "email":
		return kind == KindSignup || kind == KindInvite || kind == KindRecovery || kind == KindMagicLink
	case "email_change":
		return kind == KindChangeCurrent || kind == KindChangeNew
	case "magiclink":
		// A magic link for an address not yet proved is its confirmation.
		return kind == KindMagicLink || kind == KindSignup
	case KindSMS:
		return kind == KindSMS || kind == KindSMSSignup
	}
	return typ == kind && kind != KindReauth
}

// KnownType reports a type that clients may name when they show a code.
func KnownType(typ string) bool {
	switch typ {
	case "email", "email_change", KindChangeCurrent, KindChangeNew, KindSMS, KindPhoneChange, KindSignup, KindInvite,
		KindRecovery, KindMagicLink:
		return true
	}
	return false
}

// CodeOrder asks for a one-time code.
type CodeOrder struct {
	Kind     string
	Address  string // the code proves this address
	From     string // Client.place of who asks; "" = no stranger can
	PKCE     PKCE
	Redirect string
	TTL      time.Duration // 0 = Config.CodeTTL
	Identity string        // the identity whose sign-in asks for the proof; needs pkce or browser
	Browser  string        // held in a cookie by the browser that asks, where there is no pkce
	Digits   string        // fixed for a test number; "" = random
	Channel  string        // of a text message
}

// Code is a one-time code as it is mailed; the database holds hashes.
type Code struct {
	Digits string // to be typed in
	Hash   string // 224 random bits in the link, "pkce_" in front when a challenge came with the request
	Link   string
	Cookie string // that is to hold CodeOrder.browser
}

// maxAttempts is how many wrong digits a code survives.
const maxAttempts = 5

// severally reports a kind of code that strangers can ask for: each address that
// asks has one of its own, so that a stranger's does not take the owner's place.
// All of them die when one is used.
func severally(kind string) bool {
	switch kind {
	case KindRecovery, KindMagicLink, KindSignup, KindSMS, KindSMSSignup:
		return true
	}
	return false
}

// MakeCode writes a code into the account's slot. Wrong guesses at the codes
// before it count for this one too, until the mail interval since the first of
// them is over: asking for codes, at whichever door, must not buy guesses. The
// row's created_at is that of the first.
func (s *Store) MakeCode(tx *db.Tx, u *accounts.User, o CodeOrder) (Code, error) {
	slot, sent, linkType := KindFacts(o.Kind)
	if o.TTL == 0 {
		o.TTL = s.Config.CodeTTL
	}
	if o.Redirect == "" {
		o.Redirect = s.Config.Home()
	}
	now, id := s.Now(), db.NewID()
	digits, err := secrets.Digits(s.Config.OTPLength)
	if err != nil {
		return Code{}, err
	}
	if o.Digits != "" {
		digits = o.Digits
	}
	c := Code{Digits: digits, Hash: secrets.RandomHex(28)}
	var flow, method, browser any
	if o.PKCE.Challenge != "" {
		c.Hash, method = "pkce_"+c.Hash, "s256"
	}
	if o.PKCE.Challenge != "" || o.Browser != "" {
		f := db.NewID()
		flow = f
		if o.Browser != "" {
			c.Cookie, browser = CookieName(f), secrets.Digest(o.Browser)
		}
		tx.Queue(`INSERT INTO flow_states (id, user_id, method, redirect_to, challenge, challenge_method, browser_hash, token_id, secrets, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			[]any{f, u.ID, amrOf(o.Kind), o.Redirect, db.Null(o.PKCE.Challenge), method, browser, id,
				s.SealFlow(f, FlowSecrets{Identity: o.Identity}), now, now.Add(o.TTL)}, nil)
	}
	if !severally(o.Kind) {
		tx.Queue(`
			DELETE FROM one_time_tokens
			WHERE user_id = $1
				AND slot = $2
				AND asked_from <> $3`,
			[]any{u.ID, slot, o.From}, nil)
	}
	tx.Queue(`INSERT INTO one_time_tokens (id, user_id, slot, kind, address, link_hash, code_hash, attempts, strange, flow_id, created_at, expires_at, asked_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9, $10, $12)
		ON CONFLICT (user_id, slot, asked_from) DO UPDATE SET id = excluded.id, kind = excluded.kind, address = excluded.address,
			link_hash = excluded.link_hash, code_hash = excluded.code_hash,
			attempts = CASE WHEN one_time_tokens.created_at > $11 THEN one_time_tokens.attempts ELSE 0 END,
			strange = CASE WHEN one_time_tokens.created_at > $11 THEN one_time_tokens.strange ELSE 0 END,
			created_at = CASE WHEN one_time_tokens.created_at > $11 THEN one_time_tokens.created_at ELSE excluded.created_at END,
			flow_id = excluded.flow_id, expires_at = excluded.expires_at`,
		[]any{id, u.ID, slot, o.Kind, o.Address, secrets.Digest(c.Hash), s.digitsHash(id, digits), flow, now, now.Add(o.TTL),
			now.Add(-s.Config.MailInterval), o.From}, nil)
	tx.Queue(db.FillWords(`
		UPDATE users
		SET {sent} = $2
		WHERE id = $1`, "{sent}", sent), []any{u.ID, now}, nil)
	// The token first, where applications look for it.
	c.Link = s.TokenIssuer + "/verify?token=" + c.Hash + "&type=" + linkType + "&redirect_to=" + parameter(o.Redirect)
	return c, tx.Flush()
}

// parameter writes an address into a link as GoTrue does: as it is where nothing
// in it means something else there, else percent-encoded.
func parameter(address string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~:/?@", r)
	}
	if strings.ContainsFunc(address, func(r rune) bool { return !plain(r) }) {
		return url.QueryEscape(address)
	}
	return address
}

// digitsHash is keyed, because six digits are soon tried through.
func (s *Store) digitsHash(tokenID, digits string) string {
	return hex.EncodeToString(s.Secrets.Sum("code", tokenID, digits))
}

// OneTime is a stored code.
type OneTime struct {
	ID, User, Kind, Address, codeHash, Link, Flow string
	// what asked for the proof, once it is shown to be the same browser
	Identity          string
	From              string // CodeOrder.from
	attempts, strange int64
	Expires           time.Time
}

// ErrCode is one answer for unknown, used and expired codes.
func ErrCode() error {
	return fault.New(fault.Forbidden, "otp_expired", "Token has expired or is invalid")
}

// ErrLink refuses a link that ended or never was.
func ErrLink() error {
	return fault.New(fault.Forbidden, "otp_expired", "Email link is invalid or has expired")
}

// CodeBy finds and locks the code of a condition.
func CodeBy(tx *db.Tx, where string, args ...any) (OneTime, error) {
	var t OneTime
	err := tx.One(db.FillWords(`
		SELECT id, user_id, kind, address, code_hash, link_hash, flow_id, attempts, expires_at, asked_from,
			strange
		FROM one_time_tokens
		WHERE {where}
		{for update}`, "{where}", where), args,
		func(r *db.Row) error {
			t = OneTime{ID: r.Text(0), User: r.Text(1), Kind: r.Text(2), Address: r.Text(3), codeHash: r.Text(4),
				Link: r.Text(5), Flow: r.Text(6), attempts: r.Int(7), Expires: r.Time(8), From: r.Text(9), strange: r.Int(10)}
			return nil
		})
	return t, err
}

// CodeByLink finds a live code by the hash in its link.
func (s *Store) CodeByLink(tx *db.Tx, hash string) (OneTime, error) {
	t, err := CodeBy(tx, "link_hash = $1", secrets.Digest(hash))
	if fault.Is(err, fault.NotFound) || err == nil && (!s.Now().Before(t.Expires) || t.codeHash == "" && t.halves()) {
		return t, ErrLink()
	}
	return t, err
}

// halves reports a code that an e-mail change takes two of.
func (t OneTime) halves() bool { return t.Kind == KindChangeCurrent || t.Kind == KindChangeNew }

// MatchDigits compares digits that were typed at a place. A wrong guess is counted,
// and the counted guess must be committed: the refusal comes back apart from the
// error. Guesses from elsewhere than where the code was asked for do not spend it
// there, and none the link, which nobody guesses.
func (s *Store) MatchDigits(tx *db.Tx, t OneTime, digits, place string) (ok bool, err error) {
	elsewhere := t.From != "" && t.From != place
	if !s.Now().Before(t.Expires) || t.attempts >= maxAttempts || elsewhere && t.strange >= maxAttempts {
		return false, nil
	}
	if subtle.ConstantTimeCompare([]byte(s.digitsHash(t.ID, digits)), []byte(t.codeHash)) == 1 {
		return true, nil
	}
	if elsewhere {
		_, err = tx.Exec("UPDATE one_time_tokens SET strange = strange + 1 WHERE id = $1", t.ID)
		return false, err
	}
	if t.attempts+1 < maxAttempts {
		_, err = tx.Exec("UPDATE one_time_tokens SET attempts = attempts + 1 WHERE id = $1", t.ID)
		return false, err
	}
	// The row stays and opens nothing, without a hash of digits, so that the guesses count for a code that
	// is asked for next. Both halves of an e-mail change go together: else burning
	// the code of the old address would leave the new one alone to decide.
	where, arg := "id = $1", t.ID
	if t.halves() {
		where, arg = "user_id = $1 AND slot IN ('email_change_current', 'email_change_new')", t.User
	}
	_, err = tx.Exec(db.FillWords(`
		UPDATE one_time_tokens
		SET attempts = $2, code_hash = ''
		WHERE {where}`, "{where}", where), arg, maxAttempts)
	return false, err
}

// Proved stands in place of the digits' hash where a half of an e-mail change is
// accepted and waits for the other.
const Proved = "proved"

// KeepProof leaves a consumed code's row as the proof it gave; nothing opens it.
func (s *Store) KeepProof(tx *db.Tx, t OneTime) error {
	now, id := s.Now(), db.NewID()
	_, err := tx.Exec(`INSERT INTO one_time_tokens (id, user_id, slot, kind, address, link_hash, code_hash, attempts, strange, asked_from, created_at, expires_at)
		VALUES ($1, $2, $3, $3, $4, $5, $6, $7, 0, '', $8, $9)`,
		id, t.User, t.Kind, t.Address, secrets.Digest(secrets.RandomHex(28)), Proved, t.attempts, now,
		now.Add(s.Config.CodeTTL))
	return err
}

// Consume deletes a code; only one caller gets true.
func Consume(tx *db.Tx, t OneTime) error {
	n, err := tx.Exec("DELETE FROM one_time_tokens WHERE id = $1", t.ID)
	if err == nil && n == 0 {
		return ErrCode()
	}
	return err
}

// amrOf is the authentication method a mailed link of a kind counts as.
func amrOf(kind string) string {
	switch kind {
	case KindSignup:
		return "email/signup"
	case KindChangeCurrent, KindChangeNew:
		return "email_change"
	}
	return kind
}
