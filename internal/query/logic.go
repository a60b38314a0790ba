package query

import (
	"strings"

	"holdfast/internal/fault"
)

// logic reads the group of and= and or=; "not" may be the key's last level.
func (p *parser) logic(s *scanner, path []string, join string) error {
	not := false
	if n := len(path); n > 0 && path[n-1] == "not" {
		if not, path = true, path[:n-1]; n == 1 {
			path = nil
		}
	}
	c, err := p.group(s, join, 1)
	if err != nil {
		return err
	}
	c.Not = not
	p.req.Wheres = append(p.req.Wheres, Where{Path: path, Cond: c})
	s.space()
	return s.end()
}

func (p *parser) group(s *scanner, join string, depth int) (Cond, error) {
	c := Cond{Join: And}
	if join == "or" {
		c.Join = Or
	}
	if depth > maxDepth {
		return c, tooMany(s.param, "nested groups", maxDepth)
	}
	s.space()
	if !s.take("(") {
		return c, s.fail("expected \"(\" before the conditions")
	}
	for {
		k, err := p.condition(s, depth)
		if err != nil {
			return c, err
		}
		c.Kids = append(c.Kids, k)
		s.space()
		if s.take(",") {
			continue
		}
		if !s.take(")") {
			return c, s.fail("expected \",\" or \")\"")
		}
		return c, nil
	}
}

func (p *parser) condition(s *scanner, depth int) (Cond, error) {
	s.space()
	for _, g := range []string{"and", "or", "not.and", "not.or"} {
		at := s.pos
		if s.take(g) {
			if s.space(); s.peek() == '(' {
				c, err := p.group(s, strings.TrimPrefix(g, "not."), depth+1)
				c.Not = strings.HasPrefix(g, "not.")
				return c, err
			}
			s.pos = at
		}
	}
	col, err := s.column()
	if err != nil {
		return Cond{}, err
	}
	if !s.take(".") {
		return Cond{}, s.fail("expected \".\" and an operator")
	}
	c, err := p.comparison(s, col)
	if err != nil {
		return c, err
	}
	switch {
	case c.Op == In:
		c.List, err = s.list()
	case s.peek() == '{':
		c.Value, err = s.unit()
	default:
		c.Value = s.member()
	}
	if err == nil && c.Quant {
		c.List, err = braces(s.param, c.Value)
	}
	return c, err
}

// unit reads "{...}" whole; commas inside belong to it.
func (s *scanner) unit() (string, error) {
	start := s.pos
	for s.pos < len(s.in) && s.in[s.pos] != '}' {
		s.pos++
	}
	if !s.take("}") {
		return "", s.fail("expected \"}\"")
	}
	return s.in[start:s.pos], nil
}

// filter reads a top-level filter: behind the operator everything is literal
// to the end, but for the list of in.
func (p *parser) filter(s *scanner, path []string, col Column) error {
	c, err := p.comparison(s, col)
	if err != nil {
		return err
	}
	if c.Op == In {
		if c.List, err = s.list(); err == nil {
			err = s.end()
		}
	} else {
		c.Value = s.in[s.pos:]
	}
	if err == nil && c.Quant {
		c.List, err = braces(s.param, c.Value)
	}
	p.req.Wheres = append(p.req.Wheres, Where{Path: path, Cond: c})
	return err
}

// comparison reads ["not."] op ["(any|all)"] "." and leaves the scanner before
// the value.
func (p *parser) comparison(s *scanner, col Column) (Cond, error) {
	c := Cond{Column: col}
	if p.conds++; p.conds > maxConditions {
		return c, fault.New(fault.Invalid, "PGRST100", "more than %d conditions", maxConditions)
	}
	c.Not = s.take("not.")
	at := s.pos
	word := s.word()
	op, skip := operator(word)
	if skip {
		return c, unserved("operator " + word)
	}
	if op == 0 {
		s.pos = at
		return c, s.fail("expected an operator such as eq")
	}
	c.Op = op
	if op.quantifiable() {
		c.All = s.take("(all)")
		c.Quant = c.All || s.take("(any)")
	}
	if !s.take(".") {
		return c, s.fail("expected \".\" behind the operator")
	}
	return c, nil
}
