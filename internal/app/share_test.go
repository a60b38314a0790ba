package app_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/safety/evidence"
	"holdfast/internal/safety/photo"
	"holdfast/internal/safety/share"
	"holdfast/internal/safety/sheets"
	"holdfast/internal/testkit"
)

// sharePassword is one that the house takes.
const sharePassword = "Kranbahn-Süd, Träger 7"

// sharing makes links to a document and opens them as a stranger does.
type sharing struct {
	*testkit.Kit
	t *testing.T
}

// share makes a link and is its id and the path of its page.
func (k sharing) share(as, of string, set map[string]any) (id, path string) {
	k.t.Helper()
	body := map[string]any{"password": sharePassword, "language": "en"}
	for name, v := range set {
		body[name] = v
	}
	r := k.Post(as, of, body)
	var made struct {
		ID        string
		URL       string
		ExpiresAt string `json:"expires_at"`
	}
	if r.JSON(k.t, &made); r.Status != 201 || made.ID == "" || made.ExpiresAt == "" || r.Header.Get("Cache-Control") != "no-store" {
		k.t.Fatalf("%s by %s: %d %s", of, as, r.Status, r.Body)
	}
	u, err := url.Parse(made.URL)
	if err != nil || !strings.HasPrefix(u.Path, "/shared/") || len(u.Path) != len("/shared/")+64 {
		k.t.Fatalf("%s: %v", made.URL, err)
	}
	return made.ID, u.Path
}

// open sends a password to a link's page.
func (k sharing) open(path, password string) testkit.Response {
	return k.Call(testkit.Request{Method: "POST", Path: path, Body: []byte(url.Values{"password": {password}}.Encode()),
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
}

// isDead holds a link to the one answer that those have which do not work.
func (k sharing) isDead(what, path string) {
	k.t.Helper()
	for _, r := range []testkit.Response{k.Call(testkit.Request{Method: "GET", Path: path}), k.open(path, sharePassword)} {
		if r.Status != 404 || !strings.Contains(string(r.Body), "does not exist or has ended") ||
			strings.Contains(string(r.Body), "<form") {
			k.t.Errorf("%s: %d %s", what, r.Status, r.Body)
		}
	}
}

// execute changes the database behind the server's back.
func (k sharing) execute(sql string, args ...any) {
	k.t.Helper()
	testkit.Must(k.t, k.App.DB.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		n, err := tx.Exec(sql, args...)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d rows", n)
		}
		return err
	}))
}

// Somebody without an account reads a document by a link and its password, as whoever
// shared it reads it then, and the log says who made it, opened it and guessed.
func TestSharedDocument(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		k := sharing{kit, t}
		safety, admin := testkit.As(actor.Safety), testkit.As(actor.Admin)
		incident := reportHazard(t, kit, safety)
		id, path := k.share(safety, "/v1/incidents/"+incident+"/share", nil)

		form := k.Call(testkit.Request{Method: "GET", Path: path})
		policy := form.Header.Get("Content-Security-Policy")
		if form.Status != 200 || !strings.Contains(string(form.Body), `type="password"`) ||
			strings.Contains(string(form.Body), "<script") || strings.Contains(policy, "script-src") ||
			!strings.Contains(policy, "default-src 'none'") || form.Header.Get("Referrer-Policy") != "no-referrer" ||
			form.Header.Get("Cache-Control") != "no-store" || !strings.Contains(form.Header.Get("X-Robots-Tag"), "noindex") {
			t.Errorf("the form: %d %v %s", form.Status, form.Header, form.Body)
		}
		if r := k.open(path, "wrong"); r.Status != 403 || !strings.Contains(string(r.Body), "The password is wrong") {
			t.Errorf("a wrong password: %d %s", r.Status, r.Body)
		}
		for range 2 {
			r := k.open(path, sharePassword)
			pages, err := testkit.ReadPDF(r.Body)
			if r.Status != 200 || err != nil || !strings.Contains(strings.Join(pages, " "), incident) ||
				r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Type") != "application/pdf" {
				t.Fatalf("opened: %d %v %.300s", r.Status, err, r.Body)
			}
		}
		actions := map[string]int{}
		for _, x := range testkit.List[struct{ Action, Before, After string }](t, kit, admin,
			"audit?select=action,before::text,after::text&entity_id=eq."+id) {
			actions[x.Action]++
			if strings.Contains(x.After, "argon2") || strings.Contains(x.After, strings.TrimPrefix(path, "/shared/")) {
				t.Errorf("the log has a secret: %s", x.After)
			}
		}
		want := map[string]int{"shared_documents.insert": 1, "shared_documents.wrong_password": 1, "shared_documents.opened": 2}
		if fmt.Sprint(actions) != fmt.Sprint(want) {
			t.Errorf("the log has %v, want %v", actions, want)
		}
		row := testkit.List[map[string]any](t, kit, safety, "shared_documents?id=eq."+id)[0]
		if row["opened"] != float64(2) || row["wrong_passwords"] != float64(0) && row["wrong_passwords"] != float64(1) {
			t.Errorf("%v", row)
		}
		for _, secret := range []string{"token_hash", "password_hash", "narrowed"} {
			if row[secret] != nil {
				t.Errorf("%s is shown", secret)
			}
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/shared_documents?id=eq." + id, As: safety}); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		k.isDead("a revoked link", path)
	})
}

// A reader who disconnects while the password is compared leaves no try that counts.
func TestSharedDocumentLeft(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		k := sharing{kit, t}
		safety := testkit.As(actor.Safety)
		id, path := k.share(safety, "/v1/incidents/"+reportHazard(t, kit, safety)+"/share", nil)
		album := &photo.Store{}
		printer := sheets.NewPrinter(kit.App.Store, nil, album, evidence.New(kit.App.Store, nil, album))
		for _, isRight := range []bool{false, true} {
			ctx, leave := context.WithCancel(context.Background())
			links := share.New(kit.App.Store, printer, share.Identity{
				Member: kit.App.Identity.Tenants.MemberActor,
				Matches: func(ctx context.Context, _, _ string) (bool, error) {
					if leave(); isRight {
						return true, nil
					}
					return false, ctx.Err()
				}})
			if _, err := links.Open(ctx, actor.Actor{}, strings.TrimPrefix(path, "/shared/"), sharePassword); err == nil {
				t.Error("a reader who left has the document")
			}
		}
		row := testkit.List[map[string]any](t, kit, safety, "shared_documents?id=eq."+id)[0]
		if row["wrong_passwords"] != float64(0) {
			t.Errorf("%v wrong passwords are counted", row["wrong_passwords"])
		}
	})
}

// Each kind of document is shared by the same means, the list of actions as it was narrowed.
func TestSharedKinds(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		k := sharing{kit, t}
		safety, owner := testkit.As(actor.Safety), testkit.As(actor.Owner)
		k.Insert(t, safety, "actions", map[string]any{"title": "Rinne abdecken", "control_level": "engineer"})
		k.Insert(t, safety, "actions", map[string]any{"title": "Weste tragen", "control_level": "ppe"})
		course := k.Insert(t, owner, "courses", map[string]any{"code": "SHARE", "title": "Shared course"})
		training := k.Insert(t, owner, "training_assignments", map[string]any{"course_id": course,
			"user_id": accountOf(t, actor.Operator), "status": "completed"})
		run := first(t, kit, "/v1/checklist_runs?select=id&limit=1&tenant_id=eq."+demo.North, "id")
		for of, says := range map[string][2]string{
			"/v1/actions/share?level=engineer":                {"Rinne abdecken", "Weste tragen"},
			"/v1/training-assignments/" + training + "/share": {"Shared course", "Rinne"},
			"/v1/checklist-runs/" + run + "/share":            {run, "Rinne"},
		} {
			_, path := k.share(safety, of, nil)
			r := k.open(path, sharePassword)
			pages, err := testkit.ReadPDF(r.Body)
			if text := strings.Join(pages, " "); r.Status != 200 || err != nil || !strings.Contains(text, says[0]) ||
				strings.Contains(text, says[1]) {
				t.Errorf("%s: %d %v %.400s", of, r.Status, err, text)
			}
		}
	})
}

// What is asked of a link that cannot be is refused at its field; who does not lead shares
// nothing.
func TestSharedDocumentRefused(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		incident := reportHazard(t, kit, safety)
		of := "/v1/incidents/" + incident + "/share"
		in := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.RFC3339) }
		for field, bodies := range map[string][]map[string]any{
			"password": {{}, {"password": ""}, {"password": "kurz"}, {"password": "password1234"}},
			"expires_in_days": {{"password": sharePassword, "expires_in_days": 0}, {"password": sharePassword, "expires_in_days": 91},
				{"password": sharePassword, "expires_in_days": 3, "expires_at": in(3)}},
			"expires_at": {{"password": sharePassword, "expires_at": in(-1)}, {"password": sharePassword, "expires_at": in(91)},
				{"password": sharePassword, "expires_at": "tomorrow"}},
			"language": {{"password": sharePassword, "language": "xx"}},
			"expires":  {{"password": sharePassword, "expires": 3}},
		} {
			for _, body := range bodies {
				r := kit.Post(safety, of, body)
				if r.Status != 400 && r.Status != 422 || !strings.Contains(strings.ToLower(string(r.Body)), field) {
					t.Errorf("%v: %d %s, want a refusal of %s", body, r.Status, r.Body, field)
				}
			}
		}
		good := map[string]any{"password": sharePassword}
		for as, want := range map[string]int{testkit.As(actor.Operator): 403, testkit.As(actor.Viewer): 403,
			testkit.As(actor.Driver): 403, "admin@south.example": 404, "": 401} {
			if r := kit.Post(as, of, good); r.Status != want {
				t.Errorf("by %q: %d %s, want %d", as, r.Status, r.Body, want)
			}
		}
		if r := kit.Call(testkit.Request{Method: "POST", Path: "/v1/shared_documents", As: safety,
			Body: map[string]any{"kind": "incident"}}); r.Status < 400 {
			t.Errorf("made as a record: %d %s", r.Status, r.Body)
		}
	})
}

// A link that is guessed, late, closed by wrong passwords, or whose sharer was removed or no
// longer leads has one answer, which says nothing more.
func TestSharedDocumentIsDead(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		k := sharing{kit, t}
		safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		incident := reportHazard(t, kit, safety)
		of := "/v1/incidents/" + incident + "/share"
		_, path := k.share(safety, of, nil)
		last := path[len(path)-1:]
		for _, guessed := range []string{"/shared/x", path[:len(path)-1], path + "A", path[:len(path)-4] + "AAAA",
			strings.TrimSuffix(path, last) + strings.ToUpper(last) + "%0A"} {
			k.isDead("a guessed link "+guessed, guessed)
		}
		late, latePath := k.share(safety, of, nil)
		k.execute("UPDATE shared_documents SET expires_at = $2 WHERE id = $1", late, time.Now().UTC().Add(-time.Second))
		k.isDead("a late link", latePath)

		closed, closedPath := k.share(safety, of, nil)
		k.execute("UPDATE shared_documents SET wrong_passwords = 9 WHERE id = $1", closed)
		if r := k.open(closedPath, "the tenth"); r.Status != 403 {
			t.Errorf("the tenth wrong password: %d %s", r.Status, r.Body)
		}
		k.isDead("a closed link", closedPath)

		_, banned := k.share(manager, of, nil)
		k.execute("UPDATE users SET banned_until = $2 WHERE email = $1", manager, time.Now().UTC().Add(time.Hour))
		k.isDead("the link of somebody who is banned", banned)
		k.execute("UPDATE users SET banned_until = NULL WHERE email = $1", manager)
		if r := k.open(banned, sharePassword); r.Status != 200 {
			t.Errorf("the link of somebody whose ban ended: %d %.300s", r.Status, r.Body)
		}
		k.execute("UPDATE members SET status = 'suspended' WHERE tenant_id = $1 AND email = $2", demo.North, manager)
		k.isDead("the link of somebody who is suspended", banned)
		k.execute("UPDATE members SET status = 'active' WHERE tenant_id = $1 AND email = $2", demo.North, manager)

		_, demoted := k.share(manager, of, nil)
		k.execute("UPDATE members SET role = 'viewer' WHERE tenant_id = $1 AND email = $2", demo.North, manager)
		k.isDead("the link of somebody who no longer leads", demoted)
		k.execute("DELETE FROM members WHERE tenant_id = $1 AND email = $2", demo.North, safety)
		k.isDead("the link of somebody who was removed", path)
	})
}
