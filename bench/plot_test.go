package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlotsPublished holds the pictures to the figures that they are drawn from.
func TestPlotsPublished(t *testing.T) {
	for _, p := range published {
		list, err := gather("..", p[2:])
		if err != nil {
			t.Fatal(err)
		}
		if len(list[0].results) == 0 {
			t.Errorf("%s: nothing to draw", p[0])
		}
		got, err := os.ReadFile(filepath.Join("..", p[0]))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, draw(p[1], list)) {
			t.Errorf("%s is not of its figures: go run ./bench plot", p[0])
		}
	}
}

// TestPlot looks at one picture: bars as long as their ratios, what has no goal
// to reach left out.
func TestPlot(t *testing.T) {
	s, err := readSeries("a<b", strings.NewReader(`{"case":"list","engine":"sqlite","value":0.5,"low":0.4,"high":0.6,"goal":">= 0.65"}
		{"case":"start","value":0.11,"goal":"<= 0.12 s"} {"case":"room","value":70,"goal":">= 3 MB"} {"case":"none","value":1}`))
	if err != nil {
		t.Fatal(err)
	}
	got := string(draw("Lists", []series{s}))
	for _, want := range []string{`width="170.0"`, `M466.0 57H534.0`, `<path d="M551 `, "list, sqlite", "a&lt;b"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "start") || strings.Contains(got, "room") || strings.Contains(got, "none") {
		t.Errorf("drawn though it is no ratio: %s", got)
	}
}
