package identity

import (
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/seal"
)

// Codes makes and matches what is mailed, texted or handed to a browser to be shown once:
// digits, links and authorization codes.
type Codes struct {
	*Base
}

// Kinds of one-time codes. A kind belongs to a slot; an account has at most
// one code outstanding in each, the last one wins; see also severally.
const (
	kindSignup        = "signup"
	kindInvite        = "invite"
	kindRecovery      = "recovery"
	kindMagicLink     = "magiclink"
	kindChangeCurrent = "email_change_current"
	kindChangeNew     = "email_change_new"
	kindReauth        = "reauthentication"
	kindSMS           = "sms"
	kindSMSSignup     = "sms_signup" // as kindSMS, for the one who signed up
	kindPhoneChange   = "phone_change"
)

// slot, the column that says when it was last mailed, and the type in links.
func kindFacts(kind string) (slot, sentColumn, linkType string) {
	switch kind {
	case kindSignup, kindInvite:
		return "confirmation", "confirmation_sent_at", kind
	case kindRecovery, kindMagicLink:
		return "recovery", "recovery_sent_at", kind
	case kindChangeCurrent, kindChangeNew:
		return kind, "email_change_sent_at", "email_change"
	case kindSMS, kindSMSSignup:
		return "phone", "confirmation_sent_at", kindSMS
	case kindPhoneChange:
		return kind, "phone_change_sent_at", kind
	}
	return kindReauth, "reauthentication_sent_at", kind
}

// accepts says which kinds a /verify request of a type may redeem.
func accepts(typ, kind string) bool {
	switch typ {
	case "email":
		return kind == kindSignup || kind == kindInvite || kind == kindRecovery || kind == kindMagicLink
	case "email_change":
		return kind == kindChangeCurrent || kind == kindChangeNew
	case "magiclink":
		// A magic link for an address not yet proved is its confirmation.
		return kind == kindMagicLink || kind == kindSignup
	case kindSMS:
		return kind == kindSMS || kind == kindSMSSignup
	}
	return typ == kind && kind != kindReauth
}

func knownType(typ string) bool {
	switch typ {
	case "email", "email_change", kindChangeCurrent, kindChangeNew, kindSMS, kindPhoneChange, kindSignup, kindInvite, kindRecovery, kindMagicLink:
		return true
	}
	return false
}

// codeOrder asks for a one-time code.
type codeOrder struct {
	kind     string
	address  string // the code proves this address
	from     string // Client.place of who asks; "" = no stranger can
	pkce     PKCE
	redirect string
	ttl      time.Duration // 0 = Config.CodeTTL
	identity string        // the identity whose sign-in asks for the proof; needs pkce or browser
	browser  string        // held in a cookie by the browser that asks, where there is no pkce
	digits   string        // fixed for a test number; "" = random
	channel  string        // of a text message
}

// code is a one-time code as it is mailed; the database holds hashes.
type code struct {
	digits string // to be typed in
	hash   string // 224 random bits in the link, "pkce_" in front when a challenge came with the request
	link   string
	cookie string // that is to hold codeOrder.browser
}

// maxAttempts is how many wrong digits a code survives.
const maxAttempts = 5

// severally reports a kind of code that strangers can ask for: each address that
// asks has one of its own, so that a stranger's does not take the owner's place.
// All of them die when one is used.
func severally(kind string) bool {
	switch kind {
	case kindRecovery, kindMagicLink, kindSignup, kindSMS, kindSMSSignup:
		return true
	}
	return false
}

// makeCode writes a code into the account's slot. Wrong guesses at the codes
// before it count for this one too, until the mail interval since the first of
// them is over: asking for codes, at whichever door, must not buy guesses. The
// row's created_at is that of the first.
func (s *Codes) makeCode(tx *db.Tx, u *User, o codeOrder) (code, error) {
	slot, sent, linkType := kindFacts(o.kind)
	if o.ttl == 0 {
		o.ttl = s.cfg.CodeTTL
	}
	if o.redirect == "" {
		o.redirect = s.cfg.SiteURL
	}
	now, id := s.now(), newID()
	digits, err := seal.Digits(s.cfg.OTPLength)
	if err != nil {
		return code{}, err
	}
	if o.digits != "" {
		digits = o.digits
	}
	c := code{digits: digits, hash: seal.RandomHex(28)}
	var flow, method, browser any
	if o.pkce.Challenge != "" {
		c.hash, method = "pkce_"+c.hash, "s256"
	}
	if o.pkce.Challenge != "" || o.browser != "" {
		f := newID()
		flow = f
		if o.browser != "" {
			c.cookie, browser = cookieName(f), seal.Digest(o.browser)
		}
		tx.Queue(`INSERT INTO flow_states (id, user_id, method, redirect_to, challenge, challenge_method, browser_hash, token_id, secrets, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			[]any{f, u.ID, amrOf(o.kind), o.redirect, null(o.pkce.Challenge), method, browser, id, s.sealFlow(f, flowSecrets{Identity: o.identity}), now,
				now.Add(o.ttl)}, nil)
	}
	if !severally(o.kind) {
		tx.Queue("DELETE FROM one_time_tokens WHERE user_id = $1 AND slot = $2 AND asked_from <> $3", []any{u.ID, slot, o.from}, nil)
	}
	tx.Queue(`INSERT INTO one_time_tokens (id, user_id, slot, kind, address, link_hash, code_hash, attempts, strange, flow_id, created_at, expires_at, asked_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9, $10, $12)
		ON CONFLICT (user_id, slot, asked_from) DO UPDATE SET id = excluded.id, kind = excluded.kind, address = excluded.address, link_hash = excluded.link_hash, code_hash = excluded.code_hash,
			attempts = CASE WHEN one_time_tokens.created_at > $11 THEN one_time_tokens.attempts ELSE 0 END,
			strange = CASE WHEN one_time_tokens.created_at > $11 THEN one_time_tokens.strange ELSE 0 END,
			created_at = CASE WHEN one_time_tokens.created_at > $11 THEN one_time_tokens.created_at ELSE excluded.created_at END,
			flow_id = excluded.flow_id, expires_at = excluded.expires_at`,
		[]any{id, u.ID, slot, o.kind, o.address, seal.Digest(c.hash), s.digitsHash(id, digits), flow, now, now.Add(o.ttl), now.Add(-s.cfg.MailInterval), o.from}, nil)
	tx.Queue("UPDATE users SET "+sent+" = $2 WHERE id = $1", []any{u.ID, now}, nil)
	// The token first, where applications look for it.
	c.link = s.issuer + "/verify?token=" + c.hash + "&type=" + linkType + "&redirect_to=" + url.QueryEscape(o.redirect)
	return c, tx.Flush()
}

// digitsHash is keyed, because six digits are soon tried through.
func (s *Codes) digitsHash(tokenID, digits string) string {
	return hex.EncodeToString(s.secrets.Sum("code", tokenID, digits))
}

// oneTime is a stored code.
type oneTime struct {
	id, user, kind, address, codeHash, link, flow string
	identity                                      string // what asked for the proof, once it is shown to be the same browser
	from                                          string // codeOrder.from
	attempts, strange                             int64
	expires                                       time.Time
}

// errCode is one answer for unknown, used and expired codes.
func errCode() error {
	return fault.New(fault.Forbidden, "otp_expired", "Token has expired or is invalid")
}

func errLink() error {
	return fault.New(fault.Forbidden, "otp_expired", "Email link is invalid or has expired")
}

func codeBy(tx *db.Tx, where string, args ...any) (oneTime, error) {
	var t oneTime
	err := tx.One("SELECT id, user_id, kind, address, code_hash, link_hash, flow_id, attempts, expires_at, asked_from, strange FROM one_time_tokens WHERE "+where+
		tx.DB().ForUpdate(), args,
		func(r *db.Row) error {
			t = oneTime{id: r.Text(0), user: r.Text(1), kind: r.Text(2), address: r.Text(3), codeHash: r.Text(4), link: r.Text(5), flow: r.Text(6),
				attempts: r.Int(7), expires: r.Time(8), from: r.Text(9), strange: r.Int(10)}
			return nil
		})
	return t, err
}

// codeByLink finds a live code by the hash in its link.
func (s *Codes) codeByLink(tx *db.Tx, hash string) (oneTime, error) {
	t, err := codeBy(tx, "link_hash = $1", seal.Digest(hash))
	if fault.Is(err, fault.NotFound) || err == nil && (!s.now().Before(t.expires) || t.codeHash == "" && t.halves()) {
		return t, errLink()
	}
	return t, err
}

// halves reports a code that an e-mail change takes two of.
func (t oneTime) halves() bool { return t.kind == kindChangeCurrent || t.kind == kindChangeNew }

// matchDigits compares digits that were typed at a place. A wrong guess is counted,
// and the counted guess must be committed: the refusal comes back apart from the
// error. Guesses from elsewhere than where the code was asked for do not spend it
// there, and none the link, which nobody guesses.
func (s *Codes) matchDigits(tx *db.Tx, t oneTime, digits, place string) (ok bool, err error) {
	elsewhere := t.from != "" && t.from != place
	if !s.now().Before(t.expires) || t.attempts >= maxAttempts || elsewhere && t.strange >= maxAttempts {
		return false, nil
	}
	if subtle.ConstantTimeCompare([]byte(s.digitsHash(t.id, digits)), []byte(t.codeHash)) == 1 {
		return true, nil
	}
	if elsewhere {
		_, err = tx.Exec("UPDATE one_time_tokens SET strange = strange + 1 WHERE id = $1", t.id)
		return false, err
	}
	if t.attempts+1 < maxAttempts {
		_, err = tx.Exec("UPDATE one_time_tokens SET attempts = attempts + 1 WHERE id = $1", t.id)
		return false, err
	}
	// The row stays and opens nothing, without a hash of digits, so that the guesses count for a code that
	// is asked for next. Both halves of an e-mail change go together: else burning
	// the code of the old address would leave the new one alone to decide.
	where, arg := "id = $1", t.id
	if t.halves() {
		where, arg = "user_id = $1 AND slot IN ('email_change_current', 'email_change_new')", t.user
	}
	_, err = tx.Exec("UPDATE one_time_tokens SET attempts = $2, code_hash = '' WHERE "+where, arg, maxAttempts)
	return false, err
}

// proved stands in place of the digits' hash where a half of an e-mail change is
// accepted and waits for the other.
const proved = "proved"

// keepProof leaves a consumed code's row as the proof it gave; nothing opens it.
func (s *Codes) keepProof(tx *db.Tx, t oneTime) error {
	now, id := s.now(), newID()
	_, err := tx.Exec(`INSERT INTO one_time_tokens (id, user_id, slot, kind, address, link_hash, code_hash, attempts, strange, asked_from, created_at, expires_at)
		VALUES ($1, $2, $3, $3, $4, $5, $6, $7, 0, '', $8, $9)`,
		id, t.user, t.kind, t.address, seal.Digest(seal.RandomHex(28)), proved, t.attempts, now, now.Add(s.cfg.CodeTTL))
	return err
}

// consume deletes a code; only one caller gets true.
func consume(tx *db.Tx, t oneTime) error {
	n, err := tx.Exec("DELETE FROM one_time_tokens WHERE id = $1", t.id)
	if err == nil && n == 0 {
		return errCode()
	}
	return err
}

// clearCodes ends every outstanding code of an account, as a change of
// password or address does.
func clearCodes(tx *db.Tx, userID string) error {
	_, err := tx.Exec("DELETE FROM one_time_tokens WHERE user_id = $1", userID)
	return err
}

// amrOf is the authentication method a mailed link of a kind counts as.
func amrOf(kind string) string {
	switch kind {
	case kindSignup:
		return "email/signup"
	case kindChangeCurrent, kindChangeNew:
		return "email_change"
	}
	return kind
}
