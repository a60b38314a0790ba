package inventory

import (
	"testing"

	"holdfast/internal/decimal"
)

// A line is right or wrong: 1 - wrong lines / lines.
func TestCountAccuracy(t *testing.T) {
	for _, c := range []struct {
		lines, wrong int64
		want         string
	}{{0, 0, "none"}, {10, 0, "100"}, {10, 10, "0"}, {3, 1, "66.7"}, {2000, 1, "100"}, {1000, 1, "99.9"}, {8, 1, "87.5"}} {
		got := "none"
		if v, ok := CountAccuracy(c.lines, c.wrong); ok {
			got = v.String()
		}
		if got != c.want {
			t.Errorf("%d of %d wrong = %s, want %s", c.wrong, c.lines, got, c.want)
		}
	}
}

// Lines in an hour of the shifts they were picked in.
func TestLinesPerHour(t *testing.T) {
	for _, c := range []struct {
		lines int64
		hours string
		want  string
	}{{100, "0", "none"}, {0, "8", "0"}, {240, "8", "30"}, {100, "7.5", "13.3"}, {1, "20", "0.1"}, {1, "21", "0"},
		{6, "4", "1.5"}} {
		got := "none"
		if v, ok := LinesPerHour(c.lines, dp(c.hours)); ok {
			got = v.String()
		}
		if got != c.want {
			t.Errorf("%d lines in %s h = %s, want %s", c.lines, c.hours, got, c.want)
		}
	}
	if v, _ := LinesPerHour(20_000, decimal.Dec(1)); v <= 0 {
		t.Errorf("the shortest shift gives %s", v)
	}
}
