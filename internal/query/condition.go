package query

import (
	"encoding/json"
	rx "regexp/syntax"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
)

func (b *binder) bindCondition(n *Node, c Cond) (pred, error) {
	p := pred{not: c.Not, join: c.Join, op: c.Op, all: c.All, quant: c.Quant, steps: c.Column.Steps, text: c.Column.Text}
	if c.Join != Leaf {
		for _, k := range c.Kids {
			kp, err := b.bindCondition(n, k)
			if err != nil {
				return p, err
			}
			p.kids = append(p.kids, kp)
		}
		return p, nil
	}
	if _, ok := n.Resource.Field(c.Column.Name); !ok && len(c.Column.Steps) == 0 {
		if e := n.findEmbed(c.Column.Name); e != nil {
			return nullEmbed(p, e, c)
		}
	}
	var err error
	if p.field, err = b.findVisibleField(n, c.Column); err != nil {
		return p, err
	}
	return p, b.bindValues(&p, c)
}

// nullEmbed is rel=is.null and rel=not.is.null.
func nullEmbed(p pred, e *Embed, c Cond) (pred, error) {
	word := strings.ToLower(c.Value)
	if c.Op != Is || word != "null" && word != "not_null" {
		return p, fault.New(fault.Invalid, "PGRST120",
			"an embedded collection can only be compared with is.null or not.is.null")
	}
	p.embed = e
	p.not = p.not != (word == "not_null")
	return p, nil
}

// bindValues checks the operator against the column and types what it compares.
func (b *binder) bindValues(p *pred, c Cond) error {
	f := p.field
	if len(p.steps) > 0 {
		// A path's value is text; -> compares JSON text.
		f = &catalog.Field{Name: f.Name, Type: catalog.Text}
	}
	texts := []string{c.Value}
	switch {
	case c.Quant || c.Op == In:
		texts = c.List
	case c.Op == Is:
		return p.bindIs(c.Value, f)
	case c.Op == Contains || c.Op == Contained || c.Op == Overlap:
		return p.bindMembers(f, c.Value)
	}
	if f.Type == catalog.JSON {
		return noOperator(f)
	}
	pattern := c.Op == Like || c.Op == ILike || c.Op == Match || c.Op == IMatch
	if pattern && f.Type != catalog.Text {
		return noOperator(f)
	}
	if len(p.steps) > 0 && !p.text && !pattern {
		if done, err := p.compareAsNumbers(c.Op, texts); done || err != nil {
			return err
		}
	}
	p.args = make([]any, len(texts))
	for i, t := range texts {
		var err error
		if p.args[i], err = fromText(f, t); err != nil {
			return err
		}
		if pattern {
			if p.args[i], err = b.likePattern(c.Op, t, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareAsNumbers compares a JSON value with numbers by what they are worth. What is
// no number is compared as JSON text, for which greater and less mean nothing.
func (p *pred) compareAsNumbers(op Op, texts []string) (done bool, err error) {
	args := make([]any, len(texts))
	for i, t := range texts {
		n, ok := jsonNumber(t)
		if !ok {
			if op == Gt || op == Gte || op == Lt || op == Lte {
				return false, refuseUnserved("greater or less than a JSON value that is no number")
			}
			return false, nil
		}
		args[i] = n
	}
	p.exact, p.args = len(texts) > 0, args
	return true, nil
}

func noOperator(f *catalog.Field) error {
	return fault.New(fault.NotFound, "42883", "operator does not exist for column %q of type %s", f.Name, f.Type)
}

// likePattern turns PostgREST's * into %, and refuses regular expressions that RE2
// does not read, or that take long.
func (b *binder) likePattern(op Op, t string, f *catalog.Field) (string, error) {
	if op == Like || op == ILike {
		if len(t) > maxLike {
			return "", refuseValue(f, "22001", "the pattern is longer than %d bytes", maxLike)
		}
		t = strings.ReplaceAll(t, "*", "%")
		if n := len(t) - len(strings.TrimRight(t, `\`)); n%2 == 1 {
			return "", refuseValue(f, "22025", "a LIKE pattern must not end with an escape character")
		}
		return t, nil
	}
	if len([]rune(t)) > maxPattern {
		return "", refuseValue(f, "2201B", "the regular expression is longer than %d characters", maxPattern)
	}
	if b.patterns++; b.patterns > maxPatterns {
		return "", fault.New(fault.Invalid, "PGRST100", "more than %d regular expressions", maxPatterns)
	}
	re, err := rx.Parse(t, rx.Perl)
	if err != nil {
		return "", refuseValue(f, "2201B", "invalid regular expression")
	}
	if prog, err := rx.Compile(re.Simplify()); err != nil || len(prog.Inst) > maxProgram {
		return "", refuseValue(f, "2201B", "the regular expression is too large: repeat fewer times")
	}
	return t, nil
}

func (p *pred) bindIs(word string, f *catalog.Field) error {
	switch w := strings.ToLower(word); w {
	case "null":
		p.word = w
	case "not_null":
		p.word, p.not = "null", !p.not
	case "true", "false", "unknown":
		if f.Type != catalog.Bool {
			return fault.New(fault.Invalid, "42804", "argument of IS %s must be boolean, column %q is %s", strings.ToUpper(w),
				f.Name, f.Type)
		}
		if p.word = w; w == "unknown" {
			p.word = "null"
		}
	default:
		return parseFault(p.field.Name, word).With("is takes null, not_null, true, false or unknown", "")
	}
	return nil
}

// bindDocument reads the JSON value that a document contains, or is contained in.
func (p *pred) bindDocument(f *catalog.Field, value string) error {
	if p.op == Overlap {
		return noOperator(f)
	}
	if !json.Valid([]byte(value)) || len(value) > maxDocument || checkNesting([]byte(value)) != nil {
		return refuseSyntax(f, value)
	}
	text, reason := NormalizeDocument([]byte(value))
	if reason != "" || holdsNUL(text) {
		return refuseSyntax(f, value)
	}
	p.args = []any{string(text)}
	return nil
}

// bindMembers reads the elements of cs, cd and ov.
func (p *pred) bindMembers(f *catalog.Field, value string) error {
	if f.Type == catalog.JSON {
		return p.bindDocument(f, value)
	}
	if f.Type != catalog.Array {
		return noOperator(f)
	}
	list, err := splitBraces(f.Name, strings.TrimSpace(value))
	if err != nil {
		return refuseValue(f, "22P02", "malformed array literal: %q", clipText(value))
	}
	for _, s := range list {
		p.args = append(p.args, spelledText(f, s))
	}
	return nil
}
