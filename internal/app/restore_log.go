package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// followLog brings what was restored from a backup to where the log leads that was
// shipped beside it: to its end, or to the last second that is wanted.
func (x *restoring) followLog(m *backup.Manifest) error {
	if m.Log == nil || x.r.Until != nil && x.r.Until.Before(m.Made) {
		return x.checkNotTooEarly(m)
	}
	place, _ := backups.Target(x.r.From)
	backend, err := blob.OpenBackend(place)
	if err != nil {
		return err
	}
	names, err := backend.List(x.ctx, backup.SegmentPrefix(m.Log.ID))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(x.scratch, db.FileName), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	defer f.Close()
	w := &following{restoring: x, log: m.Log, backend: backend, file: f, seq: m.Log.Seq}
	for _, name := range names {
		if seq := backup.SegmentSeq(m.Log.ID, name); seq <= m.Log.Seq {
			continue
		}
		if err := w.applySegment(name); errors.Is(err, errLater) {
			break
		} else if err != nil {
			return fmt.Errorf("app: restore: segment %s of the log: %w; --until a time before it restores what came before",
				name, err)
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	return x.verifyFollowed(w)
}

// checkNotTooEarly refuses a time that the backup does not reach back to.
func (x *restoring) checkNotTooEarly(m *backup.Manifest) error {
	if x.r.Until == nil {
		return nil
	}
	if x.r.Until.Before(m.Made) {
		return fmt.Errorf("app: the backup was made at %s, after --until; restore an earlier one",
			m.Made.UTC().Format(time.RFC3339))
	}
	return errors.New("app: no log was shipped behind this backup (backup_log), so there is nothing that --until could choose from")
}

// following is a log that is being applied.
type following struct {
	*restoring
	log     *backup.Log
	backend blob.Backend
	file    *os.File
	seq     int64
	made    time.Time
}

// errLater: the segment was made after the time that is wanted.
var errLater = errors.New("app: later than wanted")

func (w *following) applySegment(name string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	in, err := w.backend.Open(w.ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	var head backup.Segment
	err = backup.ReadSegment(in, w.log, w.r.Opener, backup.Taking{
		Begin: func(s backup.Segment) error {
			head = s
			return w.checkNextSegment(s)
		},
		Page: func(page uint32, content []byte) error {
			_, err := w.file.WriteAt(content, int64(page-1)*int64(head.PageSize))
			return err
		},
		File: w.keepUpload,
	})
	if err != nil {
		return err
	}
	w.seq, w.made = head.Seq, head.Made
	return w.file.Truncate(int64(head.Pages) * int64(head.PageSize))
}

// checkNextSegment looks whether a segment is the next, and not later than what is asked for.
func (w *following) checkNextSegment(s backup.Segment) error {
	switch {
	case s.Log != w.log.ID:
		return errors.New("it is of another log")
	case s.Seq != w.seq+1:
		return fmt.Errorf("it is number %d, and number %d is missing", s.Seq, w.seq+1)
	case w.r.Until != nil && s.Made.After(*w.r.Until):
		return errLater
	}
	return nil
}

// keepUpload keeps a file, unless the backup or an earlier segment had it.
func (w *following) keepUpload(name string, r io.Reader) error {
	if _, err := os.Stat(filepath.Join(w.scratch, filepath.FromSlash(name))); err == nil {
		return nil
	}
	return w.putFile(filepath.FromSlash(name), r)
}

// verifyFollowed looks whether the database is whole where the log led.
func (x *restoring) verifyFollowed(w *following) (err error) {
	if err := x.errands.waitForAll(); err != nil {
		return err
	}
	x.out.Segments, x.out.Reached = w.seq-w.log.Seq, w.made
	if x.out.Segments == 0 {
		return nil
	}
	if x.snap, err = db.Examine(x.ctx, filepath.Join(x.scratch, db.FileName)); err != nil {
		return err
	}
	if known, err := db.Migrations(); err != nil || x.snap.Schema > len(known) {
		return errors.Join(err, fault.New(fault.Conflict, "schema",
			"the log leads to schema %d, this program knows %d: restore with the program that wrote it",
			x.snap.Schema, len(known)))
	}
	x.out.Rows = 0
	for _, n := range x.snap.Counts {
		x.out.Rows += n
	}
	return nil
}
