package operating_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// places are the settings of an installation whose files and backups lie outside
// its data directory.
type places struct{ files, backups string }

func (p places) flags() []string {
	return []string{"--blob-url", "file://" + p.files, "--backup-to", p.backups, "--backup-passphrase",
		program.BackupPassphrase}
}

// countUploads counts the uploaded files, and makes them so old that a sweep takes
// those without a record.
func (p places) countUploads(s *program.Site) (n int) {
	s.Helper()
	entries, err := os.ReadDir(p.files)
	if err != nil {
		s.Fatal(err)
	}
	old := time.Now().Add(-72 * time.Hour)
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), "holdfast-") {
			continue
		}
		n++
		if err := os.Chtimes(filepath.Join(p.files, e.Name()), old, old); err != nil {
			s.Fatal(err)
		}
	}
	return n
}

// countBackups counts the backups in their place.
func (p places) countBackups(s *program.Site) int {
	s.Helper()
	list, err := filepath.Glob(filepath.Join(p.backups, "*.backup"))
	if err != nil {
		s.Fatal(err)
	}
	return len(list)
}

func isDegradedBy(v *program.Server, word string) bool {
	return strings.Contains(string(v.Call("GET", "/readyz", "", nil).Body), word)
}

func sweep(s *program.Site, p places) {
	s.Helper()
	s.Exec(append(p.flags(), "jobs", "run", "sweep-import-files")...)
}

// countMails asks for a link that sets a new password, and counts the mails that the
// server then kept for the developer.
func countMails(v *program.Server, to string) int {
	v.Helper()
	v.Call("POST", "/auth/v1/recover", "", map[string]string{"email": to})
	time.Sleep(time.Second) // a mail leaves up to 250 ms later
	var mails []struct{ To string }
	v.Call("GET", "/dev/mail?to="+to, "", nil).Into(v, &mails)
	return len(mails)
}

func newOrderNumber(v *program.Server) (n int) {
	v.Helper()
	var made []struct {
		OrderNo string `json:"order_no"`
	}
	bearer := v.Token("admin@north.example", "holdfast-demo")
	if r := v.Call("POST", "/v1/orders", bearer, map[string]any{"party_name": "Copy"}); r.Status != http.StatusCreated {
		v.Fatalf("an order: %d %s", r.Status, r.Body)
	}
	v.Call("GET", "/v1/orders?select=order_no&party_name=eq.Copy&order=id.desc&limit=1", bearer, nil).Into(v, &made)
	if _, err := fmt.Sscanf(made[0].OrderNo[len(made[0].OrderNo)-6:], "%d", &n); err != nil {
		v.Fatal(err)
	}
	return n
}

// A restored copy with the settings of the original, beside the original, removes
// none of its files, writes no backup beside its backups and mails nobody. Its
// operator says which of the two it is; only as the original it takes the places
// over, and then the other one leaves them alone.
func TestCopyLeavesTheOriginalAlone(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		shared := places{s.TempDir(), s.TempDir()}
		original := s.Serve(append(shared.flags(), "--dev")...)
		bearer := original.Token("admin@north.example", "holdfast-demo")
		original.Uploaded(bearer, 3)
		path := s.TempDir() + "/now.backup"
		backup(s, path, shared.flags()...)
		original.Uploaded(bearer, 4) // the copy does not know of it
		lastNumber := newOrderNumber(original)
		uploads := shared.countUploads(s)
		s.Eventually("the original makes its backup", func() bool { return shared.countBackups(s) == 1 })

		n := another(s)
		if o := restore(n, path, shared.flags()...); o.Code != 0 || !strings.Contains(o.Out, "holdfast resume") {
			s.Fatalf("restore: %s", o)
		}
		restored := n.Serve(append(shared.flags(), "--dev")...)
		if !isDegradedBy(restored, "restored copy") {
			s.Error("/readyz does not say what it is")
		}
		if got := newOrderNumber(restored); got < lastNumber+1000 {
			s.Errorf("the copy gives the number %d, the original gave %d", got, lastNumber)
		}
		if countMails(restored, "viewer@north.example") != 0 || countMails(original, "viewer@north.example") != 1 {
			s.Error("the copy mails people, or the original does not")
		}
		if found, code := doctor(n, nil, shared.flags()...); code != 1 ||
			!strings.Contains(found["copy"].What, "restored copy") {
			s.Errorf("doctor of the copy: %d %+v", code, found["copy"])
		}
		sweep(n, shared)
		s.Eventually("the job says why no backup is made", func() bool {
			return strings.Contains(n.Exec("jobs", "list", "backup"), "no backup is made: this is a restored copy")
		})
		untouchedPlaces(s, shared, uploads)

		n.Exec(append(shared.flags(), "resume", "--as-copy")...)
		s.Eventually("the server hears of it", func() bool { return !isDegradedBy(restored, "restored copy") })
		if countMails(restored, "manager@north.example") != 1 {
			s.Error("a copy that works beside the original mails nobody")
		}
		if !isDegradedBy(restored, "belongs to installation") {
			s.Error("/readyz does not say whose the places are")
		}
		sweep(n, shared)
		n.Refused("backup_to .* belongs to installation", append(shared.flags(), "jobs", "run", "backup")...)
		untouchedPlaces(s, shared, uploads)
		if found, _ := doctor(s, nil, shared.flags()...); found["copy"].Level != "ok" {
			s.Errorf("doctor of the original: %+v", found["copy"])
		}
		own := places{s.TempDir(), s.TempDir()}
		restored.Stop()
		restored = n.Serve(append(own.flags(), "--dev")...)
		if found, _ := doctor(n, nil, own.flags()...); found["copy"].Level != "ok" {
			s.Errorf("doctor of a copy with places of its own: %+v", found["copy"])
		}
		restored.Stop()

		n.Exec(append(shared.flags(), "resume", "--as-original")...)
		n.Write("DELETE FROM backups")
		n.Exec(append(shared.flags(), "jobs", "run", "backup")...)
		if got := shared.countBackups(s); got != 2 {
			s.Errorf("%d backups, one by each", got)
		}
		s.Write("DELETE FROM backups")
		s.Refused("belongs to installation", append(shared.flags(), "jobs", "run", "backup")...)
		if got := shared.countBackups(s); got != 2 {
			s.Error("the server whose places were taken over goes on with them")
		}
		if !program.Within(2*time.Minute, func() bool {
			return strings.Contains(original.Out.String(),
				"belongs to installation")
		}) {
			s.Error("the server whose places were taken over does not say so")
		}
	})
}

func untouchedPlaces(s *program.Site, p places, uploads int) {
	s.Helper()
	if files, backups := p.countUploads(s), p.countBackups(s); files != uploads || backups != 1 {
		s.Fatalf("%d of %d files and %d of 1 backups of the original are there", files, uploads, backups)
	}
}

// What a backup keeps of the settings comes back without what the original uses
// outside its data directory.
func TestRestoredSettingsNameNothingOutside(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		path := s.TempDir() + "/one.backup"
		own := places{s.TempDir(), s.TempDir()}
		outside := append(own.flags(), "--smtp-url", "smtp://mail.example:25", "--signup-taken", "tell")
		backup(s, path, outside...)
		n := another(s)
		if o := restore(n, path); o.Code != 0 {
			s.Fatalf("restore: %s", o)
		}
		text, err := os.ReadFile(filepath.Join(n.Data, "restored.conf"))
		if err != nil {
			s.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, " = ")
			switch name {
			case "blob_url", "backup_to", "smtp_url", "database_url":
				s.Errorf("restored.conf names what the original uses: %s", line)
			}
		}
		if !strings.Contains(string(text), "# the original's: smtp_url = smtp://mail.example:25") ||
			!strings.Contains(string(text), "\nsignup_taken = tell\n") {
			s.Errorf("restored.conf: %s", text)
		}
	})
}
