package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// databaseWords are words that a refusal of a number does not have.
var databaseWords = regexp.MustCompile(`(?i)out of range|column|relation|constraint|violates|syntax|of type|bigint|numeric|decimal"`)

// tooLarge are numbers that no field holds.
var tooLarge = []string{"1e30", "-1e30", "99999999999999999999999", "1.00000000000000000000001e17"}

// A number that is too large is refused in words: the field by its name, what it takes, and
// what can be done; for each number of each collection, in a filter and in a change.
func TestTooLargeNumbersArePlain(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as, fields := testkit.As(actor.Owner), 0
		for _, r := range catalog.Default().All() {
			for i := range r.Fields {
				f := &r.Fields[i]
				if f.Type != catalog.Int && f.Type != catalog.Decimal && f.Type != catalog.Float {
					continue
				}
				fields++
				for _, number := range tooLarge {
					got := []testkit.Response{
						k.Get(as, "/v1/"+r.Name+"?select=id&"+f.Name+"=eq."+number),
						k.Call(testkit.Request{Method: http.MethodPatch, As: as, Body: `{"` + f.Name + `":` + number + `}`,
							Path: "/v1/" + r.Name + "?id=eq.00000000-0000-4000-8000-000000000000"}),
					}
					for _, answer := range got {
						checkPlainRefusal(t, r.Name+"."+f.Name+" "+number, f, answer)
					}
				}
			}
		}
		if fields < 150 {
			t.Errorf("%d fields: the loop looks at nothing", fields)
		}
	})
}

// checkPlainRefusal holds an answer that is about a value to words that people know. What
// the caller may not change at all is refused before its value is looked at.
func checkPlainRefusal(t *testing.T, what string, f *catalog.Field, r testkit.Response) {
	t.Helper()
	var e struct {
		Code, Message, Details, Hint string
	}
	isHeld := f.Type == catalog.Float && r.Status == http.StatusOK // in a filter a float is compared with any number
	if isHeld || r.Status == http.StatusForbidden || r.Status == http.StatusMethodNotAllowed {
		return
	}
	r.JSON(t, &e)
	words := e.Message + " " + e.Details
	isPlain := !databaseWords.MatchString(words) && strings.HasPrefix(e.Message, `"`+f.Name+`" `)
	isKept := strings.Contains(e.Message, "is kept by the server") || strings.Contains(e.Message, "can only be set when")
	if !isKept && (!isPlain || e.Hint == "" || r.Status != http.StatusBadRequest) {
		t.Errorf("%s: %d %s", what, r.Status, r.Body)
	}
}
