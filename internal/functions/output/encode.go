package output

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// encoder writes the values of one type.
type encoder func(o *sink, v reflect.Value) error

var encoders sync.Map // reflect.Type -> encoder

// encoderOf makes the encoder of a type once. Answers hold no type that holds
// itself.
func encoderOf(t reflect.Type) encoder {
	if e, ok := encoders.Load(t); ok {
		return e.(encoder)
	}
	e, _ := encoders.LoadOrStore(t, newEncoder(t))
	return e.(encoder)
}

type rows interface{ write(o *sink) error }

var known = map[reflect.Type]encoder{
	reflect.TypeFor[json.RawMessage](): encodeReady,
	reflect.TypeFor[decimal.Dec]():     encodeDecimal,
	reflect.TypeFor[uuid.UUID]():       encodeUUID,
}

func newEncoder(t reflect.Type) encoder {
	if e, ok := known[t]; ok {
		return e
	}
	if t.Implements(reflect.TypeFor[rows]()) {
		return func(o *sink, v reflect.Value) error { return v.Interface().(rows).write(o) }
	}
	if marshalsItself(t) {
		return encodeMarshaler
	}
	switch t.Kind() {
	case reflect.Struct:
		return newObject(t).writeObject
	case reflect.Pointer:
		return encodePointer(encoderOf(t.Elem()))
	case reflect.Slice, reflect.Array:
		return encodeSlice(encoderOf(t.Elem()))
	case reflect.Map:
		return encodeMap(encoderOf(t.Elem()))
	}
	if e := encodePlain(t.Kind()); e != nil {
		return e
	}
	return encodeMarshaler
}

// marshalsItself reports a type that says itself how it is written.
func marshalsItself(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && (t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		t.Implements(reflect.TypeFor[encoding.TextMarshaler]()))
}

func encodeMarshaler(o *sink, v reflect.Value) error {
	b, err := json.Marshal(v.Interface())
	o.buf = append(o.buf, b...)
	return err
}

func encodePlain(k reflect.Kind) encoder {
	switch k {
	case reflect.String:
		return func(o *sink, v reflect.Value) error { o.buf = db.AppendString(o.buf, v.String()); return nil }
	case reflect.Bool:
		return func(o *sink, v reflect.Value) error { o.buf = strconv.AppendBool(o.buf, v.Bool()); return nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(o *sink, v reflect.Value) error { o.buf = strconv.AppendInt(o.buf, v.Int(), 10); return nil }
	case reflect.Float64:
		return encodeFloat
	}
	return nil
}

// encodeFloat writes a number without an exponent where that is short, as
// encoding/json does.
func encodeFloat(o *sink, v reflect.Value) error {
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("output: %v is no number of JSON", f)
	}
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	o.buf = strconv.AppendFloat(o.buf, f, form, -1, 64)
	if n := len(o.buf); form == 'e' && o.buf[n-2] == '0' && o.buf[n-3] == '-' { // e-09 is e-9
		o.buf = append(o.buf[:n-2], o.buf[n-1])
	}
	return nil
}

// encodeReady takes over what the store has written.
func encodeReady(o *sink, v reflect.Value) error {
	if v.Len() == 0 {
		o.buf = append(o.buf, "null"...)
		return nil
	}
	o.buf = append(o.buf, v.Bytes()...)
	return nil
}

func encodeDecimal(o *sink, v reflect.Value) error {
	o.buf = decimal.Dec(v.Int()).Append(o.buf)
	return nil
}

func encodeUUID(o *sink, v reflect.Value) error {
	u, ok := reflect.TypeAssert[uuid.UUID](v)
	if !ok {
		return fmt.Errorf("output: %s is no id", v.Type())
	}
	o.buf = append(db.AppendUUID(append(o.buf, '"'), u), '"')
	return nil
}

func encodePointer(elem encoder) encoder {
	return func(o *sink, v reflect.Value) error {
		if v.IsNil() {
			o.buf = append(o.buf, "null"...)
			return nil
		}
		return elem(o, v.Elem())
	}
}

// encodeSlice writes a slice; one that is nil is empty.
func encodeSlice(elem encoder) encoder {
	return func(o *sink, v reflect.Value) error {
		o.buf = append(o.buf, '[')
		for i := range v.Len() {
			if i > 0 {
				o.buf = append(o.buf, ',')
			}
			if err := elem(o, v.Index(i)); err != nil {
				return err
			}
		}
		o.buf = append(o.buf, ']')
		return nil
	}
}

// encodeMap writes a map by text, sorted; one that is nil is empty.
func encodeMap(elem encoder) encoder {
	return func(o *sink, v reflect.Value) error {
		members := map[string]reflect.Value{}
		for it := v.MapRange(); it.Next(); {
			members[it.Key().String()] = it.Value()
		}
		o.buf = append(o.buf, '{')
		for i, name := range slices.Sorted(maps.Keys(members)) {
			if i > 0 {
				o.buf = append(o.buf, ',')
			}
			o.buf = append(db.AppendString(o.buf, name), ':')
			if err := elem(o, members[name]); err != nil {
				return err
			}
		}
		o.buf = append(o.buf, '}')
		return nil
	}
}

// object is a struct's members in order, those of embedded structs among them.
type object []member

type member struct {
	index     []int
	name      []byte // `"name":`
	omitempty bool
	enc       encoder
}

func newObject(t reflect.Type) object {
	var out object
	for _, f := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		out = append(out, member{f.Index, append(db.AppendString(nil, tag), ':'), options == "omitempty", encoderOf(f.Type)})
	}
	return out
}

func (m object) writeObject(o *sink, v reflect.Value) error {
	o.buf = append(o.buf, '{')
	first := true
	for i := range m {
		f := v.FieldByIndex(m[i].index)
		if m[i].omitempty && isEmptyValue(f) {
			continue
		}
		if !first {
			o.buf = append(o.buf, ',')
		}
		first = false
		o.buf = append(o.buf, m[i].name...)
		if err := m[i].enc(o, f); err != nil {
			return err
		}
	}
	o.buf = append(o.buf, '}')
	return nil
}

func isEmptyValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
