package coding

import (
	"slices"
	"testing"
)

// Every code stands once, in order, with a name in each language that no other of its list
// has.
func TestLists(t *testing.T) {
	for list, digits := range map[string]int{TypeOfInjury: 3, PartOfBody: 2, Deviation: 2, Contact: 2} {
		codes := CodesOf(list)
		if len(codes) < 40 || !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
			t.Errorf("%s: %v", list, codes)
		}
		seen := map[string]bool{}
		for _, c := range lists[list] {
			if len(c.Code) != digits {
				t.Errorf("%s: %q is no code of %d digits", list, c.Code, digits)
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
