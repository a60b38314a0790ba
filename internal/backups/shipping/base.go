package shipping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/blob"
	"holdfast/internal/db/wal"
)

// CopyBase copies the database to path, as a backup from which the log goes on.
func (s *Shipper) CopyBase(ctx context.Context, path, name string) (*backup.Log, error) {
	s.addHold(1)
	defer s.addHold(-1)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("backups: backup: %w", err)
	}
	defer f.Close()
	if err := s.db.CopyFile(ctx, f); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Log.ID != "" {
		// What the segments up to here hold is in the copy, too.
		if _, err := s.shipCommitted(ctx); err != nil && !errors.Is(err, wal.ErrGap) {
			return nil, err
		} else if err != nil {
			s.state.Log = backup.Log{}
		}
	}
	c, err := s.db.Changes(wal.Position{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := overlayLog(f, c); err != nil {
		return nil, err
	}
	if s.state.Log.ID == "" {
		if err := s.beginLog(c.End); err != nil {
			return nil, err
		}
	}
	log := s.state.Log
	s.state.Bases = append(s.state.Bases, backups.Base{Name: name, Log: log.ID, Seq: log.Seq})
	return &log, s.saveState()
}

func (s *Shipper) addHold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding += n
}

// overlayLog brings a copy of the database to where its log is.
func overlayLog(f *os.File, c *wal.Changes) error {
	if c.Pages == 0 {
		return nil
	}
	err := c.Each(func(page uint32, content []byte) error {
		_, err := f.WriteAt(content, int64(page-1)*int64(c.PageSize))
		return err
	})
	if err := errors.Join(err, f.Truncate(int64(c.Pages)*int64(c.PageSize))); err != nil {
		return fmt.Errorf("backups: backup: %w", err)
	}
	return nil
}

// beginLog begins a log where a copy ends.
func (s *Shipper) beginLog(at wal.Position) (err error) {
	s.state.Log, s.state.To = backup.Log{ID: uuid.NewString()}, s.c.BackupRecipient
	if s.state.To == "" {
		if s.state.Log.Identity, s.state.To, err = backup.NewIdentity(); err != nil {
			return err
		}
	}
	at.Done = at.Offset > 0 && at.Salts == s.written.Salts && at.Offset == s.written.Offset
	s.state.At, s.caught = at, true
	return nil
}

// PruneSegments removes the segments from which no backup goes on that is kept.
func (s *Shipper) PruneSegments(ctx context.Context, backend blob.Backend, kept []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	needed, logs := map[string]int64{}, map[string]bool{}
	var bases []backups.Base
	for _, b := range s.state.Bases {
		logs[b.Log] = true
		if !slices.Contains(kept, b.Name) {
			continue
		}
		bases = append(bases, b)
		if least, ok := needed[b.Log]; !ok || b.Seq < least {
			needed[b.Log] = b.Seq
		}
	}
	for log := range logs {
		least, ok := needed[log]
		if err := removeSegments(ctx, backend, log, least, !ok); err != nil {
			return err
		}
	}
	s.state.Bases = bases
	return s.saveState()
}

func removeSegments(ctx context.Context, backend blob.Backend, log string, upTo int64, all bool) error {
	names, err := backend.List(ctx, backup.SegmentPrefix(log))
	if err != nil {
		return err
	}
	for _, name := range names {
		if seq := backup.SegmentSeq(log, name); seq == 0 || seq > upTo && !all {
			continue
		}
		if err := backend.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
