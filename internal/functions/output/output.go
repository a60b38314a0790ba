// Package output is the shape of what functions answer: structs whose tags name
// and describe their members, written as JSON.
//
// The tags of a member are json:"name" (with omitempty as in encoding/json),
// doc:"..." (what it is), unit:"..." (unit of a number), format:"uuid", "date" or
// "date-time" (form of a string), enum:"a,b" (closed set of a string) and
// records:"zones" (a json.RawMessage that holds records of that collection). From
// them OpenAPI and TypeScript types are made.
//
// Layer: functions. Begin at [Encode].
package output

import (
	"encoding/json"
	"io"
	"iter"
	"reflect"
	"time"

	"holdfast/internal/query"
)

// Head begins the answer of a function that reads.
type Head struct {
	TenantID  string `json:"tenant_id" format:"uuid" doc:"The tenant that the answer is about."`
	Timestamp string `json:"timestamp" format:"date-time" doc:"When the answer was made."`
}

// HeadOf is the head of an answer made now.
func HeadOf(tenant string, now time.Time) Head {
	return Head{TenantID: tenant, Timestamp: query.FormatTime(now)}
}

// Kept is the head of an answer that tells whether it was kept.
type Kept struct {
	Head
	Cached bool `json:"cached" doc:"Whether the answer was kept from an earlier request."`
}

// KeptOf is the head of an answer made now, which is not kept yet.
func KeptOf(tenant string, now time.Time) Kept { return Kept{Head: HeadOf(tenant, now)} }

func (k *Kept) markCached() { k.Cached = true }

// Keep makes an answer, given by pointer, say that it was kept, and reports
// whether it is one that says so.
func Keep(out any) bool {
	k, ok := out.(interface{ markCached() })
	if ok {
		k.markCached()
	}
	return ok
}

// Rows are the elements of an array that is made while it is sent: that of a
// large tenant is never there as a whole. An element may be used again once it
// was yielded.
type Rows[T any] iter.Seq[*T]

// Element is the type of the elements.
func (Rows[T]) Element() reflect.Type { return reflect.TypeFor[T]() }

func (r Rows[T]) write(o *sink) error {
	enc := encoderOf(reflect.TypeFor[T]())
	o.buf = append(o.buf, '[')
	first := true
	for x := range r {
		if !first {
			o.buf = append(o.buf, ',')
		}
		first = false
		if err := enc(o, reflect.ValueOf(x).Elem()); err != nil {
			return err
		}
		if err := o.flushFull(); err != nil {
			return err
		}
	}
	o.buf = append(o.buf, ']')
	return nil
}

// Encode writes an answer, given by pointer, as JSON. Members are as
// encoding/json has them, with two differences that a dashboard of 160 kB feels:
// a json.RawMessage is taken as it is, not read again, and only what JSON demands
// is escaped. A number that JSON has no form for is an error.
func Encode(out any) ([]byte, error) {
	o := sink{buf: make([]byte, 0, sizeHint(out))}
	if err := o.encodeValue(out); err != nil {
		return nil, err
	}
	return o.buf, nil
}

// Write writes an answer, given by pointer, to w as Encode does, in blocks while
// its Rows are made.
func Write(w io.Writer, out any) error {
	o := sink{to: w, buf: make([]byte, 0, 2048)}
	if err := o.encodeValue(out); err != nil {
		return err
	}
	return o.sendBuffer()
}

// sizeHint is room for an answer: its ready lists and what stands around them.
func sizeHint(out any) int {
	n := 1024
	if v := reflect.ValueOf(out); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		ready := readyBytes(v.Elem())
		n += ready + ready/8
	}
	return n
}

func readyBytes(v reflect.Value) (n int) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Type() == reflect.TypeFor[json.RawMessage]() {
			n += f.Len()
		} else if f.Kind() == reflect.Struct {
			n += readyBytes(f)
		}
	}
	return n
}

// block is how much of an answer gathers before it is sent.
const block = 32 << 10

// sink is an answer on its way: buf is what was made and not sent yet.
type sink struct {
	to  io.Writer // nil = nothing is sent
	buf []byte
}

func (o *sink) encodeValue(out any) error {
	v := reflect.ValueOf(out)
	return encoderOf(v.Type())(o, v)
}

// flushFull sends what has gathered when it is enough.
func (o *sink) flushFull() error {
	if o.to == nil || len(o.buf) < block {
		return nil
	}
	return o.sendBuffer()
}

func (o *sink) sendBuffer() error {
	_, err := o.to.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}
