package imports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
)

// files are the keys in the file store.
func (k *kit) files() int {
	k.Helper()
	n := 0
	for _, err := range k.o.Files.List(context.Background()) {
		if err != nil {
			k.Fatal(err)
		}
		n++
	}
	return n
}

// crowd gives a job's rows n more chunks.
func (k *kit) crowd(job *jobs.Job, n int) {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		for i := range n {
			tx.Queue("INSERT INTO import_records (tenant_id, job_id, seq, rows, invalid, errors, data) SELECT tenant_id, job_id, $3, rows, invalid, errors, "+
				"data FROM import_records WHERE tenant_id = $1 AND job_id = $2 AND seq = 1",
				[]any{k.as.TenantID, job.ID, i + 2}, nil)
		}
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
}

// content counts the rows that are kept of a file's content.
func (k *kit) content(job *jobs.Job) (n int64) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		return tx.One("SELECT (SELECT COUNT(*) FROM import_records WHERE tenant_id = $1 AND job_id = $2) + (SELECT COUNT(*) FROM import_edits WHERE "+
			"tenant_id = $1 AND job_id = $2) "+
			"+ (SELECT COUNT(*) FROM import_chunks WHERE tenant_id = $1 AND job_id = $2) + (SELECT COUNT(*) FROM import_outcomes WHERE tenant_id = $1 AND "+
			"job_id = $2) + (SELECT COUNT(*) FROM import_plans WHERE tenant_id = $1 AND job_id = $2 AND plan LIKE '%secret%')",
			[]any{k.as.TenantID, job.ID}, func(r *db.Row) error { n = r.Int(0); return nil })
	})
	if err != nil {
		k.Fatal(err)
	}
	return n
}

func (k *kit) sweep() imports.Swept {
	k.Helper()
	s, err := k.m.Sweep(context.Background())
	if err != nil {
		k.Fatal(err)
	}
	return s
}

// Files of finished jobs go after the tenant's number of days, and jobs nobody
// went on with are cancelled; what was applied can still be rolled back.
func TestRetention(t *testing.T) {
	each(t, func(k *kit) {
		applied := k.upload("zones", "", "", "a.csv", []byte(shelves+"secret 1,x\nA 3,x\n"))
		k.process(applied)
		if _, err := k.m.EditRow(context.Background(), k.as, applied.ID, 4,
			imports.Edit{Cells: map[string]string{"code": "A-3"}}); err != nil {
			k.Fatal(err)
		}
		k.apply(applied)
		gone, _, _ := k.imported("zones", "", "", "d.csv", []byte("code,name\nD-1,One\n"))
		if _, err := k.m.Rollback(context.Background(), k.as, gone.ID); err != nil {
			k.Fatal(err)
		}
		k.add("items", store.Row{"sku": "P-1", "name": "One"})
		lined, _, _ := k.imported("orders", "", "", "o.csv", []byte("order_no,sku,quantity\nO-1,P-1,2\n"))
		k.crowd(applied, 120)
		idle := k.upload("zones", "", "", "b.csv", []byte("code,name\nB-1,One\n"))
		k.process(idle)
		k.as.TenantID = south
		k.add("settings", store.Row{"section": "import", "key": "Keep_files_days", "value": json.RawMessage("7")})
		short := k.upload("zones", "", "", "c.csv", []byte("code,name\nC-1,One\n"))
		k.as.TenantID = north
		began := k.now
		for _, c := range []struct {
			days, files int
			want        imports.Swept
		}{
			{6, 5, imports.Swept{}},
			{8, 4, imports.Swept{Expired: 1}},
			{89, 4, imports.Swept{}},
			{91, 0, imports.Swept{Expired: 4}},
			{91, 0, imports.Swept{}},
		} {
			k.now = began.AddDate(0, 0, c.days)
			if diff := cmp.Diff(c.want, k.sweep()); diff != "" || k.files() != c.files {
				k.Errorf("after %d days: %d files %s", c.days, k.files(), diff)
			}
		}
		if got := k.status(idle); got != "cancelled" {
			k.Errorf("the idle job is %s", got)
		}
		if got := k.status(applied); got != "completed" {
			k.Errorf("the applied job is %s", got)
		}
		for _, job := range []*jobs.Job{applied, gone, lined, idle} {
			if n := k.content(job); n != 0 {
				k.Errorf("%s: %d rows of its file's content are kept", job.FileName, n)
			}
		}
		if _, err := k.m.Rows(context.Background(), k.as, applied.ID,
			imports.RowFilter{Page: 1, PageSize: 1}); !fault.HasCode(err, "import_state") ||
			!strings.Contains(err.Error(), "no longer kept") {
			k.Error(err)
		}
		for _, job := range []*jobs.Job{applied, lined} {
			if _, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || len(k.rows("orders")) != 0 &&
				job == lined {
				k.Errorf("roll back without the file: %v", err)
			}
		}
		if n := len(k.rows("zones")); n != 0 {
			k.Errorf("%d zones", n)
		}
		k.as.TenantID = south
		if got := k.status(short); got != "cancelled" {
			k.Errorf("the short job is %s", got)
		}
	})
}

// A job that broke off keeps what going on needs when its time is over, and once
// it went on nothing is left of its file.
func TestRetentionOfAPart(t *testing.T) {
	each(t, func(k *kit) {
		job := k.broken()
		k.now = k.now.AddDate(0, 0, 91)
		if diff := cmp.Diff(imports.Swept{Expired: 1}, k.sweep()); diff != "" || k.files() != 0 {
			k.Errorf("%d files %s", k.files(), diff)
		}
		remove(k, "zones", k.find("zones", "name", "in the way")["id"].(string))
		if a := k.apply(job); a.ImportedCount != 3500 {
			k.Errorf("%+v", a)
		}
		if n := k.content(job); n != 0 {
			k.Errorf("%d rows of its file's content are kept", n)
		}
	})
}

// A file that no job names goes a day after it was kept; one that is still on
// its way into a job stays.
func TestOrphans(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Now()
		job := k.upload("zones", "", "", "a.csv", []byte(shelves))
		if _, err := k.o.Files.Put(context.Background(), strings.NewReader("nobody's"), 100); err != nil {
			k.Fatal(err)
		}
		k.now = time.Now().Add(23 * time.Hour)
		if got := k.sweep(); got != (imports.Swept{}) || k.files() != 2 {
			k.Errorf("after 23 hours: %+v, %d files", got, k.files())
		}
		k.now = time.Now().Add(25 * time.Hour)
		if got := k.sweep(); got != (imports.Swept{Orphans: 1}) || k.files() != 1 {
			k.Errorf("after 25 hours: %+v, %d files", got, k.files())
		}
		k.process(job)
	})
}

// A tenant at its quota is refused by name; others go on, and room that is
// made counts at once.
func TestQuota(t *testing.T) {
	each(t, func(k *kit) {
		k.rebuild(func(o *imports.Options) { o.Quota = imports.Quota{Bytes: 1000, Waiting: 5} })
		ctx, request := context.Background(), imports.Request{Target: "zones"}
		send := func(size int) (*jobs.Job, error) {
			return k.m.Upload(ctx, k.as, request, "a.csv", strings.NewReader("code\n"+strings.Repeat("x", size-5)))
		}
		var all sync.WaitGroup
		for range 20 { // of those at once no more pass than there is room for
			all.Go(func() {
				if _, err := send(150); err != nil && !fault.HasCode(err, "file_quota") {
					k.Error(err)
				}
			})
		}
		all.Wait()
		jobs := k.rows("import_jobs")
		if len(jobs) != 5 || k.files() != 5 {
			k.Fatalf("%d jobs and %d files, want 5", len(jobs), k.files())
		}
		if _, err := send(10); !fault.HasCode(err, "file_quota") || !fault.Is(err, fault.Conflict) {
			k.Errorf("waiting: %v", err)
		}
		k.as.TenantID = south
		if _, err := send(150); err != nil {
			k.Errorf("another tenant: %v", err)
		}
		k.as.TenantID = north
		if _, err := k.m.Cancel(ctx, k.as, jobs[0]["id"].(string)); err != nil {
			k.Fatal(err)
		}
		if _, err := send(401); !fault.HasCode(err, "file_quota") || !fault.Is(err, fault.TooLarge) {
			k.Errorf("bytes: %v", err)
		}
		if n := len(k.rows("import_jobs")); n != 5 || k.files() != 5 { // south's is among the files
			k.Errorf("a refused file left something: %d jobs, %d files", n, k.files())
		}
		if _, err := send(400); err != nil {
			k.Error(err)
		}
	})
}

func TestCheckSettings(t *testing.T) {
	for value, ok := range map[string]bool{"1": true, "90": true, "3650": true, "0": false, "-1": false, "3651": false,
		"1.5": false, `"7"`: false,
		"null": false, "true": false} {
		row := store.Row{"section": "import", "key": "keep_files_days", "value": json.RawMessage(value)}
		if err := imports.CheckSettings(&store.Tx{Actor: (&kit{}).as},
			[]store.Change{{Op: store.Insert, After: row}}); ok != (err == nil) {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, row := range []store.Row{{"section": "stock", "key": "keep_files_days", "value": json.RawMessage("0")},
		{"section": "import", "key": "other", "value": json.RawMessage("0")}} {
		if err := imports.CheckSettings(&store.Tx{Actor: (&kit{}).as},
			[]store.Change{{Op: store.Insert, After: row}}); err != nil {
			t.Error(fmt.Sprint(row), err)
		}
	}
}
