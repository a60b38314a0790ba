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
		applyForever(dir, os.Args[len(os.Args)-1])
		return
	}
	pgtest.Main(m)
}

const killRows = 5000

// applyForever is the child: it says that it starts, and applies.
func applyForever(dir, job string) {
	t := &testing.T{}
	k := &kit{TB: t, now: time.Now(), as: actor.Actor{TenantID: north, UserID: anna, Role: actor.Admin}}
	k.connect(db.Options{Dir: dir, Exclusive: true}, dir+"/files")
	fmt.Println("applying")
	res, err := k.m.Apply(context.Background(), k.as, job)
	fmt.Println("applied", res, err)
}

// Whenever the process dies, an apply has happened or it has not, and the job
// can be run to its end.
func TestKilledWhileApplying(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var none, all int
	for round := range 10 {
		dir := t.TempDir()
		var id string
		func() {
			k := open(t, db.Options{Dir: dir, Migrate: true})
			k.connect(db.Options{Dir: dir}, dir+"/files")
			job := k.upload("items", "", "", "i.csv", benchFile(killRows))
			k.process(job)
			id = job.ID
			k.d.Close()
		}()
		killed(t, self, dir, id, time.Duration(rand.IntN(250))*time.Millisecond)
		k := &kit{TB: t, now: time.Now(), as: actor.Actor{TenantID: north, UserID: anna, Role: actor.Admin}}
		k.connect(db.Options{Dir: dir, Exclusive: true}, dir+"/files")
		if _, err := k.m.Recover(context.Background()); err != nil {
			t.Fatal(err)
		}
		n, status := len(k.rows("items")), k.find("import_jobs", "id", id)["status"]
		switch {
		case n == 0 && status == "ready":
			none++
		case n == killRows && status == "completed":
			all++
		default:
			t.Fatalf("round %d: %d rows, job %v", round, n, status)
		}
		if res, err := k.m.Apply(context.Background(), k.as, id); err != nil || res.ImportedCount != killRows || len(k.rows("items")) != killRows {
			t.Fatalf("round %d, again: %+v %v, %d rows", round, res, err, len(k.rows("items")))
		}
		if c := k.counters(); c["items:active:true"]+c["items:active:false"] != killRows {
			t.Fatalf("round %d: counters %v", round, c)
		}
		k.d.Close()
	}
	t.Logf("killed before the commit %d times, after it %d times", none, all)
}

func killed(t *testing.T, self, dir, job string, after time.Duration) {
	t.Helper()
	c := exec.Command(self, "-test.run", "XXX", job)
	c.Env = append(os.Environ(), childDir+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "applying\n" {
		t.Errorf("the child says %q %v", line, err)
	}
	time.Sleep(after)
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // says that it was killed
}
