package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// Each setting is read by code besides the list of settings and the
// demonstration.
func TestSettingsAreRead(t *testing.T) {
	var code bytes.Buffer
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, filepath.Join("..", "demo")) || path == filepath.Join("..", "catalog", "settings.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	must(t, err)
	for _, s := range catalog.TenantSettings() {
		if !bytes.Contains(code.Bytes(), []byte(`"`+s.Key+`"`)) {
			t.Errorf("nothing reads setting %s", s.Key)
		}
		if s.Doc == "" || s.Wants == "" {
			t.Errorf("setting %s is not described", s.Key)
		}
	}
}

// What the console offers to set is what the server takes, in its section.
func TestConsoleKnowsTheSettings(t *testing.T) {
	page, err := os.ReadFile("../../console/src/pages/admin.tsx")
	must(t, err)
	_, table, _ := strings.Cut(string(page), "const known: Record<")
	table, _, _ = strings.Cut(table, "\n};")
	sections := map[string]string{}
	for _, s := range catalog.TenantSettings() {
		sections[s.Key] = s.Section
	}
	lines := regexp.MustCompile(`(?m)^  (\w+): \['(\w+)'`).FindAllStringSubmatch(table, -1)
	if len(lines) < 20 {
		t.Errorf("the console offers %d settings", len(lines))
	}
	for _, l := range lines {
		if sections[l[1]] != l[2] {
			t.Errorf("the console sets %s in section %s, and the server takes it in section %q", l[1], l[2], sections[l[1]])
		}
	}
}

// A setting is obeyed or refused: the demonstration has none of another kind,
// an unknown key, another section and a value that could not be used are 422.
func TestSettingsAreObeyedOrRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		known := map[string]string{}
		for _, s := range catalog.TenantSettings() {
			known[s.Key] = s.Section
		}
		var kept []struct{ Section, Key string }
		k.Get(who(actor.Admin), "/v1/settings?select=section,key").JSON(t, &kept)
		for _, s := range kept {
			if known[s.Key] != s.Section {
				t.Errorf("the demonstration sets %s %s, which nothing reads", s.Section, s.Key)
			}
		}
		for _, c := range []struct {
			section, key string
			value        any
			says         string
		}{
			{"scoring", "weight_incidnt", 1, "did you mean weight_incident?"},
			{"general", "over_receipt_tolerance", 0.1, "section stock"},
			{"stock", "over_receipt_tolerance", "lots", "number from 0 to 10"},
			{"stock", "over_receipt_tolerance", nil, ""},
			{"safety", "digest", 1, "true or false"},
			{"scoring", "scores_off", []string{"cat"}, "a list of zone"},
			{"scoring", "standard_units_per_hour", map[string]any{"zone": 0}, "above 0"},
			{"scoring", "min_group", 2.5, "whole number"},
		} {
			r := k.Post(who(actor.Admin), "/v1/settings", map[string]any{"section": c.section, "key": c.key, "value": c.value})
			if r.Status != 422 && !(c.value == nil && r.Status == 400) || !strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s %s %v: %d %s", c.section, c.key, c.value, r.Status, r.Body)
			}
		}
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/settings?key=eq.weight_incident", As: who(actor.Admin), Body: map[string]any{"value": "lots"}})
		if r.Status != 422 {
			t.Errorf("weight_incident lots: %d %s", r.Status, r.Body)
		}
		insertID(t, k, who(actor.Admin), "settings", map[string]any{"section": "stock", "key": "over_receipt_tolerance", "value": 0.05})
	})
}
