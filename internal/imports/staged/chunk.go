package staged

import (
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
)

// Chunk is what is known of a chunk without opening it.
type Chunk struct{ Seq, Rows, Invalid, Errors int }

// Chunks lists the chunks of a job's rows. That they were removed with its
// file when its time was over is a fault.Conflict.
func Chunks(tx *db.Tx, job *jobs.Job) (list []Chunk, err error) {
	err = tx.Query(`
		SELECT seq, rows, invalid, errors
		FROM import_records
		WHERE tenant_id = $1
			AND job_id = $2
		ORDER BY seq`,
		[]any{job.TenantID, job.ID}, func(r *db.Row) error {
			list = append(list, Chunk{int(r.Int(0)), int(r.Int(1)), int(r.Int(2)), int(r.Int(3))})
			return nil
		})
	if err == nil && list == nil && job.TotalRows > 0 && job.BlobKey == "" && job.Status != jobs.Cancelled && job.Acted() {
		return nil, jobs.WrongState(job, "its rows are no longer kept: its file was removed when its time was over")
	}
	return list, err
}

// CountedChunks is how many of the chunks that one request reads count against
// its tenant's limits: a wish counts as much as one transaction may, not as long
// as its file is.
const CountedChunks = 10

// ReadRows reads the valid rows of a chunk as they will be applied, each with
// the fields in their order.
func ReadRows(tx *db.Tx, tenant, job string, seq, fields int) ([]Row, error) {
	return readRows(tx.One, tenant, job, seq, fields)
}

// FindRows is ReadRows that finds none in a chunk that is no longer kept.
func FindRows(tx *db.Tx, tenant, job string, seq, fields int) ([]Row, error) {
	return readRows(tx.Query, tenant, job, seq, fields)
}

func readRows(
	read func(string, []any, func(*db.Row) error) error, tenant, job string, seq, fields int,
) (rows []Row, err error) {
	err = read(`
		SELECT rows, data
		FROM import_chunks
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq = $3`,
		[]any{tenant, job, seq}, func(r *db.Row) error {
			rows, err = Decode(r.Bytes(1), fields, int(r.Int(0)))
			return err
		})
	return rows, err
}
