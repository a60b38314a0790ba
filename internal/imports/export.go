package imports

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Corrected is a job's file with the corrections in it, ready to be written.
type Corrected struct {
	Name string // of the file, ending in .csv

	m      *Importer
	actor  actor.Actor
	job    *jobs.Job
	filter RowFilter
	mask   plan.FieldMask
	chunks []staged.Chunk
}

// Corrected returns a job's rows as a file: all of them, or those that are
// valid or invalid; the invalid ones with what is wrong in a last column. A
// text that a spreadsheet would run as a formula gets an apostrophe in front,
// which an import takes off again.
func (m *Importer) Corrected(ctx context.Context, a actor.Actor, jobID, status string) (*Corrected, error) {
	job, err := m.jobs.Load(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	if status == "all" {
		status = ""
	}
	c := &Corrected{m: m, actor: a, job: job, filter: RowFilter{Status: status, Page: 1, PageSize: 1}}
	if status != "" && status != "valid" && status != "invalid" {
		return nil, fault.New(fault.Invalid, "status", "status must be all, valid or invalid").At("status",
			"must be all, valid or invalid")
	}
	c.Name = strings.TrimSuffix(job.FileName, path.Ext(job.FileName)) + "-" + strings.Trim(status+"-rows", "-") + ".csv"
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		planned := false
		if c.mask, planned, err = fieldMaskOf(tx, m.targets, a, job); err != nil {
			return err
		}
		if !planned {
			return jobs.Unplanned(job)
		}
		c.chunks, err = staged.Chunks(tx, job)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("imports: corrected file: %w", err)
	}
	return c, nil
}

// Write writes the file: CSV with commas, UTF-8 with a byte order mark, as
// spreadsheet programs want it.
func (c *Corrected) Write(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	out := csv.NewWriter(b)
	_, err := b.WriteString("\ufeff")
	why := c.filter.Status == "invalid"
	header := c.mask.Header()
	if why {
		header = append(header, "What is wrong")
	}
	if err = errors.Join(err, out.Write(guardedCells(header))); err != nil {
		return fmt.Errorf("imports: write the file: %w", err)
	}
	read := 0
	for _, k := range c.chunks {
		if c.filter.countInChunk(k) == 0 {
			continue
		}
		if read++; read > staged.CountedChunks {
			ctx = db.Counted(ctx)
		}
		if err := c.writeChunk(ctx, out, k.Seq, why); err != nil {
			return err
		}
	}
	out.Flush()
	if err := errors.Join(out.Error(), b.Flush()); err != nil {
		return fmt.Errorf("imports: write the file: %w", err)
	}
	return nil
}

func (c *Corrected) writeChunk(ctx context.Context, out *csv.Writer, seq int, why bool) error {
	var packed []byte
	err := c.m.db.Read(ctx, store.Scope(c.actor), func(tx *db.Tx) (err error) {
		packed, err = staged.ReadPacked(tx, c.actor.TenantID, c.job.ID, seq)
		return err
	})
	if err == nil {
		err = staged.EachRecord(packed, func(r *staged.Record) error { return c.writeRow(out, r, why) })
	}
	if err != nil {
		return fmt.Errorf("imports: write the file: %w", err)
	}
	return nil
}

func (c *Corrected) writeRow(out *csv.Writer, r *staged.Record, why bool) error {
	if !c.filter.matchesRow(r) {
		return nil
	}
	r = c.mask.MaskRecord(r)
	cells := append([]string(nil), r.Cells...)
	if why {
		for len(cells) < len(c.mask.Header()) {
			cells = append(cells, "")
		}
		cells = append(cells, joinErrors(r.Errors))
	}
	return out.Write(guardedCells(cells))
}

// joinErrors is a row's errors as one text.
func joinErrors(errs []staged.RowError) string {
	parts := make([]string, len(errs))
	for i, e := range errs {
		parts[i] = e.Message
		if e.Column != "" {
			parts[i] = e.Column + ": " + e.Message
		}
	}
	return strings.Join(parts, "; ")
}

func guardedCells(cells []string) []string {
	for i, s := range cells {
		cells[i] = query.Guard(query.Unguard(s)) // a cell of the file may come from an export
	}
	return cells
}
