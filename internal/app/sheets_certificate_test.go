package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A certificate says who passed which course, when, until when it holds and who vouches for
// it, in the language that is asked for; its holder and leaders have it, nobody else.
func TestCertificateSheet(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := &trainings{Kit: kit}
		owner, operator := testkit.As(actor.Owner), testkit.As(actor.Operator)
		day := time.Now().UTC().AddDate(0, -1, 0)
		id := k.assign(t, owner, k.course(t), accountOf(t, actor.Operator), map[string]any{"status": "completed",
			"completed_at": day.Format(time.DateOnly) + "T12:00:00Z", "trained_on": day.AddDate(0, 0, -2).Format(time.DateOnly),
			"evaluated_on": day.AddDate(0, 0, -1).Format(time.DateOnly), "trainer": "Grace Hopper", "evaluator": "Mary Ward",
			"result": 87.5, "certificate_no": "TC-Größe-7"})
		path := "/v1/training-assignments/" + id + "/certificate.pdf"
		until := day.AddDate(0, 0, -1).AddDate(3, 0, 0)
		tenant := first(t, kit, "/v1/tenants?select=name&slug=eq.north", "name")
		common := []string{reporter, "Trucks", "VOUCH-1", "Grace Hopper", "Mary Ward", "TC-Größe-7", "29 CFR 1910.178(l)", tenant, id}
		for _, c := range []struct {
			as, language string
			wants        []string
		}{
			{owner, "en", []string{"Certificate TC-", "has passed the course", "Valid until " + until.Format("2 Jan 2006"),
				"87.5 %", "Page 1 of 1"}},
			{owner, "de", []string{"Nachweis TC-", "hat den Kurs Trucks bestanden", "Gültig bis " + until.Format("02.01.2006"),
				"87,5 %", "Seite 1 von 1"}},
			{operator, "fr", []string{"Certificat TC-", "a réussi le cours", "Valable jusqu’au " + until.Format("02/01/2006"),
				"Page 1 sur 1"}},
		} {
			text, _ := readSheet(t, kit, c.as, path+"?language="+c.language)
			holdSaid(t, "the certificate in "+c.language, text, append(c.wants, common...), "□", "A colleague", "Issuer")
		}
		for _, c := range []struct {
			as, path, says string
			want           int
		}{
			{testkit.As(actor.Viewer), path, "names its holder", 403}, {testkit.As(actor.Driver), path, "", 404},
			{"admin@south.example", path, "", 404}, {"", path, "", 401},
			{owner, "/v1/training-assignments/nonsense/certificate.pdf", "", 404}, {owner, path + "?language=xx", "", 400},
		} {
			r := k.Get(c.as, c.path)
			if r.Status != c.want || !strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s to %q: %d %s, want %d", c.path, c.as, r.Status, r.Body, c.want)
			}
		}
	})
}

// A certificate claims no more than what is on record, whatever its course asks for later, and
// nobody gets one of a holder whom the role does not see, also where the holder is no worker.
func TestCertificateSheetClaimsNoMore(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := &trainings{Kit: kit}
		owner := testkit.As(actor.Owner)
		course := kit.Insert(t, owner, "courses", map[string]any{"code": "LOCKOUT", "title": "Lockout", "kind": "classroom"})
		id := k.assign(t, owner, course, accountOf(t, actor.Admin), map[string]any{"status": "completed",
			"completed_at": time.Now().UTC().AddDate(0, 0, -3)})
		holder := kit.Get(owner, "/v1/training_assignments?select=worker_id&id=eq."+id)
		if string(holder.Body) != `[{"worker_id":null}]` {
			t.Fatalf("the holder: %s", holder.Body)
		}
		wants(t, "an evaluation that is asked for later", kit.Call(testkit.Request{Method: "PATCH", Path: "/v1/courses/" + course,
			As: owner, Body: map[string]any{"needs_evaluation": true}}), 200, "")
		path := "/v1/training-assignments/" + id + "/certificate.pdf"
		text, _ := readSheet(t, kit, owner, path+"?language=en")
		holdSaid(t, "a certificate without an evaluation", text, []string{"Lockout", testkit.As(actor.Admin)}, "1910.178")
		wants(t, "a holder who is no worker", k.Get(testkit.As(actor.Viewer), path), 403, "names its holder")
	})
}

// What is not passed, is over or was given up is no certificate, and the refusal says why;
// what somebody else issued is said to be theirs.
func TestCertificateSheetOfNone(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := &trainings{Kit: kit}
		owner, admin, safety := testkit.As(actor.Owner), testkit.As(actor.Admin), testkit.As(actor.Safety)
		account := accountOf(t, actor.Operator)
		sheet := func(id string) testkit.Response {
			return k.Get(owner, "/v1/training-assignments/"+id+"/certificate.pdf")
		}
		id := k.assign(t, owner, k.course(t), account, nil)
		for _, status := range []string{"", "in_progress", "failed", "waived"} {
			if status != "" {
				wants(t, status, k.patch(owner, id, map[string]any{"status": status, "close_reason": "Office"}), 200, "")
			}
			wants(t, "a training that is "+status, sheet(id), 409, status)
		}
		over := evaluation()
		over["status"], over["completed_at"] = "completed", "2022-01-06T12:00:00Z"
		over["trained_on"], over["evaluated_on"] = "2022-01-05", "2022-01-06"
		wants(t, "one that is over", sheet(k.assign(t, owner, k.course(t), account, over)), 409, "2025-01-06")

		outside := k.assign(t, admin, k.course(t), account, map[string]any{"issuer": "Dekra Akademie",
			"completed_at": "2026-01-06T12:00:00Z", "trained_on": "2026-01-05", "trainer": "Grace Hopper",
			"evaluated_on": "2026-01-06", "evaluator": "Mary Ward"})
		wants(t, "one that waits for its second person", sheet(outside), 409, "assigned")
		if _, r := uploadFile(t, kit, admin, "training-assignments/"+outside, "dekra.pdf", []byte("%PDF-1.7")); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for _, status := range []string{"in_progress", "completed"} {
			wants(t, status, k.patch(safety, outside, map[string]any{"status": status}), 200, "")
		}
		text, _ := readSheet(t, kit, owner, "/v1/training-assignments/"+outside+"/certificate.pdf?language=en")
		holdSaid(t, "an external certificate", text, []string{"Issued by Dekra Akademie", "Issuer Dekra Akademie",
			"Verified by " + safety})
	})
}
