package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/safety"
	"holdfast/internal/score"
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
	testkit.Must(t, err)
	for _, s := range catalog.TenantSettings() {
		if !bytes.Contains(code.Bytes(), []byte(`"`+s.Key+`"`)) {
			t.Errorf("nothing reads setting %s", s.Key)
		}
		if s.Doc == "" || s.Wants == "" {
			t.Errorf("setting %s is not described", s.Key)
		}
	}
}

// Each setting says what holds without it, as the tables of those that read it do,
// and whoever makes a form of them reads so in /catalog.json.
func TestSettingsSayWhatHolds(t *testing.T) {
	said := map[string]string{}
	points, kinds := safety.DefaultPoints(), map[string]bool{}
	for _, s := range catalog.TenantSettings() {
		if said[s.Key] = s.Absent; s.Absent == "" {
			t.Errorf("setting %s does not say what holds without it", s.Key)
		}
		if p := points; p.Set(s.Key, s.Absent) {
			kinds[s.Key] = true
			if p != points {
				t.Errorf("%s: %s, and the points are %+v", s.Key, s.Absent, points)
			}
		}
	}
	if len(kinds) != reflect.TypeFor[safety.Points]().NumField() {
		t.Errorf("settings of points: %v", kinds)
	}
	w, c := score.DefaultWeights(), score.DefaultCuts()
	for key, v := range map[string]float64{"weight_incident": w.Incident, "weight_near_miss": w.NearMiss,
		"weight_shift_hours": w.ShiftHours,
		"weight_load":        w.Load, "cut_medium": c.Medium, "cut_high": c.High, "cut_critical": c.Critical} {
		if said[key] != strconv.FormatFloat(v, 'f', -1, 64) {
			t.Errorf("%s: %s, and the scores take %v", key, said[key], v)
		}
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var out struct {
			Settings []struct{ Section, Key, Doc, Wants, Absent string }
		}
		k.Get("", "/catalog.json").JSON(t, &out)
		if len(out.Settings) != len(said) {
			t.Errorf("%d settings are described, %d are obeyed", len(out.Settings), len(said))
		}
		for _, s := range out.Settings {
			if s.Section == "" || s.Doc == "" || s.Wants == "" || s.Absent != said[s.Key] {
				t.Errorf("%+v", s)
			}
		}
	})
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
		k.Get(testkit.As(actor.Admin), "/v1/settings?select=section,key").JSON(t, &kept)
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
			{"stock", "over_receipt_tolerance", "lots", "share from 0 to 10"},
			{"stock", "over_receipt_tolerance", nil, ""},
			{"safety", "digest", 1, "true or false"},
			{"scoring", "scores_off", []string{"cat"}, "a list of zone"},
			{"scoring", "standard_units_per_hour", map[string]any{"zone": 0}, "above 0"},
			{"scoring", "min_group", 2.5, "whole number"},
			{"scoring", "min_group", 1, "from 2 to 10000"}, // a group of one is a person
			{"scoring", "standard_units_per_hour", map[string]any{"cat": 1}, "by entity type"},
			{"scoring", "standard_units_per_hour", map[string]any{"zone": nil}, "by entity type"},
			{"scoring", "score_bounds", map[string]any{"zone": map[string]any{"hours_low": "few"}}, "by entity type"},
			{"scoring", "score_bounds", map[string]any{"zone": map[string]any{"hours": 5}}, "by entity type"},
			{"scoring", "standard_units_per_hour", map[string]any{"zone": 1e300}, "by entity type"},
			{"general", "locale", "tlh", ""},
			{"security", "mfa_required", "nobody", ""},
			{"security", "session_max_hours", 1.5, ""},
		} {
			r := k.Post(testkit.As(actor.Admin), "/v1/settings",
				map[string]any{"section": c.section, "key": c.key, "value": c.value})
			if r.Status != 422 && !(c.value == nil && r.Status == 400) || !strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s %s %v: %d %s", c.section, c.key, c.value, r.Status, r.Body)
			}
		}
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/settings?key=eq.weight_incident",
			As: testkit.As(actor.Admin), Body: map[string]any{"value": "lots"}})
		if r.Status != 422 {
			t.Errorf("weight_incident lots: %d %s", r.Status, r.Body)
		}
		k.Insert(t, testkit.As(actor.Admin), "settings",
			map[string]any{"section": "stock", "key": "over_receipt_tolerance", "value": 0.05})
	})
}
