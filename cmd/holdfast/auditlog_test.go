package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/testkit/program"
)

// An operator keeps where the logs end in a file elsewhere: a log that goes on from there is
// whole and adds its end, one that does not is told.
func TestVerifyAuditHeads(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		id := strings.TrimSpace(s.Exec("tenant", "create", "Acme"))
		s.Eventually("the log is sealed", func() bool {
			return s.Number("SELECT COUNT(*) FROM audit WHERE batch NOT IN (SELECT batch FROM audit_seals)") == 0
		})
		v.Stop()

		file := filepath.Join(t.TempDir(), "heads.jsonl")
		s.Exec("verify", "--audit", "--heads", file)
		s.Exec("verify", "--audit", "--heads", file)
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), id) != 2 {
			s.Fatalf("%v: %s", err, text)
		}

		later := strings.ReplaceAll(string(text), `"seal_no":1,`, `"seal_no":1000,`)
		back := filepath.Join(t.TempDir(), "later.jsonl")
		if err := os.WriteFile(back, []byte(later), 0o600); err != nil || later == string(text) {
			s.Fatalf("%v: %s", err, text)
		}
		s.Refused("changed after it was sealed", "verify", "--audit", "--heads", back)
		if kept, _ := os.ReadFile(back); string(kept) != later {
			s.Errorf("a log that does not hold adds its end: %s", kept)
		}

		if err := os.WriteFile(back, append(text, "no head\n"...), 0o600); err != nil {
			s.Fatal(err)
		}
		s.Refused("is no head of an audit log", "verify", "--audit", "--heads", back)
		s.Refused("say --audit too", "verify", "--heads", file)
	})
}
