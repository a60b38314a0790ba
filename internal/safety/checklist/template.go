// Package checklist says what an inspection asks, how its answers are judged,
// and when it comes back. It knows no database.
//
// Layer: domains. Begin at [Parse].
package checklist

import (
	"bytes"
	"encoding/json"
	"regexp"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// Code is the code of this package's faults: a template, answer or recurrence
// that cannot be.
const Code = "HF011"

// Kind is what an item's answer is.
type Kind string

// Kinds of answers.
const (
	YesNo     Kind = "yes_no_na" // "yes", "no" or "na"
	Number    Kind = "number"
	Choice    Kind = "choice" // one of the options
	Text      Kind = "text"
	Photo     Kind = "photo"     // array of ids of photos
	Signature Kind = "signature" // the name as typed
)

// What a failed item brings about.
const (
	OpensAction   = "action"   // a corrective action; what critical items do unless they say otherwise
	OpensIncident = "incident" // a hazard report
	OpensNothing  = "none"
)

// Bounds of a template, against input that would only cost memory.
const (
	maxSections = 50
	maxItems    = 300
	maxOptions  = 50
	maxWeight   = 1000
)

// Item is one question.
type Item struct {
	Key      string     `json:"key"` // unique in the template, [a-z0-9_]{1,40}
	Prompt   string     `json:"prompt"`
	Type     Kind       `json:"type"`
	Required bool       `json:"required,omitempty"`
	Critical bool       `json:"critical,omitempty"`
	Weight   *int64     `json:"weight,omitempty"` // 0-1000; 1 when absent, 0 for text, photo and signature
	Options  []string   `json:"options,omitempty"`
	Unit     string     `json:"unit,omitempty"`
	FailWhen *Condition `json:"fail_when,omitempty"` // on the own answer; "no" fails a yes_no_na without one
	ShowWhen *Condition `json:"show_when,omitempty"` // on other answers; always shown without one
	OnFail   string     `json:"on_fail,omitempty"`
}

// Section is a heading and its items.
type Section struct {
	Title string `json:"title"`
	Items []Item `json:"items"`
}

// Template is what an inspection asks.
type Template struct {
	Sections []Section
	byKey    map[string]*Item
	order    []*Item // as they are asked
}

// Parse reads and checks a template's sections. The fault is Invalid, stands
// at "sections" and names the item.
func Parse(raw []byte) (*Template, error) {
	t := &Template{byKey: map[string]*Item{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&t.Sections); err != nil {
		return nil, refuseSections("must be an array of {title, items}: %v", err)
	}
	if len(t.Sections) > maxSections {
		return nil, refuseSections("at most %d sections", maxSections)
	}
	for s := range t.Sections {
		if n := utf8.RuneCountInString(t.Sections[s].Title); n > 200 {
			return nil, refuseSections("section %d: title has %d characters, at most 200", s+1, n)
		}
		for i := range t.Sections[s].Items {
			if err := t.addItem(&t.Sections[s].Items[i]); err != nil {
				return nil, err
			}
		}
	}
	for _, it := range t.order {
		if err := t.checkConditions(it); err != nil {
			return nil, err
		}
	}
	return t, t.refuseCycle()
}

func refuseSections(format string, args ...any) error {
	return fault.New(fault.Invalid, Code, "sections "+format, args...).At("sections", format, args...)
}

var keyForm = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// addItem checks what an item says of itself.
func (t *Template) addItem(it *Item) error {
	n := utf8.RuneCountInString(it.Prompt)
	switch {
	case !keyForm.MatchString(it.Key):
		return refuseSections("item %d: key %q must be 1-40 of a-z, 0-9 and _", len(t.order)+1, fault.Clip(it.Key, 40))
	case t.byKey[it.Key] != nil:
		return refuseSections("item %q is there twice", it.Key)
	case len(t.order) == maxItems:
		return refuseSections("at most %d items", maxItems)
	case n == 0 || n > 500:
		return refuseSections("item %q: prompt must have 1-500 characters", it.Key)
	case it.Weight != nil && (*it.Weight < 0 || *it.Weight > maxWeight):
		return refuseSections("item %q: weight must be 0-%d", it.Key, maxWeight)
	case utf8.RuneCountInString(it.Unit) > 20:
		return refuseSections("item %q: unit has more than 20 characters", it.Key)
	case it.OnFail != "" && it.OnFail != OpensAction && it.OnFail != OpensIncident && it.OnFail != OpensNothing:
		return refuseSections("item %q: on_fail must be action, incident or none", it.Key)
	}
	switch it.Type {
	case YesNo, Number, Choice, Text, Photo, Signature:
	default:
		return refuseSections("item %q: type must be yes_no_na, number, choice, text, photo or signature", it.Key)
	}
	t.byKey[it.Key] = it
	t.order = append(t.order, it)
	return it.checkOptions()
}

func (it *Item) checkOptions() error {
	if it.Type != Choice {
		if len(it.Options) > 0 {
			return refuseSections("item %q: only a choice has options", it.Key)
		}
		return nil
	}
	seen := map[string]bool{}
	for _, o := range it.Options {
		if n := utf8.RuneCountInString(o); n == 0 || n > 100 || seen[o] {
			return refuseSections("item %q: options must be different texts of 1-100 characters", it.Key)
		}
		seen[o] = true
	}
	if len(seen) < 2 || len(seen) > maxOptions {
		return refuseSections("item %q: a choice has 2-%d options", it.Key, maxOptions)
	}
	return nil
}

// checkConditions checks what an item's conditions refer to.
func (t *Template) checkConditions(it *Item) error {
	if it.FailWhen != nil {
		if err := t.checkCondition(it, it.FailWhen, it, 0); err != nil {
			return err
		}
	}
	if it.ShowWhen != nil {
		return t.checkCondition(it, it.ShowWhen, nil, 0)
	}
	return nil
}

// refuseCycle refuses items whose show_when leads back to themselves: none of them
// could ever be asked.
func (t *Template) refuseCycle() error {
	const walking, done = 1, 2
	state := map[string]int{}
	var walk func(it *Item) error
	walk = func(it *Item) error {
		switch state[it.Key] {
		case done:
			return nil
		case walking:
			return refuseSections("item %q: show_when leads back to the item itself", it.Key)
		}
		state[it.Key] = walking
		for _, key := range it.ShowWhen.itemKeys(nil) {
			if err := walk(t.byKey[key]); err != nil {
				return err
			}
		}
		state[it.Key] = done
		return nil
	}
	for _, it := range t.order {
		if err := walk(it); err != nil {
			return err
		}
	}
	return nil
}

// Item returns the item with a key.
func (t *Template) Item(key string) (*Item, bool) {
	it, ok := t.byKey[key]
	return it, ok
}

// Items returns every item in the order in which they are asked.
func (t *Template) Items() []*Item { return t.order }

// Opens is what a failed answer brings about: OpensAction, OpensIncident or
// OpensNothing.
func (it *Item) Opens() string {
	if it.OnFail != "" {
		return it.OnFail
	}
	if it.Critical {
		return OpensAction
	}
	return OpensNothing
}
