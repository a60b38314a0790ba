package query

import (
	"strings"

	"holdfast/internal/fault"
)

// parseLogic reads the group of and= and or=; "not" may be the key's last level.
func (p *parser) parseLogic(s *scanner, path []string, join string) error {
	not := false
	if n := len(path); n > 0 && path[n-1] == "not" {
		if not, path = true, path[:n-1]; n == 1 {
			path = nil
		}
	}
	c, err := p.parseGroup(s, join, 1)
	if err != nil {
		return err
	}
	c.Not = not
	p.req.Wheres = append(p.req.Wheres, Where{Path: path, Cond: c})
	s.skipBlanks()
	return s.expectEnd()
}

func (p *parser) parseGroup(s *scanner, join string, depth int) (Cond, error) {
	c := Cond{Join: And}
	if join == "or" {
		c.Join = Or
	}
	if depth > maxDepth {
		return c, tooMany(s.param, "nested groups", maxDepth)
	}
	s.skipBlanks()
	if !s.take("(") {
		return c, s.expectedFault("expected \"(\" before the conditions")
	}
	for {
		k, err := p.parseCondition(s, depth)
		if err != nil {
			return c, err
		}
		c.Kids = append(c.Kids, k)
		s.skipBlanks()
		if s.take(",") {
			continue
		}
		if !s.take(")") {
			return c, s.expectedFault("expected \",\" or \")\"")
		}
		return c, nil
	}
}

func (p *parser) parseCondition(s *scanner, depth int) (Cond, error) {
	s.skipBlanks()
	for _, g := range []string{"and", "or", "not.and", "not.or"} {
		at := s.pos
		if s.take(g) {
			if s.skipBlanks(); s.peek() == '(' {
				c, err := p.parseGroup(s, strings.TrimPrefix(g, "not."), depth+1)
				c.Not = strings.HasPrefix(g, "not.")
				return c, err
			}
			s.pos = at
		}
	}
	col, err := s.readColumn()
	if err != nil {
		return Cond{}, err
	}
	if !s.take(".") {
		return Cond{}, s.expectedFault("expected \".\" and an operator")
	}
	c, err := p.parseComparison(s, col)
	if err != nil {
		return c, err
	}
	switch {
	case c.Op == In:
		c.List, err = s.readList()
	case s.peek() == '{':
		c.Value, err = s.readBraced()
	default:
		c.Value = s.readMember()
	}
	if err == nil && c.Quant {
		c.List, err = splitBraces(s.param, c.Value)
	}
	return c, err
}

// readBraced reads "{...}" whole; commas inside belong to it.
func (s *scanner) readBraced() (string, error) {
	start := s.pos
	for s.pos < len(s.in) && s.in[s.pos] != '}' {
		s.pos++
	}
	if !s.take("}") {
		return "", s.expectedFault("expected \"}\"")
	}
	return s.in[start:s.pos], nil
}

// parseFilter reads a top-level filter: behind the operator everything is literal
// to the end, but for the list of in.
func (p *parser) parseFilter(s *scanner, path []string, col Column) error {
	c, err := p.parseComparison(s, col)
	if err != nil {
		return err
	}
	if c.Op == In {
		if c.List, err = s.readList(); err == nil {
			err = s.expectEnd()
		}
	} else {
		c.Value = s.in[s.pos:]
	}
	if err == nil && c.Quant {
		c.List, err = splitBraces(s.param, c.Value)
	}
	p.req.Wheres = append(p.req.Wheres, Where{Path: path, Cond: c})
	return err
}

// parseComparison reads ["not."] op ["(any|all)"] "." and leaves the scanner before
// the value.
func (p *parser) parseComparison(s *scanner, col Column) (Cond, error) {
	c := Cond{Column: col}
	if p.conds++; p.conds > maxConditions {
		return c, fault.New(fault.Invalid, "PGRST100", "more than %d conditions", maxConditions)
	}
	c.Not = s.take("not.")
	at := s.pos
	word := s.readWord()
	op, skip := findOperator(word)
	if skip {
		return c, refuseUnserved("operator " + word)
	}
	if op == 0 {
		s.pos = at
		return c, s.expectedFault("expected an operator such as eq")
	}
	c.Op = op
	if op.takesQuantifier() {
		c.All = s.take("(all)")
		c.Quant = c.All || s.take("(any)")
	}
	if !s.take(".") {
		return c, s.expectedFault("expected \".\" behind the operator")
	}
	return c, nil
}
