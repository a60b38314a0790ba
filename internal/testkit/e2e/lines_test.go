package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestLines(t *testing.T) {
	var out bytes.Buffer
	var mu sync.Mutex
	a, b := &lines{mu: &mu, to: &out, begin: []byte("a: ")}, &lines{mu: &mu, to: &out, begin: []byte("b: ")}
	for _, s := range []struct {
		to   *lines
		text string
	}{{a, "one\ntw"}, {b, "three\n"}, {a, "o\n"}, {b, "\n"}, {b, "four"}} {
		if n, err := fmt.Fprint(s.to, s.text); n != len(s.text) || err != nil {
			t.Fatalf("%q: %d, %v", s.text, n, err)
		}
	}
	if err := errors.Join(a.flushRest(), b.flushRest()); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a: one\nb: three\na: two\nb: \nb: four\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAbreast(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	err := testAllEngines([]string{"x", "y"}, func(engine string, _ *lines) error {
		both.Done()
		both.Wait() // neither ends before the other began
		return errors.New("on " + engine)
	})
	if err == nil || !strings.Contains(err.Error(), "on x") || !strings.Contains(err.Error(), "on y") {
		t.Errorf("%v tells not what failed on both", err)
	}
}

func TestFailuresAreListedLast(t *testing.T) {
	err := testAllEngines([]string{"x", "y"}, func(engine string, out *lines) error {
		if engine == "y" {
			fmt.Fprint(out, "✔ sells (1ms)\n")
			return nil
		}
		fmt.Fprint(out, "✖ buys (3ms)\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.mjs:1:1\n✖ buys (3ms)\n  Error: too dear\n")
		return errors.New("exit status 1")
	})
	want := "exit status 1\n--- tests that failed\nx: ✖ buys (3ms)\n  Error: too dear"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
