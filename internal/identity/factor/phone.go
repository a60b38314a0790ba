package factor

import (
	"crypto/subtle"
	"encoding/hex"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/secrets"
)

// Texts says what is done with codes by text message. They are the weakest
// second factor, since numbers are taken over and messages are read on the way
// (NIST SP 800-63B section 5.1.3.3), so an operator may also keep those that
// are enrolled and allow no more.
type Texts struct {
	Enrol, Verify bool
	Digits        int               // of a code
	Fixed         map[string]string // codes of test numbers
}

// roomFor drops what an earlier, unfinished enrolment of the same number left,
// and refuses a number that is enrolled already.
func roomFor(tx *db.Tx, list []Factor, phone string) ([]Factor, error) {
	kept := list[:0]
	for _, f := range list {
		switch {
		case f.Kind != Phone || f.Phone != phone:
			kept = append(kept, f)
		case f.Status == Verified:
			return nil, fault.New(fault.Unprocessable, "mfa_verified_factor_exists",
				"A verified phone factor already exists, unenroll the existing factor to continue")
		default:
			dropFactor(tx, f.ID)
		}
	}
	return kept, nil
}

// makeTextCode makes the code of a question. The last one a session asked is the one
// that counts; another session, which may be a stranger's with the password,
// does not take it away. Guesses are counted by account.
func (k *Keeper) makeTextCode(tx *db.Tx, f Factor, q *Question) (digits string, err error) {
	if !k.Texts.Verify {
		return "", errTextsOff()
	}
	if digits = k.Texts.Fixed[f.Phone]; digits == "" {
		if digits, err = secrets.Digits(k.Texts.Digits); err != nil {
			return "", err
		}
	}
	q.ID = db.NewID()
	q.Data = k.textHash(*q, digits)
	tx.Queue("DELETE FROM challenges WHERE factor_id = $1 AND session_id = $2", []any{f.ID, db.Null(q.SessionID)}, nil)
	return digits, nil
}

// textHash is keyed, because six digits are soon tried through.
func (k *Keeper) textHash(q Question, digits string) string {
	return hex.EncodeToString(k.Keys.Sum("factor-code", q.ID, digits))
}

func (k *Keeper) answerText(q Question, code string) (refused, err error) {
	if !k.Texts.Verify {
		return nil, errTextsOff()
	}
	if subtle.ConstantTimeCompare([]byte(k.textHash(q, code)), []byte(q.Data)) != 1 {
		return fault.New(fault.Unprocessable, "mfa_verification_failed", "Invalid MFA Phone code entered"), nil
	}
	return nil, nil
}

func errTextsOff() error {
	return fault.New(fault.Unprocessable, "mfa_phone_verify_not_enabled", "MFA verification is disabled for Phone")
}

// Move gives a factor of texted codes another number; a code on its way to the
// old one dies.
func (k *Keeper) Move(tx *db.Tx, f Factor, phone string) (Factor, error) {
	if f.Kind != Phone {
		return f, fault.New(fault.Invalid, "validation_failed", "only a phone factor has a phone")
	}
	f.Phone, f.UpdatedAt = phone, gotruetime.Time{Time: k.Now()}
	dropChallenges(tx, f.ID)
	_, err := tx.Exec("UPDATE mfa_factors SET phone = $2, updated_at = $3 WHERE id = $1", f.ID, phone, k.Now())
	return f, err
}
