package factor

import (
	"encoding/json"
	"slices"

	"holdfast/internal/db"
)

// Places are the addresses that something was done from, the latest first; each
// stands for its group, as requests are counted.
type Places []string

// maxPlaces is how many are remembered.
const maxPlaces = 20

// ReadPlaces reads what Places.Text wrote; what nobody wrote knows no address.
func ReadPlaces(stored string) (p Places) {
	if stored == "" || json.Unmarshal([]byte(stored), &p) != nil {
		return nil
	}
	return p
}

// Text is the form they are stored in.
func (p Places) Text() (string, error) {
	b, err := json.Marshal(p)
	return string(b), err
}

// Has reports a place that is among them.
func (p Places) Has(from string) bool { return from != "" && slices.Contains(p, from) }

// With puts a place first, and says whether that changes anything.
func (p Places) With(from string) (Places, bool) {
	if from == "" || len(p) > 0 && p[0] == from {
		return p, false
	}
	list := append(Places{from}, slices.DeleteFunc(slices.Clone(p), func(known string) bool { return known == from })...)
	return list[:min(len(list), maxPlaces)], true
}

// KnownFrom reports whether the factor was passed from there before: not by
// somebody who has the password alone.
func (f Factor) KnownFrom(from string) bool { return f.passedFrom.Has(from) }

// notePassedFrom remembers where a factor was passed from.
func (f Factor) notePassedFrom(tx *db.Tx, from string) error {
	list, changed := f.passedFrom.With(from)
	if !changed {
		return nil
	}
	text, err := list.Text()
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE mfa_factors SET passed_from = $2 WHERE id = $1", f.ID, text)
	return err
}
