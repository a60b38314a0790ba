package identity_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/identity/chain"
	"holdfast/internal/secrets"
)

// sealingEnv makes a run of this test's program a process that writes and seals until it is
// killed. It holds a sealingPlace.
const sealingEnv = "HOLDFAST_TEST_SEALING"

// newestKilledSQL selects the newest row that such processes wrote to a log. $1 tenant.
const newestKilledSQL = `(
	SELECT id
	FROM audit
	WHERE tenant_id = $1
		AND action = 'killed'
	ORDER BY id DESC
	LIMIT 1)`

// sealingPlace is where such a process works.
type sealingPlace struct {
	Dir, URL string
	Tenants  []string
}

// writeAndSeal writes to the logs of the tenants in turn, says how many rows of all were
// acknowledged, a line each time, and seals without a pause meanwhile.
func writeAndSeal(place string) error {
	var p sealingPlace
	if err := json.Unmarshal([]byte(place), &p); err != nil {
		return err
	}
	ctx := context.Background()
	d, err := db.Open(ctx, db.Options{Dir: p.Dir, URL: p.URL, PoolSize: 4})
	if err != nil {
		return err
	}
	keys, err := secrets.New(config().MasterKey)
	if err != nil {
		return err
	}
	audit.KeepKey(d, keys.Log)

	failed := make(chan error, 2)
	go func() {
		c := chain.Chain{DB: d, Keys: keys, Now: time.Now}
		for {
			if _, err := c.Seal(ctx); err != nil {
				failed <- err
			}
		}
	}()
	go func() {
		for rows := 0; ; {
			n := 1 + rand.IntN(20)
			err := d.Write(ctx, all, func(tx *db.Tx) error {
				for i := range n {
					audit.Write(tx, audit.Entry{Tenant: p.Tenants[i%len(p.Tenants)], At: time.Now(), Action: "killed"})
				}
				return nil
			})
			if err != nil {
				failed <- err
			}
			rows += n
			fmt.Println(rows)
		}
	}()
	return <-failed
}

// killWhileSealing starts such a process, kills it a moment after its first acknowledged
// row, and returns how many it said were acknowledged.
func (k *kit) killWhileSealing(place string) (rows int64) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), sealingEnv+"="+place)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.Error(err)
		return 0
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rows == 0 {
			time.AfterFunc(rand.N(150*time.Millisecond), func() { cmd.Process.Kill() })
		}
		if rows, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			k.Error(err)
		}
	}
	cmd.Wait()
	if rows == 0 || said.Len() > 0 {
		k.Errorf("%d rows were acknowledged: %s", rows, said.String())
	}
	return rows
}

// Processes that are killed while they write and seal leave a log that is whole: each row
// that they acknowledged is sealed by another one, and what is done to their rows is told as
// that of any other row is.
func TestAuditChain_killedSealers(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenants := []string{k.tenant("North"), k.tenant("South"), k.tenant("West")}
		k.sealLog()
		place, err := json.Marshal(sealingPlace{Dir: k.options.Dir, URL: k.options.URL, Tenants: tenants})
		k.ok(err)
		atOnce := 1
		if k.db.Engine() == db.PostgreSQL {
			atOnce = 2
		}

		var acknowledged int64
		for range 6 {
			said := make([]int64, atOnce)
			var killed sync.WaitGroup
			for i := range said {
				killed.Go(func() { said[i] = k.killWhileSealing(string(place)) })
			}
			killed.Wait()
			for _, n := range said {
				acknowledged += n
			}
			k.write(tenants[0], "lives", 1)
			k.sealLog()
		}
		own, _ := audit.LogOf(k.db).Epoch()
		k.exec("UPDATE audit_writers SET looked_at = NULL, seen_at = $1 WHERE epoch <> $2",
			time.Now().Add(-2*db.DeadAfter), own)
		k.sealLog()

		var sealed int64
		for _, tenant := range tenants {
			r := k.verifyLog(tenant)
			if !r.Whole() || r.Waiting != 0 {
				k.Errorf("after the kills: %+v", r)
			}
			sealed += r.Rows
		}
		written := k.count("SELECT COUNT(*) FROM audit WHERE action = 'killed'")
		if int64(written) < acknowledged || sealed < acknowledged {
			k.Errorf("%d rows were acknowledged, %d are there, %d of all are sealed", acknowledged, written, sealed)
		}
		k.Logf("%d rows were acknowledged, %d are there, %d of all are sealed", acknowledged, written, sealed)

		for _, c := range []struct{ sql, why string }{
			{"UPDATE audit SET action = 'changed' WHERE tenant_id = $1 AND id = ", "was changed"},
			{"DELETE FROM audit WHERE tenant_id = $1 AND id = ", "1 row is missing"},
		} {
			tenant := tenants[2]
			k.exec(c.sql+newestKilledSQL, tenant)
			isTold := func(b chain.Break) bool { return strings.Contains(b.Why, c.why) }
			if r := k.verifyLog(tenant); !slices.ContainsFunc(r.Breaks, isTold) {
				k.Errorf("%s: %+v", c.sql, r.Breaks)
			}
		}
	})
}
