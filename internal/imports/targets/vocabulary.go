package targets

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast/internal/imports/cell"
)

// headerLines say what columns are called in files, valueLines the members of closed
// sets; each file says how it is written.
var (
	//go:embed headers.txt
	headerLines string
	//go:embed values.txt
	valueLines string
)

// eachLine gives the lines of a vocabulary, each as its key and its words.
func eachLine(text string, give func(key string, words []string)) {
	for line := range strings.Lines(text) {
		key, words, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(line, "#") {
			give(key, strings.Split(words, "; "))
		}
	}
}

// headerWords are the folded words for columns, by target and field.
var headerWords = sync.OnceValue(func() map[string][]string {
	lists, all := map[string][]string{}, map[string][]string{}
	eachLine(headerLines, func(key string, words []string) {
		if strings.HasPrefix(key, "@") {
			lists[key] = append(lists[key], words...)
		}
	})
	eachLine(headerLines, func(key string, words []string) {
		for _, w := range words {
			list := []string{w}
			if strings.HasPrefix(w, "@") {
				list = lists[w]
			}
			for _, word := range list {
				if fold := cell.Fold(word); !slices.Contains(all[key], fold) {
					all[key] = append(all[key], fold)
				}
			}
		}
	})
	return all
})

// memberWords are the members by their folded words, by field, or target and field.
var memberWords = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	eachLine(valueLines, func(key string, words []string) {
		if other, ok := strings.CutPrefix(words[0], "@"); ok {
			all[key] = all[other]
			return
		}
		at := strings.LastIndexByte(key, '.')
		field, member := key[:at], key[at+1:]
		if all[field] == nil {
			all[field] = map[string]string{}
		}
		for _, w := range words {
			all[field][cell.Fold(w)] = member
		}
	})
	return all
})

// valueWords are the members that a field of a target has words for.
func valueWords(target, field string) map[string]string {
	words := maps.Clone(memberWords()[field])
	if words == nil {
		words = map[string]string{}
	}
	maps.Copy(words, memberWords()[target+"."+field])
	return words
}

// ImpliedMember is the member of a column's closed set that a header says of every row:
// the date of an injury is one of injuries. "" = it says none.
func (t *Target) ImpliedMember(c *Column, header string) string {
	fold := cell.Fold(header)
	for _, member := range c.Field.OneOf {
		if slices.Contains(headerWords()["every."+t.Name+"."+c.Name+"."+member], fold) {
			return member
		}
	}
	return ""
}

// PartWords are the folded words for a part of a field, in whatever field it stands: date
// and clock of a time, first and last of a person's name.
func PartWords(kind string) []string { return headerWords()["part."+kind] }

// PartWords are the folded words for a part of the column's field: those for any, and
// those that name the field too, as start date.
func (c *Column) PartWords(kind string) []string {
	general := PartWords(kind)
	var words []string
	for _, own := range c.Fold {
		for _, w := range general {
			words = append(words, own+w, w+own)
		}
	}
	return append(words, general...)
}

// NamesPerson reports a column that holds a person's name, or that a person is found
// by.
func (c *Column) NamesPerson(t *Target) bool {
	return t.Name == "workers" && c.Name == "name" || c.Field.Ref == "workers" || c.Field.Ref == Holders
}

// baseUnit is the field of the unit that an item is counted in.
const baseUnit = "base_uom"

// UnitCode is the code of the unit (UN/CEFACT Recommendation 20) that a word or a code
// names.
func UnitCode(word string) (code string, ok bool) {
	if code = memberWords()[baseUnit][cell.Fold(word)]; code != "" {
		return code, true
	}
	isCode := len(word) > 1 && len(word) < 4 && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	return word, isCode
}

// UnitField is the field of the unit that a row's quantities are in, "" = it is the
// item's.
func (t *Target) UnitField() string {
	for _, name := range []string{"uom", baseUnit} {
		if t.Column(name) != nil {
			return name
		}
	}
	return ""
}
