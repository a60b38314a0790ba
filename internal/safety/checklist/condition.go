package checklist

import (
	"encoding/json"
	"holdfast/internal/fault"
	"math"
	"slices"
)

// Condition is a comparison of one answer, or several conditions joined. An
// item that has no answer meets no comparison.
type Condition struct {
	Item  string          `json:"item,omitempty"`
	Op    string          `json:"op,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	All   []Condition     `json:"all,omitempty"`
	Any   []Condition     `json:"any,omitempty"`
}

// Bounds of one condition.
const (
	maxDepth = 4
	maxJoin  = 20
)

// itemKeys appends the keys a condition asks about.
func (c *Condition) itemKeys(keys []string) []string {
	if c == nil {
		return keys
	}
	if c.Item != "" {
		keys = append(keys, c.Item)
	}
	for i := range c.All {
		keys = c.All[i].itemKeys(keys)
	}
	for i := range c.Any {
		keys = c.Any[i].itemKeys(keys)
	}
	return keys
}

// checkCondition checks a condition of item it. own is the item whose answer is
// meant where none is named; nil = one must be named.
func (t *Template) checkCondition(it *Item, c *Condition, own *Item, depth int) error {
	joined := len(c.All) + len(c.Any)
	switch {
	case depth == maxDepth:
		return refuseSections("item %q: conditions are nested more than %d deep", it.Key, maxDepth)
	case joined > maxJoin:
		return refuseSections("item %q: at most %d conditions are joined", it.Key, maxJoin)
	case joined > 0 && (c.Op != "" || c.Item != "" || len(c.Value) > 0 || len(c.All) > 0 && len(c.Any) > 0):
		return refuseSections("item %q: a condition is {op, value}, {all} or {any}, not several of them", it.Key)
	case joined > 0:
		for _, list := range [][]Condition{c.All, c.Any} {
			for i := range list {
				if err := t.checkCondition(it, &list[i], own, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	about := own
	if own == nil {
		if about = t.byKey[c.Item]; about == nil {
			return refuseSections("item %q: show_when asks about %q, which is no item", it.Key, fault.Clip(c.Item, 40))
		}
	} else if c.Item != "" {
		return refuseSections("item %q: fail_when is about the item's own answer and names no other", it.Key)
	}
	return checkComparison(it, c, about)
}

// checkComparison checks that an operator and value fit the answers of an item.
func checkComparison(it *Item, c *Condition, about *Item) error {
	values := []json.RawMessage{c.Value}
	switch c.Op {
	case "answered":
		if len(c.Value) > 0 {
			return refuseSections("item %q: answered takes no value", it.Key)
		}
		return nil
	case "<", "<=", ">", ">=":
		if about.Type != Number {
			return refuseSections("item %q: %s compares numbers, %q has none", it.Key, c.Op, about.Key)
		}
	case "in":
		values = nil // reading into the slice would write over the condition's own value
		if json.Unmarshal(c.Value, &values) != nil || len(values) == 0 || len(values) > maxOptions {
			return refuseSections("item %q: in takes an array of 1-%d values", it.Key, maxOptions)
		}
	case "==", "!=":
	default:
		return refuseSections("item %q: op %q must be ==, !=, <, <=, >, >=, in or answered", it.Key, fault.Clip(c.Op, 40))
	}
	if about.Type == Photo || about.Type == Signature {
		return refuseSections("item %q: a %s can only be compared with answered", it.Key, about.Type)
	}
	for _, v := range values {
		if _, err := about.readAnswer(v); err != nil {
			return refuseSections("item %q: no answer of %q can be %s", it.Key, about.Key, fault.Clip(string(v), 40))
		}
	}
	return nil
}

// answer is a value read: a text or a number.
type answer struct {
	text   string
	number float64
}

func (a answer) equalTo(b answer) bool { return a == b }

// isMet reports whether a condition is met; about is the answer meant where
// the condition names no item.
func (t *Template) isMet(c *Condition, own *Item, answers map[string]answer) bool {
	if len(c.All) > 0 {
		return !slices.ContainsFunc(c.All, func(x Condition) bool { return !t.isMet(&x, own, answers) })
	}
	if len(c.Any) > 0 {
		return slices.ContainsFunc(c.Any, func(x Condition) bool { return t.isMet(&x, own, answers) })
	}
	about := own
	if c.Item != "" {
		about = t.byKey[c.Item]
	}
	if about == nil {
		return false
	}
	got, ok := answers[about.Key]
	if !ok || c.Op == "answered" {
		return ok
	}
	return c.isMetBy(got, about)
}

func (c *Condition) isMetBy(got answer, about *Item) bool {
	if c.Op == "in" {
		var list []json.RawMessage
		// Parse has checked that it is an array.
		_ = json.Unmarshal(c.Value, &list)
		return slices.ContainsFunc(list, func(v json.RawMessage) bool {
			want, err := about.readAnswer(v)
			return err == nil && got.equalTo(want)
		})
	}
	want, err := about.readAnswer(c.Value)
	if err != nil {
		return false
	}
	switch c.Op {
	case "==":
		return got.equalTo(want)
	case "!=":
		return !got.equalTo(want)
	case "<":
		return got.number < want.number
	case "<=":
		return got.number <= want.number
	case ">":
		return got.number > want.number
	}
	return got.number >= want.number
}

// isFinite reports a number that JSON could hold and a report can print.
func isFinite(f float64) bool { return !math.IsNaN(f) && math.Abs(f) <= 1e12 }
