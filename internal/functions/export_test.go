package functions

import (
	"encoding/json"
	"reflect"
)

// Bind reads an input struct, given by pointer, as Function.Bind does.
func Bind(in any, get func(name string) []string, body map[string]json.RawMessage) error {
	v := reflect.ValueOf(in).Elem()
	return bind(v, parameters(v.Interface()), get, body)
}
