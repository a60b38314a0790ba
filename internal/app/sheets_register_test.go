package app_test

import (
	"net/http"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// The sheet of a version says what the register said when it was published, in the language
// that is asked for; who is responsible is told to those who see it of the risks.
func TestRegisterSheet(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		k.Insert(t, officer, "risk_entries", k.entry(columns{"activity": "Chargement", "possible_harm": "Écrasement",
			"existing_measures": "Marquage au sol", "review_on": k.dayFromNow(90), "differs_by_sex": true}))
		k.Insert(t, officer, "risk_entries", k.entry(columns{"hazard_family": "psychosocial", "situation": "Cadences",
			"severity_before": nil, "severity_after": nil, "owner_user_id": nil}))
		v, _ := k.publish(columns{"site_id": k.site, "reason": "important_change", "note": "Nouveau quai",
			"accept_gaps": true}, 200)
		wants(t, "a unit that moves on", k.patch(officer, "work_units?id=eq."+k.unit, columns{"name": "Later"}), 200, "")

		path := "/v1/risk-register-versions/" + v.ID + "/risk-register.pdf"
		common := []string{"LILLE · Lille", "UT-QUAI · Quai", "LIL-DOCK Quai", "14", "Piétons au quai", "Marquage au sol",
			"Barrières", "Nouveau quai", v.SHA256, v.ID, "Europe/"}
		for _, c := range []struct {
			as, language string
			wants, never []string
		}{
			{officer, "en", []string{"Risk register · Version 1", "Important change", "Before: Critical × 4 = 16",
				"After: Critical × 1 = 4", "Engineer", "Priority: Critical", "Responsible: " + officer, "Review on:",
				"Gaps", "not rated", "Page 1 of "}, []string{"A colleague"}},
			{officer, "de", []string{"Gefährdungsbeurteilung · Fassung 1", "Wesentliche Änderung", "Davor: Kritisch × 4 = 16",
				"Psychische Belastung", "nicht bewertet", "Aufbewahren bis", "Seite 1 von "}, nil},
			{officer, "fr", []string{"Document unique (DUERP) · Version 1", "Aménagement important",
				"Avant: Critique × 4 = 16", "Risques psychosociaux", "non coté", "À conserver jusqu’au", "Page 1 sur "}, nil},
			{testkit.As(actor.Operator), "en", []string{"Before: Critical × 4 = 16", "Barrières"},
				[]string{officer, "Made by"}},
		} {
			text, _ := readSheet(t, k.Kit, c.as, path+"?language="+c.language)
			holdSaid(t, c.as+"'s in "+c.language, text, append(c.wants, common...), append(c.never, "□", "Later")...)
		}
		for _, c := range []struct {
			as, path string
			want     int
		}{
			{"admin@south.example", path, http.StatusNotFound}, {"", path, http.StatusUnauthorized},
			{officer, "/v1/risk-register-versions/" + k.unit + "/risk-register.pdf", http.StatusNotFound},
			{officer, path + "?language=xx", http.StatusBadRequest},
		} {
			if r := k.Get(c.as, c.path); r.Status != c.want {
				t.Errorf("%s to %q: %d %s, want %d", c.path, c.as, r.Status, r.Body, c.want)
			}
		}
	})
}
