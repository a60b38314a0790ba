package app_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// An injury is closed after the decision about the log, and OSHA's clock runs, wherever
// the law of the United States holds: in its territories, and at a site without a country
// of a tenant there.
func TestAmericanAccidents(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin, officer := testkit.As(actor.Admin), testkit.As(actor.Safety)
		for _, c := range []struct {
			code, tenant string // the country of the tenant
			site         any
			isThere      bool
		}{
			{"PONCE", "DE", "PR", true},
			{"HAGATNA", "DE", "GU", true},
			{"NOWHERE", "DE", nil, false},
			{"LILLE", "US", "FR", false},
			{"SOMEWHERE", "US", nil, true},
			{"ANYWHERE", "VI", nil, true},
		} {
			l := &lawKit{t, k, map[string]string{}}
			l.patchTenant(map[string]any{"country": c.tenant})
			l.makeSite(c.code, c.site)
			site := l.site[c.code]
			zone := k.Insert(t, admin, "zones", map[string]any{"code": c.code, "name": c.code, "site_id": site})
			add := func(place, id string) string {
				return k.Insert(t, officer, "incidents", map[string]any{"kind": "injury", "title": "Fall", place: id,
					"occurred_at": stamp(time.Now().Add(-time.Hour))})
			}
			status := http.StatusNoContent
			if c.isThere {
				status = http.StatusConflict
			}
			for _, incident := range []string{add("site_id", site), add("zone_id", zone)} {
				l.must(officer, "PATCH", "/v1/incidents?id=eq."+incident, map[string]any{"status": "closed"}, status)
			}

			incident := add("site_id", site)
			k.Insert(t, officer, "osha_cases", map[string]any{"incident_id": incident, "in_patient": true})
			var clocks []clockRow
			k.Get(officer, "/v1/legal_clocks?code=eq.US-TREATMENT&incident_id=eq."+incident).JSON(t, &clocks)
			if runs := len(clocks) == 1; runs != c.isThere {
				t.Errorf("%s: OSHA's clocks are %+v", c.code, clocks)
			}
		}
	})
}

// One place says what is under the law of the United States: package jurisdiction.
func TestFenceAmericanPlaces(t *testing.T) {
	own := regexp.MustCompile(`'US'|(?i:country\w*\)?) IN \(|[cC]ountry(?:\(\))? [!=]= "(?:US|PR|GU|VI|AS|MP|UM)"`)
	// Neither asks where a place is: a clock's rule has the country whose law it is of, and
	// the demonstration makes the tenants that it asks about.
	others := regexp.MustCompile(`^\.\./(safety/jurisdiction/|demo/|safety/clocks/record\.go)`)
	read := 0
	testkit.Must(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		isCode := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if err != nil || !isCode || others.MatchString(filepath.ToSlash(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		read++
		for i, line := range strings.Split(string(text), "\n") {
			if own.MatchString(line) {
				t.Errorf("%s:%d decides by itself what is American, instead of jurisdiction: %s", path, i+1, line)
			}
		}
		return err
	}))
	if read < 300 {
		t.Errorf("only %d files are read", read)
	}
}
