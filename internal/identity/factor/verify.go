package factor

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/totp"
	"holdfast/internal/secrets"
)

// freeAttempts are the wrong answers that cost no wait; each further one
// doubles it, up to maxWait. Only who signed in already gets to answer, so a
// stranger locks nobody out. At an hour apart a code of six digits with three
// good ones at a time takes a century to guess.
const (
	freeAttempts = 5
	firstWait    = 30 * time.Second
	maxWait      = time.Hour
)

// waitAfter returns how long after the n-th wrong answer the next may come.
func waitAfter(failures int64) time.Duration {
	if failures < freeAttempts {
		return 0
	}
	if d := failures - freeAttempts; d < 7 {
		return firstWait << d
	}
	return maxWait
}

// Attempt counts an answer before it is looked at, so that answers given at
// once are counted one by one; Passed takes the count back. A refusal is
// fault.Limited and counts nothing. The caller holds the account's row lock
// and commits whatever the answer turns out to be.
func (k *Keeper) Attempt(tx *db.Tx, userID string) (refused, err error) {
	var failures int64
	var last time.Time
	now := k.Now()
	err = tx.Query("SELECT failures, last_at FROM mfa_attempts WHERE user_id = $1", []any{userID}, func(r *db.Row) error {
		failures, last = r.Int(0), r.Time(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if left := last.Add(waitAfter(failures)).Sub(now); left > 0 {
		f := fault.New(fault.Limited, "over_request_rate_limit", "Too many wrong codes: wait %d seconds, then try again",
			fault.WaitSeconds(left))
		f.RetryAfter = left
		access.Explain(f, freeAttempts, now.Add(left))
		return f, nil
	}
	_, err = tx.Exec(`INSERT INTO mfa_attempts (user_id, failures, last_at) VALUES ($1, 1, $2)
		ON CONFLICT (user_id) DO UPDATE SET failures = mfa_attempts.failures + 1, last_at = excluded.last_at`, userID, now)
	return nil, err
}

// Passed forgets the wrong answers.
func (k *Keeper) Passed(tx *db.Tx, userID string) error {
	_, err := tx.Exec("DELETE FROM mfa_attempts WHERE user_id = $1", userID)
	return err
}

// Question is a stored challenge.
type Question struct {
	ID, Kind, UserID, FactorID, SessionID, Data string
	From                                        string // as Owner's
	Expires                                     time.Time
}

const putSQL = `
	INSERT INTO challenges (id, kind, user_id, factor_id, session_id, data, created_at, expires_at, address)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

// Put stores a question for its life, under an id of its own if it has none.
func (k *Keeper) Put(tx *db.Tx, q Question) (Question, error) {
	now := k.Now()
	if q.ID == "" {
		q.ID = db.NewID()
	}
	q.Expires = now.Add(k.Life)
	_, err := tx.Exec(putSQL,
		q.ID, q.Kind, db.Null(q.UserID), db.Null(q.FactorID), db.Null(q.SessionID), db.Null(q.Data), now, q.Expires,
		db.Null(q.From))
	return q, err
}

const takeSQL = `
	SELECT kind, user_id, factor_id, session_id, data, expires_at, address
	FROM challenges
	WHERE id = $1
	{for update}`

// Take reads a question with its row locked; NotFound when there is none.
func (k *Keeper) Take(tx *db.Tx, id string) (Question, error) {
	q := Question{ID: id}
	if !isCanonicalID(id) {
		return q, fault.New(fault.NotFound, "", "no such challenge")
	}
	err := tx.One(takeSQL, []any{id}, func(r *db.Row) error {
		q.Kind, q.UserID, q.FactorID, q.SessionID = r.Text(0), r.Text(1), r.Text(2), r.Text(3)
		q.Data, q.Expires, q.From = r.Text(4), r.Time(5), r.Text(6)
		return nil
	})
	return q, err
}

// Drop ends a question; of several callers one gets true.
func Drop(tx *db.Tx, q Question) (bool, error) {
	n, err := tx.Exec("DELETE FROM challenges WHERE id = $1", q.ID)
	return n == 1, err
}

// Challenge puts a question to a factor: a security key that is not verified
// yet is asked to register; the code of a number is the caller's to send.
func (k *Keeper) Challenge(tx *db.Tx, o Owner, f Factor) (Challenge, error) {
	q := Question{Kind: f.Kind, UserID: o.UserID, FactorID: f.ID, SessionID: o.SessionID, From: o.From}
	out := Challenge{Kind: f.Kind}
	var err error
	switch f.Kind {
	case WebAuthn:
		out.WebAuthn, q.Data, err = k.offerWebAuthn(tx, o, f)
		if err == nil {
			q.Kind = WebAuthn + "." + out.WebAuthn.Type
		}
	case Phone:
		out.Digits, err = k.makeTextCode(tx, f, &q)
	case TOTP:
		err = k.appsOn()
	}
	if err != nil {
		return out, err
	}
	q, err = k.Put(tx, q)
	if err != nil {
		return out, err
	}
	out.ID, out.ExpiresAt = q.ID, q.Expires.Unix()
	_, err = tx.Exec("UPDATE mfa_factors SET last_challenged_at = $2 WHERE id = $1", f.ID, k.Now())
	return out, err
}

func (k *Keeper) offerWebAuthn(tx *db.Tx, o Owner, f Factor) (*WebAuthnOffer, string, error) {
	if k.Web == nil {
		return nil, "", errKeysOff()
	}
	offer := &WebAuthnOffer{Type: "request"}
	var c passkey.Ceremony
	var err error
	if f.Status == Verified {
		p := o.passkeyPerson(f.credential)
		c, err = k.Web.Ask(&p)
	} else {
		offer.Type = "create"
		known, kerr := registeredCredentials(tx, o.UserID)
		if kerr != nil {
			return nil, "", kerr
		}
		c, err = k.Web.Register(o.passkeyPerson(known...), false)
	}
	offer.Options.PublicKey = c.Options
	return offer, c.State, err
}

func errKeysOff() error {
	return fault.New(fault.Unprocessable, "mfa_webauthn_verify_not_enabled", "MFA verification is disabled for WebAuthn")
}

// registeredCredentials are the account's registered security keys, so that none is
// registered twice.
func registeredCredentials(tx *db.Tx, userID string) (list []string, err error) {
	err = tx.Query(`
		SELECT credential
		FROM mfa_factors
		WHERE user_id = $1
			AND credential IS NOT NULL`, []any{userID},
		func(r *db.Row) error {
			list = append(list, r.Text(0))
			return nil
		})
	return list, err
}

// Answer is the client's answer to a challenge.
type Answer struct {
	ChallengeID string
	Code        string // an app's six digits, or those that were texted
	Type        string // a security key: create or request
	Credential  json.RawMessage
}

// Answer checks an answer. A refusal comes apart from an error: what was
// counted and consumed on the way to it has to commit.
func (k *Keeper) Answer(tx *db.Tx, o Owner, f Factor, in Answer) (refused, err error) {
	q, err := k.Take(tx, in.ChallengeID)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && (q.FactorID != f.ID || q.SessionID != o.SessionID):
		return fault.New(fault.NotFound, "mfa_factor_not_found", "MFA factor with the provided challenge ID not found"), nil
	case err != nil:
		return nil, err
	case k.SameAddress && q.From != o.From:
		return fault.New(fault.Unprocessable, "mfa_ip_address_mismatch", "Challenge and verify IP addresses mismatch."), nil
	case !k.Now().Before(q.Expires):
		_, err := Drop(tx, q)
		return fault.New(fault.Unprocessable, "mfa_challenge_expired",
			"MFA challenge %s has expired, verify against another challenge or create a new challenge.", q.ID), err
	}
	switch f.Kind {
	case WebAuthn:
		refused, err = k.answerKey(tx, o, f, q, in)
	case Phone:
		refused, err = k.answerText(q, in.Code)
	default:
		refused, err = k.answerApp(tx, f, in.Code)
	}
	if err != nil || refused != nil && f.Kind != WebAuthn {
		return refused, err
	}
	// A right answer ends its question, and so does a wrong one of a security
	// key, whose challenge must be fresh (WebAuthn section 13.4.3).
	if ok, derr := Drop(tx, q); derr != nil || !ok {
		return errNoFactor(), derr
	}
	if refused == nil {
		err = k.markPassed(tx, f, o.From)
	}
	return refused, err
}

// appsOn refuses where authenticator apps are not asked.
func (k *Keeper) appsOn() error {
	if k.Apps.NoVerify {
		return fault.New(fault.Unprocessable, "mfa_totp_verify_not_enabled", "MFA verification is disabled for TOTP")
	}
	return nil
}

func (k *Keeper) answerApp(tx *db.Tx, f Factor, code string) (refused, err error) {
	if refused := k.appsOn(); refused != nil {
		return refused, nil
	}
	secret, err := k.Keys.Open(secrets.FactorSecret, f.sealed, f.ID)
	if err != nil {
		return nil, err
	}
	step, ok, err := totp.Secret(secret).Check(code, k.Now(), f.lastStep)
	if err != nil {
		return nil, err
	}
	if !ok {
		return fault.New(fault.Unprocessable, "mfa_verification_failed", "Invalid TOTP code entered"), nil
	}
	n, err := tx.Exec(`
		UPDATE mfa_factors
		SET last_step = $2
		WHERE id = $1
			AND (last_step IS NULL OR last_step < $2)`,
		f.ID, step)
	if err == nil && n == 0 {
		refused = fault.New(fault.Unprocessable, "mfa_verification_failed", "Invalid TOTP code entered")
	}
	return refused, err
}

func (k *Keeper) answerKey(tx *db.Tx, o Owner, f Factor, q Question, in Answer) (refused, err error) {
	if k.Web == nil {
		return nil, errKeysOff()
	}
	if q.Kind != WebAuthn+"."+in.Type {
		return fault.New(fault.Invalid, "validation_failed", "webauthn.type must be that of the challenge"), nil
	}
	var c passkey.Credential
	if in.Type == "create" {
		known, kerr := registeredCredentials(tx, o.UserID)
		if kerr != nil {
			return nil, kerr
		}
		c, err = k.Web.Registered(o.passkeyPerson(known...), q.Data, in.Credential)
	} else {
		c, err = k.Web.Asserted(o.passkeyPerson(f.credential), q.Data, in.Credential)
	}
	if fault.HasCode(err, "webauthn_verification_failed") {
		return err, nil
	}
	if err != nil {
		return nil, fmt.Errorf("factor: %w", err)
	}
	_, err = tx.Exec("UPDATE mfa_factors SET credential = $2 WHERE id = $1", f.ID, c.Text)
	return nil, err
}

const markPassedSQL = `
	DELETE FROM challenges
	WHERE factor_id IN (SELECT id
		FROM mfa_factors
		WHERE user_id = $1 AND kind = $2 AND status = 'unverified' AND id <> $3)`

// markPassed marks a factor as verified and notes where from; others of its kind that
// wait for their first answer are given up.
func (k *Keeper) markPassed(tx *db.Tx, f Factor, from string) error {
	if err := f.notePassedFrom(tx, from); err != nil {
		return err
	}
	if f.Status == Unverified {
		tx.Queue(`
			UPDATE mfa_factors
			SET status = 'verified', updated_at = $2
			WHERE id = $1`, []any{f.ID, k.Now()}, nil)
		tx.Queue(markPassedSQL, []any{f.UserID, f.Kind, f.ID}, nil)
		tx.Queue(`
			DELETE FROM mfa_factors
			WHERE user_id = $1
				AND kind = $2
				AND status = 'unverified'
				AND id <> $3`,
			[]any{f.UserID, f.Kind, f.ID}, nil)
	}
	return k.Passed(tx, f.UserID)
}

// Sweep deletes what waited too long.
func (k *Keeper) Sweep(tx *db.Tx) {
	now := k.Now()
	tx.Queue("DELETE FROM challenges WHERE expires_at < $1", []any{now}, nil)
	tx.Queue(`
		DELETE FROM mfa_factors
		WHERE status = 'unverified'
			AND created_at < $1`, []any{now.Add(-k.unprovedLife())},
		nil)
}
