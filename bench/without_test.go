package main

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestWithout holds each cut to the text it was written for: a bench that cuts
// nothing would say that a promise is free.
func TestWithout(t *testing.T) {
	for name := range promises {
		texts, err := lacking("..", []string{name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for file, text := range texts {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := lacking("..", []string{"locks"}); err == nil {
		t.Error("a promise there is not was left out")
	}
}
