package sso

import "testing"

// A list of groups ends before the one that shows too many members, and always
// goes on.
func TestShownOf(t *testing.T) {
	for _, tt := range []struct {
		sizes []int64
		want  int
	}{
		{nil, 0},
		{[]int64{0, 0, 0}, 3},
		{[]int64{4, 6}, 2},
		{[]int64{4, 6, 1}, 2},
		{[]int64{11, 0}, 1},
		{[]int64{0, 11, 5}, 1},
	} {
		if got := shownOf(tt.sizes, 10); got != tt.want {
			t.Errorf("of %v %d groups are shown, want %d", tt.sizes, got, tt.want)
		}
	}
}
