package mingroup

import (
	"fmt"
	"testing"
)

// A group is shown at the least size and above, and what is left out is never a
// small group that the total gives away.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		sizes      []int64
		others     int64
		shown      string
		suppressed int
	}{
		{nil, 0, "[]", 0},
		{[]int64{9}, 0, "[false]", 1},
		{[]int64{10}, 0, "[true]", 0},
		{[]int64{11}, 0, "[true]", 0},
		{[]int64{1}, 0, "[false]", 1},
		// One group of three is the total less the others: the next smallest goes with it.
		{[]int64{12, 3, 15}, 0, "[false false true]", 2},
		{[]int64{12, 3, 7, 15}, 0, "[true false false true]", 2},
		{[]int64{12, 3, 6, 15}, 0, "[false false false true]", 3},
		// People of no group are a rest like one.
		{[]int64{12, 15}, 1, "[false true]", 1},
		{[]int64{12, 15}, 10, "[true true]", 0},
		{[]int64{12}, 1, "[false]", 1},
		{[]int64{3}, 1, "[false]", 1},
	} {
		shown, suppressed := Default.Choose(c.sizes, c.others)
		if got := fmt.Sprint(shown); got != c.shown || suppressed != c.suppressed {
			t.Errorf("%v and %d others: %s and %d left out, want %s and %d",
				c.sizes, c.others, got, suppressed, c.shown, c.suppressed)
		}
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct {
		value string
		want  Least
	}{{"1", Fewest}, {"12", 12}, {"0", Default}, {"-3", Default}, {`"12"`, Default}, {"2.5", Default}, {"null", Default}} {
		l := Default
		if l.Set([]byte(c.value)); l != c.want {
			t.Errorf("%s is %d, want %d", c.value, l, c.want)
		}
	}
}

// A group of one is a person: no setting shows it, nor one that was written when it could.
func TestGroupsOfOneAreNeverShown(t *testing.T) {
	for _, c := range []struct {
		value     string
		least     Least
		one, both bool
	}{
		{"1", 2, false, true}, {"2", 2, false, true}, {"3", 3, false, false},
		{"0", Default, false, false}, {"-5", Default, false, false}, {`"1"`, Default, false, false},
	} {
		least := Default
		least.Set([]byte(c.value))
		if least != c.least || least.Shows(1) != c.one || least.Shows(2) != c.both {
			t.Errorf("min_group %s: the least is %d, shows one %t, two %t", c.value, least, least.Shows(1), least.Shows(2))
		}
	}
}
