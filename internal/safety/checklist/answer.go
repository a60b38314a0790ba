package checklist

import (
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Result is how an answer was judged.
type Result string

// Results of an answer.
const (
	Pass Result = "pass"
	Fail Result = "fail"
	NA   Result = "na"
)

var errAnswer = errors.New("not an answer of this kind")

// readAnswer reads an answer of the item's kind.
func (it *Item) readAnswer(raw json.RawMessage) (answer, error) {
	if it.Type == Number {
		var f *float64
		if json.Unmarshal(raw, &f) != nil || f == nil || !isFinite(*f) {
			return answer{}, errAnswer
		}
		return answer{number: *f}, nil
	}
	if it.Type == Photo {
		var ids []string
		if json.Unmarshal(raw, &ids) != nil || len(ids) == 0 || len(ids) > 20 {
			return answer{}, errAnswer
		}
		for _, id := range ids {
			if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
				return answer{}, errAnswer
			}
		}
		return answer{text: string(raw)}, nil
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return answer{}, errAnswer
	}
	n, ok := utf8.RuneCountInString(*s), true
	switch it.Type {
	case YesNo:
		ok = *s == "yes" || *s == "no" || *s == "na"
	case Choice:
		ok = slices.Contains(it.Options, *s)
	case Text:
		ok = n > 0 && n <= 2000
	case Signature:
		ok = n > 0 && n <= 200
	}
	if !ok {
		return answer{}, errAnswer
	}
	return answer{text: *s}, nil
}

// Form says what an answer of the item must be, for a message.
func (it *Item) Form() string {
	switch it.Type {
	case YesNo:
		return `must be "yes", "no" or "na"`
	case Number:
		return "must be a number"
	case Choice:
		return "must be one of the item's options"
	case Photo:
		return "must be an array of 1-20 ids of photos"
	case Signature:
		return "must be the name as signed, 1-200 characters"
	}
	return "must be a text of 1-2000 characters"
}

// Judge reads an answer and says how it turned out. ok is false for a value
// that is no answer to this item.
func (t *Template) Judge(it *Item, raw json.RawMessage) (r Result, ok bool) {
	a, err := it.readAnswer(raw)
	if err != nil {
		return "", false
	}
	return t.judgeAnswer(it, a), true
}

func (t *Template) judgeAnswer(it *Item, a answer) Result {
	switch {
	case it.Type == YesNo && a.text == "na":
		return NA
	case it.FailWhen != nil:
		if t.isMet(it.FailWhen, it, map[string]answer{it.Key: a}) {
			return Fail
		}
	case it.Type == YesNo && a.text == "no":
		return Fail
	}
	return Pass
}

// weightOf is what an answer counts for.
func (it *Item) weightOf() int64 {
	if it.Weight != nil {
		return *it.Weight
	}
	if it.Type == YesNo || it.Type == Number || it.Type == Choice {
		return 1
	}
	return 0
}

// Review is a whole inspection judged. Answers to items that are not asked
// count for nothing.
type Review struct {
	Passed, Failed, FailedCritical int64
	PassedWeight, FailedWeight     int64
	Missing                        []string // keys of required items without an answer
	asked                          map[string]bool
}

// Asked reports whether an item is asked, given the answers.
func (r *Review) Asked(key string) bool { return r.asked[key] }

// Review judges the answers of an inspection, by key. Values that are no
// answers count as absent.
func (t *Template) Review(values map[string]json.RawMessage) *Review {
	r := &Review{asked: map[string]bool{}}
	answers := map[string]answer{}
	for key, raw := range values {
		if it := t.byKey[key]; it != nil {
			if a, err := it.readAnswer(raw); err == nil {
				answers[key] = a
			}
		}
	}
	t.showAsked(answers, r.asked)
	for _, it := range t.order {
		a, ok := answers[it.Key]
		switch {
		case !r.asked[it.Key]:
		case !ok && it.Required:
			r.Missing = append(r.Missing, it.Key)
		case ok:
			r.addResult(it, t.judgeAnswer(it, a))
		}
	}
	return r
}

func (r *Review) addResult(it *Item, res Result) {
	switch res {
	case Pass:
		r.Passed++
		r.PassedWeight += it.weightOf()
	case Fail:
		r.Failed++
		r.FailedWeight += it.weightOf()
		if it.Critical {
			r.FailedCritical++
		}
	}
}

// showAsked finds the items that are asked and takes the answers of others away:
// what is not asked has no say in what else is. Conditions have no cycle, so
// one pass in the order of reference settles it.
func (t *Template) showAsked(answers map[string]answer, asked map[string]bool) {
	done := map[string]bool{}
	var visit func(it *Item)
	visit = func(it *Item) {
		if done[it.Key] {
			return
		}
		done[it.Key] = true
		for _, key := range it.ShowWhen.itemKeys(nil) {
			visit(t.byKey[key])
		}
		if it.ShowWhen != nil && !t.isMet(it.ShowWhen, nil, answers) {
			delete(answers, it.Key)
			return
		}
		asked[it.Key] = true
	}
	for _, it := range t.order {
		visit(it)
	}
}
