package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Bounds of an answer: what is larger comes from no Redis that we asked.
const (
	longest = 16 << 20 // bytes of a text
	most    = 1 << 20  // values of a list
	deepest = 8        // lists in lists
)

// Value is what a server answers.
type Value struct {
	Null bool
	Int  int64
	Text string  // of a string, simple or bulk
	List []Value // of an array
	kind byte    // as on the wire
}

// Error is an error that the server answers, such as "READONLY You can't write
// against a read only replica."
type Error string

func (e Error) Error() string { return "redis: " + string(e) }

// Err is the error that a value is, or nil.
func (v Value) Err() error {
	if v.kind == '-' {
		return Error(v.Text)
	}
	return nil
}

// Number is an integer, or an error that says what came instead.
func (v Value) Number() (int64, error) {
	if v.kind != ':' {
		return 0, fmt.Errorf("redis: %q is no integer", v.kind)
	}
	return v.Int, nil
}

// Bulk is a text, or an error that says what came instead.
func (v Value) Bulk() (string, error) {
	if v.kind != '$' && v.kind != '+' || v.Null {
		return "", fmt.Errorf("redis: %q is no text", v.kind)
	}
	return v.Text, nil
}

// command appends a command as a server reads it: an array of bulk strings.
func command(b []byte, args []string) []byte {
	room := 16
	for _, a := range args {
		room += len(a) + 16
	}
	b = slices.Grow(b, room)
	b = append(strconv.AppendInt(append(b, '*'), int64(len(args)), 10), "\r\n"...)
	for _, a := range args {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(a)), 10), "\r\n"...)
		b = append(append(b, a...), "\r\n"...)
	}
	return b
}

type reader struct{ *bufio.Reader }

var errForm = errors.New("redis: what the server answers is no RESP2")

func (r *reader) value() (Value, error) { return r.nested(0) }

func (r *reader) nested(depth int) (Value, error) {
	line, err := r.line()
	if err != nil {
		return Value{}, err
	}
	v := Value{kind: line[0]}
	switch v.kind {
	case '+', '-':
		v.Text = string(line[1:])
		return v, nil
	case ':', '$', '*':
		if v.Int, err = strconv.ParseInt(string(line[1:]), 10, 64); err != nil {
			return Value{}, errForm
		}
	default:
		return Value{}, errForm
	}
	switch n := v.Int; {
	case v.kind == ':':
		return v, nil
	case n == -1:
		return Value{kind: v.kind, Null: true}, nil
	case v.kind == '$':
		return r.bulk(n)
	default:
		return r.array(n, depth)
	}
}

// line reads up to a line's end and leaves that out. It is valid until the
// next read and has a byte at least.
func (r *reader) line() ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, errForm
	}
	return line[:len(line)-2], nil
}

func (r *reader) bulk(n int64) (Value, error) {
	if n < 0 || n > longest {
		return Value{}, errForm
	}
	b, err := r.Peek(int(n) + 2) // most texts fit the buffer
	if err == nil {
		_, err = r.Discard(len(b))
	} else if errors.Is(err, bufio.ErrBufferFull) {
		b = make([]byte, n+2)
		_, err = io.ReadFull(r, b)
	}
	if err != nil {
		return Value{}, err
	}
	if b[n] != '\r' || b[n+1] != '\n' {
		return Value{}, errForm
	}
	return Value{kind: '$', Text: string(b[:n])}, nil
}

func (r *reader) array(n int64, depth int) (Value, error) {
	if n < 0 || n > most || depth == deepest {
		return Value{}, errForm
	}
	v := Value{kind: '*', List: make([]Value, 0, min(n, 64))}
	for range n {
		item, err := r.nested(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.List = append(v.List, item)
	}
	return v, nil
}
