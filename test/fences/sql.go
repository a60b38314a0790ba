package main

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// longGlue is how many characters of a statement are put together at most before
// it should be one raw string.
const longGlue = 200

// countSQL counts a statement of SQL by its form. seen are the parts of
// statements that are counted already.
func (c *counts) countSQL(n ast.Expr, seen map[ast.Node]bool) {
	if seen[n] {
		return
	}
	parts := splitSum(n, seen)
	text, isRaw := "", false
	for _, part := range parts {
		literal, ok := part.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			text += "?" // stands for a value
			continue
		}
		seen[literal] = true
		s, _ := strconv.Unquote(literal.Value) // a parsed literal can be read
		text += s
		isRaw = isRaw || strings.Contains(s, "\n") && literal.Value[0] == '`'
	}
	if !isStatement(text) {
		return
	}

	switch {
	case len(parts) == 1 && isRaw:
		c.sqlRaw++
	case len(parts) == 1:
		c.sqlFlat++
	default:
		c.sqlGlued++
	}
	if len(parts) > 1 && !isRaw && len(text) > longGlue {
		c.sqlGluedLong++
	}
}

// splitSum lists the parts of a sum of strings; what is no sum is one part.
func splitSum(n ast.Expr, seen map[ast.Node]bool) []ast.Expr {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return splitSum(n.X, seen)
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			seen[n] = true
			return append(splitSum(n.X, seen), splitSum(n.Y, seen)...)
		}
	}
	return []ast.Expr{n}
}

// isStatement reports text that begins as a statement of SQL does.
func isStatement(text string) bool {
	verb, rest, _ := strings.Cut(strings.Join(strings.Fields(text), " "), " ")
	switch strings.ToUpper(verb) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return strings.ToUpper(verb) == verb && rest != ""
	}
	return false
}
