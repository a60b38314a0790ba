package query

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/fault"
)

// parser counts what one request may hold across its parameters.
type parser struct {
	req                  *Request
	conds, items, embeds int
	seen                 map[string]bool
}

// Parse reads a raw query string by the grammar alone.
func Parse(raw string) (*Request, error) {
	ps, err := splitPairs(raw)
	if err != nil {
		return nil, err
	}
	p := &parser{req: &Request{}}
	for _, kv := range ps {
		if err := p.parseParameter(kv.key, kv.value); err != nil {
			return nil, err
		}
	}
	return p.req, nil
}

// refuseSecond refuses the second appearance of a parameter that can only have one
// meaning.
func (p *parser) refuseSecond(key string) error {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if p.seen[key] {
		return fault.New(fault.Invalid, "PGRST100", "parameter %q is given twice", clipText(key))
	}
	p.seen[key] = true
	return nil
}

func (p *parser) parseParameter(key, value string) (err error) {
	s := &scanner{in: value, param: key}
	switch key {
	case "select":
		if err = p.refuseSecond(key); err == nil {
			p.req.Select, err = p.parseItems(s, 0)
		}
		return atEnd(s, err)
	case "columns":
		if err = p.refuseSecond(key); err == nil {
			p.req.Columns, err = s.readNames()
		}
		if len(p.req.Columns) == 0 {
			p.req.Columns = nil // those of the body
		}
		return err
	case "cursor":
		return p.parseCursor(value)
	case "on_conflict":
		if err = p.refuseSecond(key); err == nil {
			p.req.Conflict, err = s.readNames()
		}
		return err
	}
	path, col, err := splitKey(key)
	if err != nil {
		return err
	}
	if len(col.Steps) == 0 {
		switch col.Name {
		case "order":
			return p.parseOrder(s, path)
		case "limit", "offset":
			return p.parsePage(s, path, col.Name)
		case "and", "or":
			return p.parseLogic(s, path, col.Name)
		}
	}
	return p.parseFilter(s, path, col)
}

func atEnd(s *scanner, err error) error {
	if err != nil {
		return err
	}
	return s.expectEnd()
}

// splitKey takes a key apart into the embeds it passes through and the column.
func splitKey(key string) ([]string, Column, error) {
	s := &scanner{in: key, param: key}
	var path []string
	for {
		c, err := s.readColumn()
		if err != nil {
			return nil, Column{}, err
		}
		if len(c.Steps) == 0 && s.take(".") {
			if len(path) > maxEmbedDepth {
				return nil, Column{}, tooMany(key, "levels", maxEmbedDepth)
			}
			path = append(path, c.Name)
			continue
		}
		return path, c, s.expectEnd()
	}
}

// readNames reads the comma list of columns and on_conflict.
func (s *scanner) readNames() ([]string, error) {
	out := []string{}
	s.skipBlanks()
	if s.eof() {
		return out, nil
	}
	for {
		n, err := s.readName()
		if err != nil {
			return nil, err
		}
		if len(out) == maxColumns {
			return nil, tooMany(s.param, "columns", maxColumns)
		}
		out = append(out, n)
		s.skipBlanks()
		if !s.take(",") {
			return out, s.expectEnd()
		}
	}
}

// parseItems reads select items up to the end or a closing parenthesis.
func (p *parser) parseItems(s *scanner, depth int) ([]Item, error) {
	out := []Item{}
	s.skipBlanks()
	if s.eof() || s.peek() == ')' {
		return out, nil
	}
	for {
		it, err := p.parseItem(s, depth)
		if err != nil {
			return nil, err
		}
		if p.items++; p.items > maxItems {
			return nil, tooMany(s.param, "items", maxItems)
		}
		out = append(out, it)
		s.skipBlanks()
		if !s.take(",") {
			return out, nil
		}
	}
}

func (p *parser) parseItem(s *scanner, depth int) (Item, error) {
	s.skipBlanks()
	if s.take("*") {
		return Item{Star: true}, nil
	}
	var it Item
	var err error
	spread := s.take("...")
	if it.Column, err = s.readColumn(); err != nil {
		return it, err
	}
	if len(it.Column.Steps) == 0 && s.peek() == ':' && !strings.HasPrefix(s.in[s.pos:], "::") {
		s.pos++
		it.Alias = it.Column.Name
		if it.Column, err = s.readColumn(); err != nil {
			return it, err
		}
	}
	switch c := s.peek(); {
	case len(it.Column.Steps) == 0 && (c == '!' || c == '(' && !p.isCount(s, it)):
		return it, p.parseEmbed(s, &it, spread, depth)
	case spread:
		return it, s.expectedFault("expected \"(\" behind the relation to spread")
	case c == '(':
		s.pos += len("()")
		it.Func, it.Rows = "count", true
	}
	if it.Cast, err = s.readCast(); err != nil {
		return it, err
	}
	if !it.Rows && s.take(".") {
		if it.Func = s.readWord(); !slices.Contains(aggregates, it.Func) || !s.take("()") {
			return it, s.expectedFault("expected avg(), count(), max(), min() or sum()")
		}
		it.Before = it.Cast
		it.Cast, err = s.readCast()
	}
	return it, err
}

var aggregates = []string{"avg", "count", "max", "min", "sum"}

// readCast reads "::type", or nothing.
func (s *scanner) readCast() (string, error) {
	if !s.take("::") {
		return "", nil
	}
	to := s.readWord()
	if to == "" {
		return "", s.expectedFault("expected a type behind \"::\"")
	}
	return to, nil
}

// isCount reports the aggregate count(), which looks like an empty embed.
func (p *parser) isCount(s *scanner, it Item) bool {
	return it.Column.Name == "count" && strings.HasPrefix(s.in[s.pos:], "()")
}

func (p *parser) parseEmbed(s *scanner, it *Item, spread bool, depth int) error {
	e := &EmbedItem{Spread: spread}
	it.Embed = e
	for s.take("!") {
		n, err := s.readName()
		switch {
		case err != nil:
			return err
		case n == "inner":
			e.Inner = true
		case n == "left":
		case e.Hint != "":
			return s.expectedFault("a relation takes one hint")
		default:
			e.Hint = n
		}
	}
	if !s.take("(") {
		return s.expectedFault("expected \"(\" behind the relation")
	}
	if p.embeds++; p.embeds > maxEmbeds {
		return tooMany(s.param, "embedded collections", maxEmbeds)
	}
	if depth == maxEmbedDepth {
		return tooMany(s.param, "levels of embedding", maxEmbedDepth)
	}
	var err error
	if e.Items, err = p.parseItems(s, depth+1); err != nil {
		return err
	}
	if !s.take(")") {
		return s.expectedFault("expected \",\" or \")\"")
	}
	return nil
}

func (p *parser) parseOrder(s *scanner, path []string) error {
	if err := p.refuseSecond(s.param); err != nil {
		return err
	}
	o := Order{Path: path}
	for {
		t, err := s.readOrderTerm()
		if err != nil {
			return err
		}
		if len(o.Terms) == maxTerms {
			return tooMany(s.param, "terms", maxTerms)
		}
		o.Terms = append(o.Terms, t)
		s.skipBlanks()
		if !s.take(",") {
			break
		}
	}
	p.req.Orders = append(p.req.Orders, o)
	return s.expectEnd()
}

func (s *scanner) readOrderTerm() (Term, error) {
	var t Term
	var err error
	if t.Column, err = s.readColumn(); err != nil {
		return t, err
	}
	if len(t.Column.Steps) == 0 && s.take("(") {
		t.Relation = t.Column.Name
		if t.Column, err = s.readColumn(); err != nil {
			return t, err
		}
		if !s.take(")") {
			return t, s.expectedFault("expected \")\"")
		}
	}
	directed := false
	for s.take(".") {
		switch w := s.readWord(); {
		case w == "asc" && !directed && !t.NullsGiven:
			directed = true
		case w == "desc" && !directed && !t.NullsGiven:
			directed, t.Desc = true, true
		case w == "nullsfirst" && !t.NullsGiven:
			t.NullsGiven, t.NullsFirst = true, true
		case w == "nullslast" && !t.NullsGiven:
			t.NullsGiven = true
		default:
			return t, s.expectedFault("expected asc, desc, nullsfirst or nullslast")
		}
	}
	if !t.NullsGiven {
		t.NullsFirst = t.Desc
	}
	return t, nil
}

func (p *parser) parsePage(s *scanner, path []string, what string) error {
	if err := p.refuseSecond(s.param); err != nil {
		return err
	}
	n, err := strconv.ParseInt(s.in, 10, 64)
	if err != nil || s.in[0] == '+' {
		return s.expectedFault("expected a whole number")
	}
	pg := Page{Path: path, Limit: -1, Offset: -1}
	switch {
	case what == "offset":
		pg.Offset = int(min(max(n, 0), math.MaxInt32))
	case n < 0:
		return fault.New(fault.BadRange, "PGRST103", "the requested range cannot be served").
			With("the limit must not be negative", "")
	default:
		pg.Limit = int(min(n, math.MaxInt32))
	}
	p.req.Pages = append(p.req.Pages, pg)
	return nil
}
