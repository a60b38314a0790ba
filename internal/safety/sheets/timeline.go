package sheets

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/internal/catalog"
	"holdfast/internal/safety/evidence"
)

// longestValue is how long a value of a change may be that is told beside the sentence, in
// characters: longer texts are read in the record.
const longestValue = 80

// tellTimeline tells what happened to an incident, oldest first, as the page of it does.
func (x *incident) tellTimeline(happened []evidence.Entry) entries {
	r, _ := x.p.store.Catalog().Get("incidents")
	var list entries
	for _, e := range x.addBeginning(happened) {
		if told, ok := x.tellEntry(r, e); ok {
			list = append(list, told)
		}
	}
	return list
}

// addBeginning puts the report before the rest for those who do not read the audit log.
func (x *incident) addBeginning(happened []evidence.Entry) []evidence.Entry {
	at := x.row.ReportedAt
	if at == "" || slices.ContainsFunc(happened, func(e evidence.Entry) bool { return e.Kind == "made" }) {
		return happened
	}
	begun := evidence.Entry{At: at, Kind: "made"}
	if by := cmp.Or(x.row.ReportedBy, x.row.CreatedBy); by != "" {
		begun.By = &by
	}
	return append([]evidence.Entry{begun}, happened...)
}

// saidLimit says that a timeline has more than it tells.
func (k *reading) saidLimit(happened []evidence.Entry) passage {
	kinds := map[string]int{}
	for _, e := range happened {
		kinds[e.Kind]++
	}
	for _, n := range kinds {
		if n >= evidence.LongestTimeline {
			return passage{text: k.words.sayText("Of each kind the latest {n} entries are told.",
				"n", evidence.LongestTimeline)}
		}
	}
	return passage{}
}

// tellEntry tells one entry; one that changes nothing that people know says nothing.
func (k *reading) tellEntry(r *catalog.Resource, e evidence.Entry) (entry, bool) {
	w := k.words
	told := entry{at: k.formatMoment(e.At)}
	who, by := w.sayText("Somebody"), w.sayText("A program")
	if e.By != nil {
		who = k.personOf(*e.By)
		by = who
	}
	switch e.Kind {
	case "made":
		told.said = w.sayText("It was reported")
		if e.By != nil {
			told.said = w.sayText("{who} reported it", "who", who)
		}
	case "comment":
		told.said, told.text = w.sayText("{who} said", "who", who), e.Text
		if e.Struck {
			told.said = w.sayText("{who} said, and it is struck out", "who", who)
		}
	case "file":
		told.said = w.sayText("{who} added the file {what}", "who", who, "what", e.Text)
	case "photo":
		told.said, told.text = w.sayText("{who} added a photo", "who", who), e.Text
	default:
		return told, k.tellChanges(r, e, by, &told)
	}
	return told, true
}

// tellChanges tells what somebody changed: the state in a sentence of its own, short
// values before and after.
func (k *reading) tellChanges(r *catalog.Resource, e evidence.Entry, by string, told *entry) bool {
	var names []string
	for _, c := range e.Changes {
		f, _ := r.Field(c.Field)
		if r.States != nil && c.Field == r.States.Field {
			told.said = k.words.sayText("{who} set it from “{from}” to “{to}”", "who", by,
				"from", k.words.translateWord(plainText(c.Before)), "to", k.words.translateWord(plainText(c.After)))
			continue
		}
		if f == nil || f.ReadOnly {
			continue
		}
		label := k.words.findText(f.Label)
		names = append(names, label)
		if before, after, ok := k.tellValues(f, c); ok {
			told.small = append(told.small, fmt.Sprintf("%s: %s → %s", label, before, after))
		}
	}
	if told.said == "" && len(names) > 0 {
		told.said = k.words.sayText("{who} changed: {what}", "who", by, "what", strings.Join(names, ", "))
	}
	return told.said != ""
}

// tellValues tells the values of a change that are short enough, and not kept to the log.
func (k *reading) tellValues(f *catalog.Field, c evidence.Change) (before, after string, ok bool) {
	if c.Masked || f.Type == catalog.JSON {
		return "", "", false
	}
	before, after = k.tellValue(f, c.Before), k.tellValue(f, c.After)
	return before, after, utf8.RuneCountInString(before) <= longestValue && utf8.RuneCountInString(after) <= longestValue
}

func (k *reading) tellValue(f *catalog.Field, raw json.RawMessage) string {
	var said []string
	for _, text := range textsIn(raw) {
		said = append(said, k.tellText(f, text))
	}
	if text := joinSaid(", ", said...); text != "" {
		return text
	}
	return k.words.sayText("empty")
}

func (k *reading) tellText(f *catalog.Field, text string) string {
	switch {
	case f.Names == "members":
		return k.personOf(text)
	case f.Ref != "":
		if name := k.named[text]; name != "" {
			return name
		}
		return k.words.translateWord(catalog.Label(f.Name))
	case len(f.OneOf) > 0:
		return k.words.translateWord(text)
	case f.Type == catalog.Time:
		return k.formatMoment(text)
	case f.Type == catalog.Date:
		return k.formatDay(text)
	case text == "true":
		return k.words.sayText("Yes")
	case text == "false":
		return k.words.sayText("No")
	}
	return text
}

// plainText is a JSON value as text; null is "".
func plainText(raw json.RawMessage) string {
	return strings.Join(textsIn(raw), ", ")
}

// textsIn lists the texts of a JSON value, of a list each of its members; null is none.
func textsIn(raw json.RawMessage) []string {
	var text *string
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return nil
		}
		return []string{*text}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var all []string
		for _, x := range list {
			all = append(all, textsIn(x)...)
		}
		return all
	}
	return []string{string(raw)}
}

// peopleIn lists the accounts that a timeline names.
func (k *reading) peopleIn(resource string, happened []evidence.Entry) (ids []string) {
	for _, e := range happened {
		if e.By != nil {
			ids = append(ids, *e.By)
		}
	}
	return append(ids, k.changedIDs(resource, happened, func(f *catalog.Field) bool { return f.Names == "members" })...)
}

// nameChanged learns what the places and sites are called that changes name.
func (k *reading) nameChanged(resource string, happened []evidence.Entry) error {
	for _, of := range [...]string{"zones", "sites"} {
		ids := k.changedIDs(resource, happened, func(f *catalog.Field) bool { return f.Ref == of })
		if _, err := k.nameRecords(of, ids); err != nil {
			return err
		}
	}
	return nil
}

// changedIDs lists what changes of some fields name, before and after.
func (k *reading) changedIDs(
	resource string, happened []evidence.Entry, wants func(*catalog.Field) bool,
) (ids []string) {
	r, _ := k.p.store.Catalog().Get(resource)
	for _, e := range happened {
		for _, c := range e.Changes {
			if f, ok := r.Field(c.Field); ok && wants(f) {
				ids = append(ids, append(textsIn(c.Before), textsIn(c.After)...)...)
			}
		}
	}
	return ids
}
