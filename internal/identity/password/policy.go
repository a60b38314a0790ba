package password

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// MaxBytes is the longest password, in bytes. GoTrue's bound (bcrypt reads no
// further); nothing is ever cut short.
const MaxBytes = 72

//go:embed common.txt
var commonText string

// common holds stems that are refused beside the listed passwords: words,
// names, keyboard walks and dates of some languages and of this trade. Digits
// and marks around a stem do not help, see stem.
var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(commonText) {
		m[w] = true
	}
	return m
}()

//go:embed listed.txt
var listedText string

// isListed reports one of the passwords met most often in breaches; see LISTED.md.
func isListed(low string) bool {
	lo, hi := 0, len(listedText)
	for lo < hi {
		mid := lo + (hi-lo)/2
		begin := lo + strings.LastIndexByte(listedText[lo:mid], '\n') + 1
		end := mid + strings.IndexByte(listedText[mid:], '\n')
		switch line := listedText[begin:end]; {
		case line == low:
			return true
		case line < low:
			lo = end + 1
		default:
			hi = begin
		}
	}
	return false
}

// Policy is what a new password must satisfy.
type Policy struct {
	MinLength int     // characters
	Classes   Classes // of characters, each of which must occur
}

// Check refuses a password that is too long (validation_failed) or too weak
// (weak_password with GoTrue's reasons: length, characters, pwned). own are the
// words that an attacker tries first for this account: its address or number,
// the names of the person, of the tenant and of the product.
func (p Policy) Check(pw string, own ...string) error {
	if err := TooLong(pw); err != nil {
		return err
	}
	if !utf8.ValidString(pw) || strings.ContainsRune(pw, 0) {
		return fault.New(fault.Invalid, "validation_failed", "Password is not valid text")
	}
	var w weakness
	if n := utf8.RuneCountInString(pw); n < p.MinLength {
		w.addReason("length", fmt.Sprintf("Password should be at least %d characters.", p.MinLength))
	}
	if !p.Classes.areIn(pw) {
		w.addReason("characters", "Password should contain at least one character of each: "+p.Classes.String()+".")
	}
	switch {
	case len(w.reasons) > 0: // that a password was guessable which may not be taken anyway is no news
	case isGuessable(pw):
		w.addReason("pwned", "Password is known to be weak and easy to guess, please choose a different one.")
	case isPersonal(pw, own):
		w.addReason("pwned", "Password must not be your own name or address.")
	}
	return w.faultOf()
}

// weakness gathers all that is wrong with a password.
type weakness struct{ reasons, texts []string }

func (w *weakness) addReason(reason, text string) {
	w.reasons, w.texts = append(w.reasons, reason), append(w.texts, text)
}

func (w weakness) faultOf() error {
	if len(w.reasons) == 0 {
		return nil
	}
	f := fault.New(fault.Unprocessable, "weak_password", "%s", strings.Join(w.texts, " "))
	f.Data = map[string]any{"weak_password": map[string]any{"reasons": w.reasons}}
	return f
}

// Reasons are those that a refusal of Check gives; none of another error.
func Reasons(f *fault.Error) []string {
	data, _ := f.Data.(map[string]any)
	weak, _ := data["weak_password"].(map[string]any)
	list, _ := weak["reasons"].([]string)
	return list
}

// TooLong refuses a password over MaxBytes.
func TooLong(pw string) error {
	if len(pw) > MaxBytes {
		return fault.New(fault.Invalid, "validation_failed", "Password cannot be longer than %d characters", MaxBytes)
	}
	return nil
}

// isGuessable reports a password that is listed or a common stem, with decoration
// or without, one character or a short group repeated, or a run of neighbours.
func isGuessable(pw string) bool {
	low := strings.ToLower(pw)
	core := stemOf(low)
	return isListed(low) || isListed(stripMarks(low)) || isListed(core) || common[low] || common[core] ||
		isRepeated(low) || isRun(low)
}

// leet maps look-alikes back to the letter they stand for.
var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// stemOf strips digits and marks from both ends and undoes look-alikes:
// "P@ssw0rd2024!" -> "password".
func stemOf(low string) string {
	return leet.Replace(stripMarks(low))
}

func stripMarks(low string) string { return strings.Trim(low, "0123456789!?.,-_*#+@$%&/()=\"' ") }

func isRepeated(s string) bool {
	for n := 1; n <= 4 && n*2 <= len(s); n++ {
		if len(s)%n == 0 && strings.Repeat(s[:n], len(s)/n) == s {
			return true
		}
	}
	return false
}

// isRun reports ascending or descending neighbours throughout: 12345678, hgfedcba.
func isRun(s string) bool {
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
