package chain

import (
	"encoding/json"
	"testing"
)

// The hashes are of what encoding/json writes, so that anybody can make them again.
func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"", "orders.update", `{"name":"a \"b\" \\"}`, "<b> & \u2028", "Zürich", "\x00\n\t\x7f",
		"\xff", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendJSON([]byte("["), s)); got != "["+string(want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}
