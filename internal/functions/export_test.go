package functions

import (
	"encoding/json"
	"reflect"
	"time"
)

// Bind reads an input struct, given by pointer, as Function.Bind does.
func Bind(in any, get func(name string) []string, body map[string]json.RawMessage) error {
	v := reflect.ValueOf(in).Elem()
	return bindParameters(v, listParameters(v.Interface()), get, body)
}

// HealthAges are how old an inventory's health is when it is renewed, and at most
// when it is told, after a look that took so long.
func HealthAges(took time.Duration) (due, oldest time.Duration) {
	h := health{took: took}
	return h.renewalAge(), h.maxAge()
}
