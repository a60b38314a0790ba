package imports_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// childOf names the variable that makes the test binary a server that runs one
// Step of one job and is killed; killRounds the one that says how often each
// Step is killed.
const (
	childOf    = "HOLDFAST_IMPORT_CHILD"
	killRounds = "HOLDFAST_KILL_ROUNDS"
)

// place is what a server needs to know: a data directory or a database, where
// the files are, the step and the job.
type place struct{ Dir, URL, Files, Step, Job string }

func (p place) options() db.Options {
	if p.URL != "" {
		return db.Options{URL: p.URL}
	}
	return db.Options{Dir: p.Dir, Exclusive: true}
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(childOf); raw != "" {
		var p place
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			panic(err)
		}
		p.work()
		return
	}
	pgtest.Main(m)
}

// A file of killRows rows changes the first killBase of its records, a part of
// them, and makes the others.
const killRows, killBase = 5000, 1000

// work is the child: it says that it starts, and takes the step.
func (p place) work() {
	k := reopen(&testing.T{}, p)
	if p.Step == "judge" {
		p.judged(k)
		return
	}
	fmt.Println("started")
	k.step(p.Step, p.Job)
	fmt.Println("ended")
}

// Step takes a step of a job: "in parts" in chunks or batches of a thousand
// rows, else at once.
func (k *kit) step(step, job string) error {
	ctx := context.Background()
	if step == "apply in parts" || step == "roll back in parts" {
		k.parted(1000)
	}
	var err error
	switch step {
	case "process":
		_, err = k.m.Process(ctx, k.as, job)
	case "apply", "apply in parts":
		_, err = k.m.Apply(ctx, k.as, job)
	default:
		_, err = k.m.Rollback(ctx, k.as, job)
	}
	return err
}

func reopen(t testing.TB, p place) *kit {
	k := &kit{TB: t, now: time.Now(), as: actor.Actor{TenantID: north, UserID: anna, Role: actor.Admin}}
	k.connect(p.options(), p.Files)
	return k
}

// victims are what dies, round by round: on PostgreSQL the process, it together
// with the server's backends, or these alone.
var victims = []string{"process", "both", "backends"}

// Whenever the process dies, a step has happened or it has not, or, in parts,
// has in whole parts; the job is by itself back in a state from which it goes
// on, on PostgreSQL as soon as the server sees the connections end, not when
// the lease is over; and it ends exact: each row once, or every byte as before.
func TestKilled(t *testing.T) {
	rounds := len(victims)
	if n, err := strconv.Atoi(os.Getenv(killRounds)); err == nil {
		rounds = n
	}
	t.Parallel()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		o := dbtest.Options(t, e)
		r := &killing{T: t, place: place{Dir: o.Dir, URL: o.URL, Files: t.TempDir()}}
		r.prepare(o)
		if o.URL != "" {
			var err error
			if r.admin, err = pgx.Connect(t.Context(), o.URL); err != nil { // only a superuser may end others
				t.Fatal(err)
			}
			defer r.admin.Close(context.Background())
		}
		for _, step := range []string{"process", "apply", "apply in parts", "roll back", "roll back in parts"} {
			outcomes := map[string]int{}
			for round := range rounds {
				outcomes[r.round(step, round)]++
			}
			t.Logf("%s: %v", step, outcomes)
		}
	})
}

// killing is one engine's database, through which the rounds go.
type killing struct {
	*testing.T
	place
	admin *pgx.Conn // on PostgreSQL
	file  []byte
	base  string // the records before the import
	took  map[string]time.Duration
}

// prepare makes the records that the import changes.
func (r *killing) prepare(o db.Options) {
	open(r, o).close()
	k := reopen(r, r.place)
	defer k.close()
	k.imported("items", "", "", "base.csv", bytes.ReplaceAll(benchFile(killBase), []byte("Item number"),
		[]byte("Once number")))
	r.base, r.file, r.took = k.dump("items"), benchFile(killRows), map[string]time.Duration{}
}

func (k *kit) close() {
	k.m.Close()
	k.d.Close()
}

// round kills one step and sees what is there. It leaves what it found.
func (r *killing) round(step string, n int) string {
	k := reopen(r, r.place)
	job := k.upload("items", `{"force":true}`, "", "i.csv", r.file)
	before := map[string][]string{"process": nil, "apply": {"process"}, "apply in parts": {"process"}}[step]
	if step == "roll back" || step == "roll back in parts" {
		before = []string{"process", "apply"}
	}
	for _, s := range before {
		if err := k.step(s, job.ID); err != nil {
			r.Fatal(err)
		}
	}
	k.close()
	r.kill(step, job.ID, victims[n%len(victims)])
	r.sound()

	k = reopen(r, r.place)
	defer k.close()
	state := k.settled(job.ID)
	j := k.find("import_jobs", "id", job.ID)
	imported, back := j["imported_count"].(int64), j["rolled_back_count"].(int64)
	fresh := int64(len(k.rows("items"))) - killBase
	what := fmt.Sprintf("%s %d: job %s, %d imported, %d back, %d new records", step, n, state, imported, back, fresh)
	switch step {
	case "process":
		if state != "uploaded" && state != "ready" || fresh != 0 {
			r.Fatal(what)
		}
		if p := k.process(job); p.Stats != (plan.Stats{TotalRows: killRows, ValidRows: killRows}) {
			r.Fatalf("%s: %+v", what, p.Stats)
		}
	case "apply", "roll back":
		full := state == "completed"
		if !full && state != "ready" && state != "rolled_back" || full != (fresh == killRows-killBase) || !full &&
			k.dump("items") != r.base {
			r.Fatal(what)
		}
	case "apply in parts":
		if imported%1000 != 0 || state != "completed" && state != "ready" || imported != fresh+min(imported, killBase) {
			r.Fatal(what)
		}
	case "roll back in parts":
		// All may be back before the job says so: then that is what is left to do.
		if back%1000 != 0 || state != "completed" && state != "rolled_back" || state == "rolled_back" && back != killRows {
			r.Fatal(what)
		}
	}
	k.finishJob(job, what)
	if k.dump("items") != r.base {
		r.Fatalf("%s: the records are not what they were", what)
	}
	return fmt.Sprint(state, " ", imported/1000, " ", back/1000)
}

// finish brings a job to its end and back.
func (k *kit) finishJob(job *jobs.Job, what string) {
	k.Helper()
	ctx := context.Background()
	j := k.find("import_jobs", "id", job.ID)
	if s := j["status"]; s == "ready" {
		if a, err := k.m.Apply(ctx, k.as, job.ID); err != nil || a.ImportedCount != killRows {
			k.Fatalf("%s; applied again: %+v %v", what, a, err)
		}
		if n := len(k.rows("items")); n != killRows {
			k.Fatalf("%s; applied again: %d records", what, n)
		}
	}
	if k.status(job) != "rolled_back" {
		if res, err := k.m.Rollback(ctx, k.as, job.ID); err != nil || res.RolledBack != killRows {
			k.Fatalf("%s; rolled back again: %+v %v", what, res, err)
		}
	}
	if c := k.counters(); c["items:active:true"]+c["items:active:false"] != killBase {
		k.Fatalf("%s: counters %v", what, c)
	}
}

// settled waits until the job is in a stable state by itself, well before the
// Lease of its dead worker is over.
func (k *kit) settled(id string) string {
	k.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := k.m.Recover(context.Background()); err != nil {
			k.Fatal(err)
		}
		state := k.find("import_jobs", "id", id)["status"].(string)
		if state != "processing" && state != "applying" && state != "rolling_back" {
			return state
		}
		if time.Now().After(end) {
			k.Fatalf("the job is still %s", state)
		}
	}
}

// sound asks SQLite itself whether the file is whole.
func (r *killing) sound() {
	r.Helper()
	if r.admin != nil {
		return
	}
	d, err := sql.Open("sqlite", filepath.Join(r.Dir, db.FileName))
	if err != nil {
		r.Fatal(err)
	}
	defer d.Close()
	said := ""
	if err := d.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		r.Fatalf("integrity_check: %s %v", said, err)
	}
	rows, err := d.Query("PRAGMA foreign_key_check")
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() || rows.Err() != nil {
		r.Fatalf("foreign_key_check finds rows, or %v", rows.Err())
	}
}

// kill runs a step in a process of its own and kills it, or what it works with,
// At a random moment of the time that the step took when it was let to end.
func (r *killing) kill(step, job, victim string) {
	r.Helper()
	self, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	p := r.place
	p.Step, p.Job = step, job
	text, err := json.Marshal(p)
	if err != nil {
		r.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childOf+"="+string(text))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := c.Start(); err != nil {
		r.Fatal(err)
	}
	says := bufio.NewReader(out)
	if line, err := says.ReadString('\n'); err != nil || line != "started\n" {
		r.Fatalf("the child says %q %v", line, err)
	}
	start := time.Now()
	if r.took[step] == 0 {
		r.took[step] = 400 * time.Millisecond // a first guess
	}
	ended := make(chan bool, 1)
	go func() {
		rest, _ := io.ReadAll(says)
		ended <- bytes.Contains(rest, []byte("ended"))
	}()
	select {
	case done := <-ended:
		if done {
			r.took[step] = time.Since(start)
		}
	case <-time.After(rand.N(r.took[step])):
		r.took[step] += r.took[step] / 10
		if r.admin != nil && victim != "process" {
			if _, err := r.admin.Exec(context.Background(),
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"); err != nil {
				r.Error(err)
			}
		}
		if r.admin != nil && victim == "backends" {
			<-ended
		} else if err := c.Process.Kill(); err != nil {
			r.Error(err)
		}
	}
	_ = c.Wait() // says that it was killed
}
