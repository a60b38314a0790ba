package factor

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/secrets"
)

// Codes is how many recovery codes a set has.
const Codes = 10

// codeText is base32 without the letters that are read as digits; a code has
// 16 of them, 80 bits.
var codeText = base32.NewEncoding("abcdefghjkmnpqrstuvwxyz023456789").WithPadding(base32.NoPadding)

func dropCodes(tx *db.Tx, userID string) {
	tx.Queue("DELETE FROM recovery_codes WHERE user_id = $1", []any{userID}, nil)
}

// NewCodes replaces an account's recovery codes and returns the new ones: they
// are shown once, the database holds hashes. 80 random bits need no key: a
// change of the master key leaves them good.
func (k *Keeper) NewCodes(tx *db.Tx, userID string) ([]string, error) {
	dropCodes(tx, userID)
	out := make([]string, Codes)
	for i := range out {
		b := make([]byte, 10)
		rand.Read(b)
		t := codeText.EncodeToString(b)
		out[i] = fmt.Sprintf("%s-%s-%s-%s", t[:4], t[4:8], t[8:12], t[12:])
		tx.Queue(`
			INSERT INTO recovery_codes (id, user_id, hash, created_at)
			VALUES ($1, $2, $3, $4)`,
			[]any{db.NewID(), userID, codeHash(userID, out[i]), k.Now()}, nil)
	}
	return out, tx.Flush()
}

// keyless begins the hashes that need no key.
const keyless = "sha256:"

func codeHash(userID, code string) string {
	return keyless + secrets.Digest(userID+"\x00"+normalizeCode(code))
}

// keyedHash is how older versions kept a code.
func (k *Keeper) keyedHash(userID, code string) string {
	return hex.EncodeToString(k.Keys.Sum("recovery-code", userID, normalizeCode(code)))
}

// DropKeyedCodes removes the recovery codes whose hashes need the master key
// that goes, and returns how many that were.
func DropKeyedCodes(tx *db.Tx) (int64, error) {
	return tx.Exec("DELETE FROM recovery_codes WHERE hash NOT LIKE $1", keyless+"%")
}

// normalizeCode reads a code as people type it: blanks, dashes and capitals do not
// matter.
func normalizeCode(code string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(code))
	return strings.ReplaceAll(plain, "\x00", "")
}

// UseCode spends a recovery code; of two callers with the same one, one gets
// true.
func (k *Keeper) UseCode(tx *db.Tx, userID, code string) (bool, error) {
	n, err := tx.Exec(`
		UPDATE recovery_codes
		SET used_at = $3
		WHERE user_id = $1
			AND hash IN ($2, $4)
			AND used_at IS NULL`,
		userID, codeHash(userID, code), k.Now(), k.keyedHash(userID, code))
	return n == 1, err
}

// CodesLeft counts the recovery codes not spent.
func CodesLeft(tx *db.Tx, userID string) (n int, err error) {
	err = tx.Query(`
		SELECT COUNT(*)
		FROM recovery_codes
		WHERE user_id = $1
			AND used_at IS NULL`, []any{userID},
		func(r *db.Row) error {
			n = int(r.Int(0))
			return nil
		})
	return n, err
}
