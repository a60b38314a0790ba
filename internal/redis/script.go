package redis

import (
	"context"
	"crypto/sha1" // the name that Redis gives a script
	"encoding/hex"
	"strconv"
	"strings"
)

// Script is a Lua script, which a server keeps by its hash.
type Script struct{ text, sha string }

// NewScript returns a script to be run with Eval.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{text, hex.EncodeToString(sum[:])}
}

// Run is what a script is run with.
type Run struct{ Keys, Args []string }

func (r Run) command(verb, script string) []string {
	args := make([]string, 0, 3+len(r.Keys)+len(r.Args))
	args = append(args, verb, script, strconv.Itoa(len(r.Keys)))
	return append(append(args, r.Keys...), r.Args...)
}

// Eval runs a script.
func (c *Conn) Eval(ctx context.Context, s *Script, r Run) (Value, error) {
	v, err := c.Do(ctx, r.command("EVALSHA", s.sha)...)
	if unknown(err) {
		return c.Do(ctx, r.command("EVAL", s.text)...)
	}
	return v, err
}

// EvalAll runs a script many times without waiting in between, and returns the
// first error after it has waited for all.
func (c *Conn) EvalAll(ctx context.Context, s *Script, runs []Run) error {
	calls := make([]*call, 0, len(runs))
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range runs {
		sent, err := c.send(r.command("EVALSHA", s.sha))
		if err != nil {
			note(err)
			break
		}
		calls = append(calls, sent)
	}
	for i, sent := range calls {
		_, err := sent.wait(ctx)
		if unknown(err) {
			_, err = c.Do(ctx, runs[i].command("EVAL", s.text)...)
		}
		if err != nil {
			note(err)
		}
	}
	return first
}

// unknown reports that the server does not have the script: it is new to it,
// or the server was started again.
func unknown(err error) bool {
	e, ok := err.(Error)
	return ok && strings.HasPrefix(string(e), "NOSCRIPT")
}
