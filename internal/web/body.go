package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/suggest"
)

// maxDepth is the deepest nesting of a JSON body.
const maxDepth = 64

// ReadBody reads a whole request body of at most limit bytes. Compressed
// bodies are refused: their size is a claim.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity" {
		return nil, fault.New(fault.Unsupported, "", "compressed request bodies are not accepted")
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault.Wrap(err, fault.TooSlow, "", "the request body came too slowly")
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "", "the request body could not be read")
	}
	return b, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "", "the request body is larger than %d bytes", limit)
}

// Decode reads one JSON value into v. An absent body leaves v untouched;
// unknown members are ignored; repeated members, trailing text, NUL, invalid
// UTF-8 and deep nesting are refused.
func Decode(r *http.Request, limit int64, v any) error {
	b, err := ReadBody(nil, r, limit)
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return err
	}
	if err := JSONType(r); err != nil {
		return err
	}
	return Unmarshal(b, v)
}

// DecodeExact is Decode of a body whose members are all known: one that is not is
// refused, and the name that was probably meant is the hint.
func DecodeExact(r *http.Request, limit int64, v any) error {
	b, err := ReadBody(nil, r, limit)
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return err
	}
	if err := JSONType(r); err != nil {
		return err
	}
	if err := Unmarshal(b, v); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(reflect.New(reflect.TypeOf(v).Elem()).Interface())
	if err == nil {
		return nil
	}
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return fault.Wrap(err, fault.Invalid, "", "the body cannot be read")
	}
	name = fault.Clip(strings.Trim(name, `"`), 60)
	f := fault.New(fault.Invalid, "", "member %q is not known here", name).At(name, "unknown")
	if near := suggest.Nearest(name, memberNames(reflect.TypeOf(v).Elem())); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	return f
}

// memberNames are the names of a struct's members in JSON.
func memberNames(t reflect.Type) []string {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// JSONType refuses a body that says it is something other than JSON, or than the
// other types that are read as JSON.
func JSONType(r *http.Request, others ...string) error {
	ct := r.Header.Get("Content-Type")
	if ct == "" {
		return nil
	}
	if mt, _, err := mime.ParseMediaType(ct); err != nil || mt != "application/json" && !slices.Contains(others, mt) {
		return fault.New(fault.Unsupported, "", "Content-Type must be application/json, not %q", ct)
	}
	return nil
}

// Unmarshal is Decode for bytes already read.
func Unmarshal(b []byte, v any) error {
	if err := CheckJSON(b); err != nil {
		return err
	}
	err := json.Unmarshal(b, v)
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		f := fault.New(fault.Invalid, "", "%s must be %s, not %s", orBody(typ.Field), jsonNoun(typ.Type), typ.Value)
		return f.At(typ.Field, "must be %s", jsonNoun(typ.Type))
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "", "the body is not valid JSON: %s", err)
	}
	return nil
}

// jsonNoun names a Go type as JSON's readers know it.
func jsonNoun(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonNoun(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

func orBody(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// CheckJSON accepts exactly one JSON value without repeated object members.
func CheckJSON(b []byte) error {
	if !utf8.Valid(b) {
		return fault.New(fault.Invalid, "", "the body is not valid UTF-8")
	}
	if LoneSurrogate(b) {
		return fault.New(fault.Invalid, "22P02", "a text holds half of a surrogate pair, which is no character")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := checkValue(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "", "the body holds more than one JSON value")
	}
	return nil
}

func checkValue(dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	if err != nil {
		return badJSON(dec, err)
	}
	switch t := t.(type) {
	case string:
		return checkText(t)
	case json.Delim:
		if depth >= maxDepth {
			return fault.New(fault.Invalid, "", "the body is nested deeper than %d levels", maxDepth)
		}
		if t == '{' {
			return checkObject(dec, depth+1)
		}
		for dec.More() {
			if err := checkValue(dec, depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return badJSON(dec, err)
	}
	return nil
}

func checkObject(dec *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return badJSON(dec, err)
		}
		key, _ := t.(string)
		if seen[key] {
			return fault.New(fault.Invalid, "", "the body names %q twice", key).At(key, "named twice")
		}
		seen[key] = true
		if err := checkText(key); err != nil {
			return err
		}
		if err := checkValue(dec, depth); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return badJSON(dec, err)
}

func checkText(s string) error {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return fault.New(fault.Invalid, "22P05", "a text holds the character NUL")
		}
	}
	return nil
}

func badJSON(dec *json.Decoder, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Invalid, "", "the body is not valid JSON: it ends too early")
	}
	return fault.Wrap(err, fault.Invalid, "", "the body is not valid JSON: %s",
		err).With(fmt.Sprintf("at byte %d", dec.InputOffset()), "")
}

// LoneSurrogate reports that JSON has a \ud800-\udfff escape without its other
// half (RFC 8259 section 8.2), which
// encoding/json would silently turn into U+FFFD.
func LoneSurrogate(b []byte) bool {
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if b[i+1] != 'u' {
			i++ // an escaped character, perhaps a backslash
			continue
		}
		if high := parseHex4(b[i+2:]); high >= 0xdc00 && high <= 0xdfff {
			return true
		} else if high >= 0xd800 && high < 0xdc00 {
			rest := b[min(i+6, len(b)):]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || parseHex4(rest[2:]) < 0xdc00 ||
				parseHex4(rest[2:]) > 0xdfff {
				return true
			}
			i += 6
		}
	}
	return false
}

func parseHex4(b []byte) int {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}
