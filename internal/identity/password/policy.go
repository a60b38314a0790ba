package password

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// MaxBytes is the longest password, in bytes. GoTrue's bound (bcrypt reads no
// further); nothing is ever cut short.
const MaxBytes = 72

//go:embed common.txt
var commonText string

// common holds the stems that are refused. The list is our own: a few hundred
// words, names, keyboard walks and dates of the kind every published list of
// breached passwords opens with. Digits and marks around a stem do not help,
// see stem.
var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(commonText) {
		m[w] = true
	}
	return m
}()

// Policy is what a new password must satisfy.
type Policy struct {
	MinLength int // characters
}

// Check refuses a password that is too long (validation_failed) or too weak
// (weak_password with GoTrue's reasons). own are the words an attacker tries
// first for this account: the address, its local part, a display name.
func (p Policy) Check(pw string, own ...string) error {
	if err := TooLong(pw); err != nil {
		return err
	}
	if !utf8.ValidString(pw) || strings.ContainsRune(pw, 0) {
		return fault.New(fault.Invalid, "validation_failed", "Password is not valid text")
	}
	if n := utf8.RuneCountInString(pw); n < p.MinLength {
		return weak("length", "Password should be at least %d characters.", p.MinLength)
	}
	if guessable(pw) {
		return weak("pwned", "Password is known to be weak and easy to guess, please choose a different one.")
	}
	low := strings.ToLower(strings.TrimSpace(pw))
	for _, o := range own {
		o = strings.ToLower(strings.TrimSpace(o))
		local, _, _ := strings.Cut(o, "@")
		if o != "" && (low == o || stem(low) == o || len(local) > 3 && stem(low) == stem(local)) {
			return weak("pwned", "Password must not be your own name or address.")
		}
	}
	return nil
}

// TooLong refuses a password over MaxBytes.
func TooLong(pw string) error {
	if len(pw) > MaxBytes {
		return fault.New(fault.Invalid, "validation_failed", "Password cannot be longer than %d characters", MaxBytes)
	}
	return nil
}

func weak(reason, format string, args ...any) error {
	f := fault.New(fault.Unprocessable, "weak_password", format, args...)
	f.Data = map[string]any{"weak_password": map[string]any{"reasons": []string{reason}}}
	return f
}

// guessable reports a password that is a common stem with decoration, one
// character or a short group repeated, or a run of neighbours.
func guessable(pw string) bool {
	low := strings.ToLower(pw)
	return common[low] || common[stem(low)] || repeated(low) || run(low)
}

// leet maps look-alikes back to the letter they stand for.
var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// stem strips digits and marks from both ends and undoes look-alikes:
// "P@ssw0rd2024!" -> "password".
func stem(low string) string {
	core := strings.Trim(low, "0123456789!?.,-_*#+@$%&/()=\"' ")
	return leet.Replace(core)
}

func repeated(s string) bool {
	for n := 1; n <= 4 && n*2 <= len(s); n++ {
		if len(s)%n == 0 && strings.Repeat(s[:n], len(s)/n) == s {
			return true
		}
	}
	return false
}

// run reports ascending or descending neighbours throughout: 12345678, hgfedcba.
func run(s string) bool {
	if len(s) < 4 {
		return false
	}
	step := int(s[1]) - int(s[0])
	if step != 1 && step != -1 {
		return false
	}
	for i := 1; i < len(s); i++ {
		d := int(s[i]) - int(s[i-1])
		wrap := s[i-1] == '9' && s[i] == '0'
		if d != step && !wrap {
			return false
		}
	}
	return true
}
