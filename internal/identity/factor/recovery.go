package factor

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/db"
)

// Codes is how many recovery codes a set has.
const Codes = 10

// codeText is base32 without the letters that are read as digits; a code has
// 16 of them, 80 bits.
var codeText = base32.NewEncoding("abcdefghjkmnpqrstuvwxyz023456789").WithPadding(base32.NoPadding)

// NewCodes replaces an account's recovery codes and returns the new ones: they
// are shown once, the database holds keyed hashes.
func (k *Keeper) NewCodes(tx *db.Tx, userID string) ([]string, error) {
	tx.Queue("DELETE FROM recovery_codes WHERE user_id = $1", []any{userID}, nil)
	out := make([]string, Codes)
	for i := range out {
		b := make([]byte, 10)
		rand.Read(b)
		t := codeText.EncodeToString(b)
		out[i] = fmt.Sprintf("%s-%s-%s-%s", t[:4], t[4:8], t[8:12], t[12:])
		tx.Queue("INSERT INTO recovery_codes (id, user_id, hash, created_at) VALUES ($1, $2, $3, $4)",
			[]any{uuid.Must(uuid.NewV7()).String(), userID, k.codeHash(userID, out[i]), k.Now()}, nil)
	}
	return out, tx.Flush()
}

// codeHash reads a code as people type it: blanks, dashes and capitals do not
// matter.
func (k *Keeper) codeHash(userID, code string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(code))
	return hex.EncodeToString(k.Keys.Sum("recovery-code", userID, strings.ReplaceAll(plain, "\x00", "")))
}

// UseCode spends a recovery code; of two callers with the same one, one gets
// true.
func (k *Keeper) UseCode(tx *db.Tx, userID, code string) (bool, error) {
	n, err := tx.Exec("UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND hash = $2 AND used_at IS NULL", userID, k.codeHash(userID, code), k.Now())
	return n == 1, err
}

// CodesLeft counts the recovery codes not spent.
func CodesLeft(tx *db.Tx, userID string) (n int, err error) {
	err = tx.Query("SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL", []any{userID}, func(r *db.Row) error {
		n = int(r.Int(0))
		return nil
	})
	return n, err
}
