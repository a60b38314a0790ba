package imports_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// childDir names the variable that makes the test binary a server that applies
// one job and is killed.
const childDir = "HOLDFAST_IMPORT_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		work(dir, os.Args[len(os.Args)-2], os.Args[len(os.Args)-1])
		return
	}
	pgtest.Main(m)
}

const killRows = 5000

// work is the child: it says that it starts, and applies or rolls back.
func work(dir, verb, job string) {
	k := reopen(&testing.T{}, dir)
	fmt.Println("started")
	if verb == "rollback" {
		fmt.Println(k.m.Rollback(context.Background(), k.as, job))
		return
	}
	if verb == "chunks" {
		k.parted(1000)
	}
	fmt.Println(k.m.Apply(context.Background(), k.as, job))
}

func reopen(t testing.TB, dir string) *kit {
	k := &kit{TB: t, now: time.Now(), as: actor.Actor{TenantID: north, UserID: anna, Role: actor.Admin}}
	k.connect(db.Options{Dir: dir, Exclusive: true}, dir+"/files")
	return k
}

// prepared leaves a processed job in a fresh directory.
func prepared(t *testing.T) (dir, id string) {
	dir = t.TempDir()
	k := open(t, db.Options{Dir: dir, Migrate: true})
	k.d.Close()
	k.connect(db.Options{Dir: dir}, dir+"/files")
	job := k.upload("items", "", "", "i.csv", benchFile(killRows))
	k.process(job)
	k.d.Close()
	return dir, job.ID
}

// Whenever the process dies, an apply has happened or it has not, and the job
// can be run to its end.
func TestKilledWhileApplying(t *testing.T) {
	outcomes := map[string]int{}
	for round := range 10 {
		dir, id := prepared(t)
		killed(t, dir, "apply", id, time.Duration(rand.IntN(250))*time.Millisecond)
		k := reopen(t, dir)
		outcomes[k.settled(id, map[string]int{"ready": 0, "completed": killRows})]++
		if res, err := k.m.Apply(context.Background(), k.as, id); err != nil || res.ImportedCount != killRows || len(k.rows("items")) != killRows {
			t.Fatalf("round %d, again: %+v %v, %d rows", round, res, err, len(k.rows("items")))
		}
		if c := k.counters(); c["items:active:true"]+c["items:active:false"] != killRows {
			t.Fatalf("round %d: counters %v", round, c)
		}
		k.d.Close()
	}
	t.Logf("outcomes: %v", outcomes)
}

// The same holds for taking an import back.
func TestKilledWhileRollingBack(t *testing.T) {
	outcomes := map[string]int{}
	for round := range 6 {
		dir, id := prepared(t)
		k := reopen(t, dir)
		if _, err := k.m.Apply(context.Background(), k.as, id); err != nil {
			t.Fatal(err)
		}
		k.d.Close()
		killed(t, dir, "rollback", id, time.Duration(rand.IntN(700))*time.Millisecond)
		k = reopen(t, dir)
		state := k.settled(id, map[string]int{"completed": killRows, "rolled_back": 0})
		outcomes[state]++
		if state == "completed" {
			if res, err := k.m.Rollback(context.Background(), k.as, id); err != nil || res.RolledBack != killRows {
				t.Fatalf("round %d, again: %+v %v", round, res, err)
			}
		}
		if n, c := len(k.rows("items")), k.counters(); n != 0 || len(c) != 0 {
			t.Fatalf("round %d: %d rows, counters %v", round, n, c)
		}
		k.d.Close()
	}
	t.Logf("outcomes: %v", outcomes)
}

// settled recovers after a crash and returns the job's state, which must be one
// of those given and go with its number of items.
func (k *kit) settled(id string, rows map[string]int) string {
	k.Helper()
	if _, err := k.m.Recover(context.Background()); err != nil {
		k.Fatal(err)
	}
	n, state := len(k.rows("items")), k.find("import_jobs", "id", id)["status"].(string)
	if want, ok := rows[state]; !ok || want != n {
		k.Fatalf("%d rows, job %v", n, state)
	}
	return state
}

func killed(t *testing.T, dir, verb, job string, after time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, verb, job)
	c.Env = append(os.Environ(), childDir+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "started\n" {
		t.Errorf("the child says %q %v", line, err)
	}
	time.Sleep(after)
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // says that it was killed
}
