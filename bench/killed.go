package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/db"
)

// killedAt is the share of a step after which the server is killed.
const killedAt = 0.4

// killed applies and rolls back a large import in a server that is killed
// (SIGKILL) after 40 % of each and started again: the work goes on where it was,
// what is told of it never goes back, and at each end every record is there
// once, or none. A second job is rolled back from the middle of its apply.
func (m *measurement) killed(ctx context.Context, engine string) (err error) {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "items.csv")
	if err := writeItems(path, m.rows); err != nil {
		return err
	}
	s, err := m.tenantOf(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	k := &killing{measurement: m, s: s}
	first, err := k.job(ctx, path)
	if err != nil {
		return err
	}
	for _, verb := range []string{"apply", "rollback"} {
		if err := errors.Join(k.kill(ctx, verb, first), k.finish(ctx, verb, first)); err != nil {
			return err
		}
	}
	second, err := k.job(ctx, path)
	if err != nil {
		return err
	}
	if err := k.kill(ctx, "apply", second); err != nil {
		return err
	}
	return k.finish(ctx, "rollback", second)
}

// killing is one engine's run.
type killing struct {
	*measurement
	s     *site
	token string
}

// start starts the server and signs in: a token is for one address.
func (k *killing) start(ctx context.Context) (err error) {
	if err := k.s.start(ctx); err != nil {
		return err
	}
	k.token, err = k.s.token(ctx, importer)
	return err
}

// job makes a job that is ready to be applied.
func (k *killing) job(ctx context.Context, path string) (id string, err error) {
	if k.s.server == nil {
		if err := k.start(ctx); err != nil {
			return "", err
		}
	}
	if id, err = k.s.upload(ctx, k.token, "items.csv", path); err != nil {
		return "", err
	}
	_, err = k.s.step(ctx, k.token, "process", id)
	return id, err
}

// told is what is told of a job.
type told struct {
	Status      string
	Done, Total int64
}

func (k *killing) told(ctx context.Context, job string) (t told, err error) {
	raw, err := k.s.call(ctx, "GET", "/v1/import-jobs/"+job+"/progress", k.token, "", nil)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(raw, &t)
}

// watch asks how far a job is until enough says so or its step has ended, and
// holds it to never going back.
func (k *killing) watch(
	ctx context.Context, job string, last told, enough func(told) bool, ended <-chan error,
) (told, error) {
	for {
		t, err := k.told(ctx, job)
		if err != nil {
			return last, err
		}
		if t.Status == last.Status && t.Done < last.Done {
			return t, fmt.Errorf("job %s went back from %d to %d", t.Status, last.Done, t.Done)
		}
		if last = t; enough(t) {
			return t, nil
		}
		select {
		case err := <-ended:
			return t, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// kill kills the server in the middle of a step, starts it again, and reports
// what was kept.
func (k *killing) kill(ctx context.Context, verb, job string) error {
	ended := make(chan error, 1)
	go func() {
		_, err := k.s.step(ctx, k.token, verb, job)
		ended <- err
	}()
	working := map[string]string{"apply": "applying", "rollback": "rolling_back"}[verb]
	before, err := k.watch(ctx, job, told{}, func(t told) bool {
		return t.Status == working && float64(t.Done) >= killedAt*float64(t.Total)
	}, ended)
	if err != nil {
		return err
	}
	if before.Status != working {
		return fmt.Errorf("the %s ended before it was killed", verb)
	}
	if err := errors.Join(k.s.server.cmd.Process.Kill(), k.s.server.stop()); err != nil {
		return err
	}
	<-ended
	begin := time.Now()
	if err := k.start(ctx); err != nil {
		return err
	}
	after, err := k.watch(ctx, job, told{}, func(t told) bool { return t.Status != working }, nil)
	if err != nil {
		return err
	}
	kept, err := k.sofar(ctx, verb, job)
	if err != nil {
		return err
	}
	if kept < before.Done || kept >= before.Total {
		return fmt.Errorf("%s of %d rows killed after %d: %d are kept", verb, before.Total, before.Done, kept)
	}
	return k.add(of(fmt.Sprintf("%s of %d rows killed, kept", verb, k.rows), k.s.engine,
		[]float64{float64(kept) / float64(before.Total)},
		fmt.Sprintf("of the rows; %d were told when it was killed; %s %.1f s after the start", before.Done, after.Status,
			time.Since(begin).Seconds())).atLeast(killedAt, ""))
}

// sofar is how many rows the job's own record says are applied or back.
func (k *killing) sofar(ctx context.Context, verb, job string) (int64, error) {
	raw, err := k.s.call(ctx, "GET", "/v1/import-jobs/"+job, k.token, "", nil)
	if err != nil {
		return 0, err
	}
	var j struct {
		Imported int64 `json:"imported_count"`
		Back     int64 `json:"rolled_back_count"`
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return 0, err
	}
	if verb == "rollback" {
		return j.Back, nil
	}
	return j.Imported, nil
}

// finish takes the step again, from where it is, and counts the records and
// what the tenant's counters say of them.
func (k *killing) finish(ctx context.Context, verb, job string) error {
	start, err := k.sofar(ctx, verb, job)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := k.s.step(ctx, k.token, verb, job)
		ended <- err
	}()
	working := map[string]string{"apply": "applying", "rollback": "rolling_back"}[verb]
	if _, err := k.watch(ctx, job, told{working, start, 0}, func(told) bool { return false }, ended); err != nil {
		return err
	}
	want := int64(0)
	if verb == "apply" {
		want = int64(k.rows)
	}
	records, counted, err := k.count(ctx)
	if err != nil {
		return err
	}
	wrong := max(records-want, want-records) + max(counted-want, want-counted)
	return k.add(of(fmt.Sprintf("%s of %d rows gone on with, wrong", verb, k.rows), k.s.engine, []float64{float64(wrong)},
		fmt.Sprintf("records; it began at %d", start)).atMost(0, ""))
}

// count counts the items with keys of their own, and what the counters say.
func (k *killing) count(ctx context.Context) (records, counted int64, err error) {
	d, err := db.Open(ctx, db.Options{URL: k.s.url, Dir: k.s.dir})
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	err = d.Read(ctx, db.Scope{Tenant: importer}, func(tx *db.Tx) error {
		tx.Queue("SELECT COUNT(DISTINCT sku) FROM items WHERE tenant_id = $1", []any{importer}, func(r *db.Row) error {
			records = r.Int(0)
			return nil
		})
		return tx.Query("SELECT COALESCE(CAST(SUM(delta) AS bigint), 0) FROM counters WHERE tenant_id = $1 AND name LIKE 'items:%'", []any{importer},
			func(r *db.Row) error { counted = r.Int(0); return nil })
	})
	return records, counted, err
}
