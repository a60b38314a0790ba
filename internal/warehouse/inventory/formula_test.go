package inventory

import (
	"testing"

	"holdfast/internal/decimal"
)

func dp(s string) decimal.Dec {
	d, err := decimal.Parse(s)
	if err != nil {
		panic(err)
	}
	return d
}

// One decimal, half up, over 100 when overfull, none when unlimited.
func TestUtilization(t *testing.T) {
	for _, c := range []struct{ load, room, want string }{
		{"0", "10", "0"}, {"8", "10", "80"}, {"11", "10", "110"}, {"1", "3", "33.3"}, {"2", "3", "66.7"},
		{"0.0005", "1", "0.1"}, {"0.0004", "1", "0"},
		{"999999999", "100000000000", "1"},
	} {
		if got, ok := Utilization(dp(c.load), dp(c.room)); !ok || got != dp(c.want) {
			t.Errorf("%s of %s = %s %v, want %s", c.load, c.room, got, ok, c.want)
		}
	}
	if _, ok := Utilization(dp("5"), 0); ok {
		t.Error("an unlimited zone has a utilization")
	}
}

// At the reorder point is low; a reorder point of 0 is none.
func TestLowStock(t *testing.T) {
	for _, c := range []struct {
		available, point string
		want             bool
	}{{"5", "5", true}, {"5.0001", "5", false}, {"0", "0", false}, {"0", "0.0001", true}} {
		if got := LowStock(dp(c.available), dp(c.point)); got != c.want {
			t.Errorf("%v = %v", c, got)
		}
	}
}
