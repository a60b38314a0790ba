package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"holdfast/internal/config"
)

// A storm of equal lines is twenty of them and one line with the number of the others, also
// where they are of different requests; other lines stand as they are.
func TestLogStorm(t *testing.T) {
	var b bytes.Buffer
	_, restore := openLog(&config.Config{LogLevel: "info", LogFormat: "json"}, &b)
	const failures = 3300
	for i := range failures {
		slog.Error("request failed", "request_id", fmt.Sprint(i), "error", errors.New("53100: the disk is full"))
		slog.Info("request", "request_id", fmt.Sprint(i))
	}
	slog.Error("request failed", "request_id", "other", "error", errors.New("08006: the database cannot be reached"))
	slog.Warn("something else")
	restore()

	type line struct {
		Level, Msg, Error string
		Lines             int
	}
	seen := map[line]int{}
	for text := range strings.Lines(b.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		seen[l]++
	}
	for want, n := range map[line]int{
		{"ERROR", "request failed", "53100: the disk is full", 0}:                                          20,
		{"ERROR", "more lines were as those before: request failed", "53100: the disk is full", 3300 - 20}: 1,
		{"ERROR", "request failed", "08006: the database cannot be reached", 0}:                            1,
		{"WARN", "something else", "", 0}:                                                                  1,
		{"INFO", "request", "", 0}:                                                                         failures,
	} {
		if seen[want] != n {
			t.Errorf("%+v: %d times, want %d", want, seen[want], n)
		}
	}
	if len(seen) != 5 {
		t.Errorf("%+v", seen)
	}
}
