package factor

import (
	"encoding/json"
	"slices"

	"holdfast/internal/db"
)

// maxKnown is how many addresses a factor remembers to have been passed from.
const maxKnown = 20

// fromList reads what note wrote; what nobody wrote knows no address.
func fromList(stored string) (list []string) {
	if json.Unmarshal([]byte(stored), &list) != nil {
		return nil
	}
	return list
}

// KnownFrom reports whether the factor was passed from there before: not by
// somebody who has the password alone.
func (f Factor) KnownFrom(from string) bool { return from != "" && slices.Contains(f.passedFrom, from) }

// note remembers where a factor was passed from, the latest first.
func (f Factor) note(tx *db.Tx, from string) error {
	if from == "" || len(f.passedFrom) > 0 && f.passedFrom[0] == from {
		return nil
	}
	list := append([]string{from}, slices.DeleteFunc(slices.Clone(f.passedFrom), func(known string) bool { return known == from })...)
	text, err := json.Marshal(list[:min(len(list), maxKnown)])
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE mfa_factors SET passed_from = $2 WHERE id = $1", f.ID, string(text))
	return err
}
