package faults_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/job"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/program"
)

// A server whose database takes no writes, or is away, leaves one line in the log
// for each piece of its background work that fails, and one when it succeeds again
// soon after. It does not use up the processor meanwhile.
func TestBackgroundWorkWithoutWrites(t *testing.T) {
	t.Parallel() // it waits, and does little else
	refusals := map[string]func(v *program.Server) (back func()){
		"away": away,
		"read-only": func(v *program.Server) func() {
			if v.DSN == "" {
				return away(v) // a file that cannot grow is a read-only disk
			}
			return pgtest.RefuseWrites(v, v.DSN)
		},
	}
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			program.EachDemo(t, func(s *program.Site) {
				v := s.ServeAs(fileSizes, "--dev", "--log-level", "info")
				addDueJobs(s)
				back := refuse(v)
				begin := processorTime(v)
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
					v.Call("PATCH", "/v1/zones?id=eq."+uuid.NewString(), "", map[string]any{"name": "x"})
				}
				if used := processorTime(v) - begin; used > 6*time.Second {
					s.Errorf("the server used the processor for %s of 20 seconds", used)
				}
				back()
				s.Eventually("the server is ready again", func() bool {
					return v.Call("GET", "/readyz", "",
						nil).Status == http.StatusOK
				})
				failing, again := map[string]int{}, map[string]int{}
				s.Eventually("all work goes on", func() bool {
					failing, again = workLines(v)
					return len(again) == len(failing)
				})
				if len(failing) == 0 {
					s.Error("nothing failed")
				}
				for work, n := range failing {
					// Sessions are ended when it begins and when it is over; on a busy machine
					// one attempt or another gets through in between.
					if n > 5 || again[work] != n {
						s.Errorf("%s: the log says %d times that it fails, %d times that it succeeds again", work, n, again[work])
					}
				}
				v.Stop()
			})
		})
	}
}

// addDueJobs adds a hundred jobs of a kind that the server handles, due in a few
// seconds.
func addDueJobs(s *program.Site) {
	s.Helper()
	now := time.Now().UTC()
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			jobs := make([]job.Job, 100)
			for i := range jobs {
				jobs[i] = job.Job{Tenant: db.NoTenant, Kind: "expire-lots", Key: uuid.NewString(), Made: now,
					Due: now.Add(5 * time.Second)}
			}
			return job.Add(tx, jobs...)
		})
	})
}

// workLines counts by work the lines of the log that say that it fails, and that it
// succeeds again.
func workLines(v *program.Server) (failing, again map[string]int) {
	failing, again = map[string]int{}, map[string]int{}
	for line := range strings.Lines(v.Out.String()) {
		var l struct{ Msg, Work string }
		if json.Unmarshal([]byte(line), &l) != nil {
			continue
		}
		switch {
		case strings.HasPrefix(l.Msg, "background work fails"):
			failing[l.Work]++
		case strings.HasPrefix(l.Msg, "background work succeeds again"):
			again[l.Work]++
		}
	}
	return failing, again
}

// processorTime is how long the server has used a processor.
func processorTime(v *program.Server) time.Duration {
	v.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(v.Cmd.Process.Pid) + "/stat")
	if err != nil {
		v.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime, proc_pid_stat(5)
		n, err := strconv.Atoi(field)
		if err != nil {
			v.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
