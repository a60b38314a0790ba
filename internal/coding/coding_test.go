package coding

import (
	"slices"
	"strings"
	"testing"
)

// Every code stands once, in order, with a name in each language that no other of its list
// has.
func TestLists(t *testing.T) {
	for list, digits := range map[string][]int{TypeOfInjury: {3}, PartOfBody: {2}, Deviation: {2}, Contact: {2},
		NatureOfInjury: {1, 2}, BodyPart: {1, 2}, Event: {1, 2}, Source: {1, 2}} {
		codes := CodesOf(list)
		if len(codes) < 40 || !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
			t.Errorf("%s: %v", list, codes)
		}
		seen := map[string]bool{}
		for _, c := range lists[list] {
			if !slices.Contains(digits, len(c.Code)) || strings.Trim(c.Code, "0123456789") != "" {
				t.Errorf("%s: %q is no code of %d digits", list, c.Code, digits)
			}
			if isGroup := len(digits) > 1 && len(c.Code) == 2; isGroup && !slices.Contains(codes, c.Code[:1]) {
				t.Errorf("%s: %s is of no division", list, c.Code)
			}
			for language, name := range map[string]string{"en": c.English, "de": c.German, "fr": c.French} {
				if name == "" || seen[language+name] {
					t.Errorf("%s: %s is called %q in %s", list, c.Code, name, language)
				}
				seen[language+name] = true
			}
		}
	}
}
