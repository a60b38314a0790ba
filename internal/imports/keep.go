package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// How long files are kept. A tenant's setting keep_files_days in section
// "import" counts from the job's last change.
const (
	settingKeep = "keep_files_days"
	keepDays    = 90
	keepLongest = 3650
	orphanAge   = 24 * time.Hour // of a file that no record names
)

// dropTime is how long the file store may take to drop a file.
const dropTime = 30 * time.Second

// Quota bounds what one tenant keeps: bytes of files, unless the tenant has a
// quota of its own, and files whose job was neither applied nor cancelled. 0 =
// 5 GB and 500.
type Quota struct {
	Bytes   int64
	Waiting int64
}

func (q Quota) withDefaults() Quota {
	if q.Bytes == 0 {
		q.Bytes = 5 << 30
	}
	if q.Waiting == 0 {
		q.Waiting = 500
	}
	return q
}

// shelf keeps the files of jobs, within each tenant's quota and for as long as the
// tenant wants.
type shelf struct {
	db    *db.DB
	cat   *catalog.Catalog
	now   func() time.Time // UTC
	jobs  *jobs.Table
	files Files
	quota Quota
}

// checkQuota refuses a job's file of size bytes to a tenant that is at its quota:
// fault.TooLarge for the bytes, fault.Conflict for the files that wait. The
// tenant's row stays locked, so that uploads at once cannot pass together.
func (s *shelf) checkQuota(tx *db.Tx, a actor.Actor, jobID string, size int64) error {
	take := func(*db.Row) error { return nil }
	if err := tx.One("SELECT id FROM tenants WHERE id = $1 {for update}", []any{a.TenantID}, take); err != nil {
		return fmt.Errorf("imports: lock the quota: %w", err)
	}
	return s.checkFits(tx, a, jobID, size)
}

const sumFilesSQL = `
	SELECT CAST(COALESCE(SUM(size), 0) AS bigint),
		CAST(COALESCE(SUM(
			CASE WHEN status IN ('uploaded', 'processing', 'ready', 'failed') THEN 1 ELSE 0 END
		), 0) AS bigint),
		(SELECT import_quota FROM tenants WHERE id = $1)
	FROM import_jobs
	WHERE tenant_id = $1 AND blob_key IS NOT NULL AND id <> $2`

func (s *shelf) checkFits(tx *db.Tx, a actor.Actor, jobID string, size int64) error {
	var kept, waiting int64
	quota := s.quota.Bytes
	err := tx.One(sumFilesSQL, []any{a.TenantID,
		jobID}, func(r *db.Row) error {
		kept, waiting = r.Int(0), r.Int(1)
		if !r.Null(2) {
			quota = r.Int(2) << 20
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("imports: read the quota: %w", err)
	case waiting >= s.quota.Waiting:
		return fault.New(fault.Conflict, "file_quota",
			"%d import files wait already, which is the quota: apply or cancel some of their jobs first", waiting).
			At("file", "is over the quota of %d files that wait", s.quota.Waiting)
	case kept >= quota || kept+size > quota:
		return fault.New(fault.TooLarge, "file_quota",
			"the file does not fit: import files of %d MB are kept and the quota is %d MB; cancel jobs that are not needed, or keep files for fewer days (setting %s)",
			kept>>20, quota>>20, settingKeep).At("file", "is over the quota of %d MB", quota>>20)
	}
	return nil
}

// fitsNow is fits before the body of an upload is read.
func (s *shelf) fitsNow(ctx context.Context, a actor.Actor, jobID string) error {
	return s.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error { return s.checkFits(tx, a, jobID, 0) })
}

// deleteFile deletes a file that no job names any more. What cannot be deleted now
// is left to Sweep: the job has moved on.
func (s *shelf) deleteFile(ctx context.Context, key string) {
	if key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if err := s.files.Delete(ctx, key); err != nil {
		slog.Warn("a file could not be deleted; it goes with the next sweep", "error", err)
	}
}

// CheckSettings refuses a setting of section "import" that could not be
// obeyed. It is an effect of the resource settings.
func CheckSettings(_ *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if c.Op == store.Delete || c.After["section"] != "import" ||
			!strings.EqualFold(fmt.Sprint(c.After["key"]), settingKeep) {
			continue
		}
		value, _ := c.After["value"].(json.RawMessage)
		if _, ok := parseDays(string(value)); !ok {
			return fault.New(fault.Invalid, "22023", "%s must be a whole number of days, 1 to %d", settingKeep,
				keepLongest).At("value", "must be 1 to %d", keepLongest)
		}
	}
	return nil
}

func parseDays(value string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(value))
	return n, err == nil && n >= 1 && n <= keepLongest
}

// Swept counts what a Sweep removed: jobs' files past their time, with the rows
// as they were read, and files that no record names.
type Swept struct{ Expired, Orphans int }

// Sweep removes files that are no longer wanted, with the rows that were read
// from them. A job that nothing was done with ends as cancelled; of an applied
// one what rolling back needs stays. Call it now and then.
func (m *Importer) Sweep(ctx context.Context) (s Swept, err error) {
	if s.Expired, err = m.shelf.sweepExpired(ctx); err != nil {
		return s, fmt.Errorf("imports: sweep: %w", err)
	}
	if s.Orphans, err = m.shelf.sweepOrphans(ctx); err != nil {
		return s, fmt.Errorf("imports: sweep: %w", err)
	}
	return s, nil
}

const findExpiredSQL = `
	SELECT tenant_id, id, updated_at
	FROM import_jobs
	WHERE updated_at < $1
		AND status NOT IN ('processing', 'applying', 'rolling_back')
		AND (blob_key IS NOT NULL OR EXISTS (
			SELECT 1
			FROM import_records
			WHERE import_records.tenant_id = import_jobs.tenant_id
				AND import_records.job_id = import_jobs.id))`

func (s *shelf) sweepExpired(ctx context.Context) (int, error) {
	type old struct{ tenant, id string }
	var found []old
	now := s.now()
	err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		found = nil
		kept := map[string]int{}
		if err := tx.Query(`
			SELECT tenant_id, value
			FROM settings
			WHERE section = 'import'
				AND lower(key) = $1`,
			[]any{settingKeep}, func(r *db.Row) error {
				if n, ok := parseDays(r.Text(1)); ok {
					kept[r.Text(0)] = n
				}
				return nil
			}); err != nil {
			return err
		}
		return tx.Query(findExpiredSQL, []any{now.AddDate(0, 0, -1)}, func(r *db.Row) error {
			n := kept[r.Text(0)]
			if n == 0 {
				n = keepDays
			}
			if r.Time(2).Before(now.AddDate(0, 0, -n)) {
				found = append(found, old{r.Text(0), r.Text(1)})
			}
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	gone := 0
	for _, o := range found {
		done, err := s.expireFile(ctx, actor.Actor{TenantID: o.tenant, Role: actor.Service}, o.id)
		if err != nil {
			return gone, err
		}
		if done {
			gone++
		}
	}
	return gone, nil
}

// expireFile takes a job's file away and the rows that were read from it, unless it
// is being worked on by now.
func (s *shelf) expireFile(ctx context.Context, a actor.Actor, id string) (done bool, err error) {
	if err := s.removeRows(ctx, a, id); err != nil {
		return false, err
	}
	key := ""
	err = s.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		key, done = "", false
		job, err := s.jobs.Locked(tx, a, id)
		if err != nil || job.Rest() != "" {
			return err
		}
		set := store.Row{"blob_key": nil}
		if job.Acted() {
			err = removeQuotedCells(tx, job)
		} else {
			err = staged.Forget(tx, a.TenantID, id)
			set["status"], set["message"] = jobs.Cancelled,
				"Nothing was done with the file for a long time; it was removed. Upload it again to import it."
		}
		if err != nil {
			return err
		}
		if _, err := s.jobs.Set(tx, a, id, set); err != nil {
			return err
		}
		key, done = job.BlobKey, true
		return nil
	})
	if err == nil {
		s.deleteFile(ctx, key)
	}
	return done && err == nil, err
}

// shedChunks and shedEdits bound what one transaction removes of a job's rows.
const (
	shedChunks = 50
	shedEdits  = 2000
)

const deleteRowsSQL = `
	DELETE FROM %[1]s
	WHERE tenant_id = $1
		AND job_id = $2
		AND %[2]s IN (SELECT %[2]s FROM %[1]s WHERE tenant_id = $1 AND job_id = $2 ORDER BY %[2]s LIMIT %[3]d)`

// removeRows removes the rows of an applied job as they were read, and the corrections
// in them, bit by bit. Going on to apply needs them not, nor does rolling back.
func (s *shelf) removeRows(ctx context.Context, a actor.Actor, id string) error {
	for _, part := range []struct {
		table, key string
		n          int
	}{{"import_edits", "row_no", shedEdits}, {"import_records", "seq", shedChunks},
		{"import_outcomes", "seq", shedChunks}} {
		text := fmt.Sprintf(deleteRowsSQL, part.table, part.key, part.n)
		for gone := int64(part.n); gone == int64(part.n); {
			err := s.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
				gone = 0
				job, err := s.jobs.Locked(tx, a, id)
				if err != nil || job.Rest() != "" || !job.Acted() {
					return err
				}
				gone, err = tx.Exec(text, a.TenantID, id)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removeQuotedCells takes the row errors and the samples out of what was answered when
// the file was processed: they quote its cells.
func removeQuotedCells(tx *db.Tx, job *jobs.Job) error {
	p, err := plan.Read(tx, job)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Result.Errors = []staged.RowError{}
	for i := range p.Result.Columns {
		p.Result.Columns[i].Samples, p.Result.Columns[i].Unknown = nil, nil
	}
	return p.Rewrite(tx, job)
}

// sweepOrphans removes the files that no record names and that are older than
// any upload takes: a process died between keeping a file and writing its row,
// or the file could not be deleted when its job let it go.
func (s *shelf) sweepOrphans(ctx context.Context) (int, error) {
	var old []string
	for f, err := range s.files.List(ctx) {
		if err != nil {
			return 0, err
		}
		if s.now().Sub(f.Kept) >= orphanAge {
			old = append(old, f.Key)
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	named, err := s.namedKeys(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, key := range old {
		if named[key] {
			continue
		}
		if err := s.files.Delete(ctx, key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// namedKeys are the keys of files that records of any kind name.
func (s *shelf) namedKeys(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		for _, r := range s.cat.All() {
			for _, column := range blob.KeyColumns {
				if _, ok := r.Field(column); !ok {
					continue
				}
				tx.Queue(db.FillWords(`
					SELECT {column}
					FROM {name}
					WHERE {column} IS NOT NULL`, "{column}", column, "{name}", r.Name), nil, func(row *db.Row) error {
					out[row.Text(0)] = true
					return nil
				})
			}
		}
		return tx.Flush()
	})
	return out, err
}
