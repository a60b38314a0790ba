// Package shipping sends what the embedded database commits to the place of the
// backups, in segments that go on from each of them (setting backup_log).
//
// Layer: catalog and access. Begin at [Shipper].
package shipping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/db/wal"
	"holdfast/internal/fault"
	"holdfast/internal/installation"
	"holdfast/internal/metrics"
)

// Shipper sends what the embedded database commits to where the backups are, so
// that a lost disk loses a second. What it sent goes on from each backup that the
// schedule makes meanwhile (decision 13).
type Shipper struct {
	db    *db.DB
	c     *config.Config
	guard *installation.Guard // refuses a place of another installation
	files blob.Store
	now   func() time.Time

	uploadMu sync.Mutex
	uploads  []string // keys of files that no segment holds yet

	kept *db.Keeper // until the database is open

	mu      sync.Mutex // one round at a time
	state   shipState
	written wal.Position // where all of the log was in the database
	holding int          // copies under way, during which the log is not written back
	caught  bool         // it is known which segments are there
	ended   bool         // all was sent, behind the last write
	reached atomic.Int64 // Unix nanoseconds: all that was committed before is sent; at first the start
}

// shipState is what outlives the process.
type shipState struct {
	Place     string         `json:"place"` // without secrets
	To        string         `json:"to"`    // recipient of the segments
	Log       backup.Log     `json:"log"`   // Seq is of the last segment; no ID = there is none to go on with
	At        wal.Position   `json:"at"`
	Made      time.Time      `json:"made"`
	Standing  string         `json:"standing"` // of the database file as it was left; "" = a server runs, or was killed
	Bases     []backups.Base `json:"bases"`
	Recipient string         `json:"recipient"` // of the settings when the log began
}

// Bounds of shipping.
const (
	Every   = 500 * time.Millisecond // between two rounds
	shipEnd = 10 * time.Second       // for what is left at the end
	// The log is written back at 8,000 frames, as SQLite would by itself, as soon as
	// all but some are sent; where nothing can be sent, at some gigabytes.
	shipFrames = 8000
	shipRest   = 2000
	shipMost   = 500_000
)

// NewShipper reads what an earlier server left, before the database is opened; nil
// when nothing is to be shipped.
func NewShipper(c *config.Config, now func() time.Time) (*Shipper, error) {
	if !c.BackupLog {
		return nil, nil
	}
	path := filepath.Join(c.Data, db.ShippedName)
	s := &Shipper{c: c, now: now}
	s.reached.Store(now().UnixNano())
	place := backups.PlaceOf(c)
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &s.state) != nil {
		s.state = shipState{}
	}
	st := &s.state
	left := db.Standing(c.Data)
	var err error
	if s.kept, err = db.Keep(c.Data); err != nil {
		return nil, err
	}
	if st.Place != backups.WithoutUser(place) || st.Recipient != c.BackupRecipient || st.Standing != left {
		st.Log, st.At = backup.Log{}, wal.Position{} // it goes elsewhere, or somebody wrote meanwhile
	} else if left != "" {
		st.At = wal.Position{}
	}
	st.Place, st.Recipient, st.Standing = backups.WithoutUser(place), c.BackupRecipient, ""
	return s, nil
}

// StopShipping lets every process write the log back again, once the data directory
// is this server's.
func StopShipping(c *config.Config) error {
	if err := os.Remove(filepath.Join(c.Data, db.ShippedName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("backups: ship the log: %w", err)
	}
	return nil
}

// LogKeeper is what has kept the log since the state was read; nil for nobody.
func (s *Shipper) LogKeeper() *db.Keeper {
	if s == nil {
		return nil
	}
	return s.kept
}

func (s *Shipper) saveState() error {
	text, err := json.Marshal(s.state)
	if err != nil {
		return fmt.Errorf("backups: ship the log: %w", err)
	}
	if err := os.MkdirAll(s.c.Data, 0o700); err != nil {
		return fmt.Errorf("backups: ship the log: %w", err)
	}
	path := filepath.Join(s.c.Data, db.ShippedName)
	if err := errors.Join(os.WriteFile(path+".next", text, 0o600), os.Rename(path+".next", path)); err != nil {
		return fmt.Errorf("backups: ship the log: %w", err)
	}
	return nil
}

// JoinDatabase joins the shipper to the database and the files.
func (s *Shipper) JoinDatabase(ctx context.Context, d *db.DB, g *installation.Guard, files blob.Store) (blob.Store,
	error) {
	s.db, s.guard, s.files = d, g, files
	if err := s.saveState(); err != nil {
		return nil, err
	}
	d.AtEnd(s.shipLast)
	if s.c.BlobURL != "" { // a bucket loses nothing with this machine
		return files, nil
	}
	if s.state.Log.ID == "" {
		return uploading{files, s.noteUpload}, nil
	}
	// A minute earlier: the file system's clock may be another.
	since := s.state.Made.Add(-time.Minute)
	for f, err := range files.List(ctx) {
		if err != nil {
			return nil, err
		}
		if f.Kept.After(since) {
			s.noteUpload(f.Key)
		}
	}
	return uploading{files, s.noteUpload}, nil
}

// uploading is a store that tells of each file that it keeps.
type uploading struct {
	blob.Store
	kept func(key string)
}

// Put implements blob.Store.
func (u uploading) Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error) {
	ref, err := u.Store.Put(ctx, r, limit)
	if err == nil {
		u.kept(ref.Key)
	}
	return ref, err
}

func (s *Shipper) noteUpload(key string) {
	s.uploadMu.Lock()
	defer s.uploadMu.Unlock()
	s.uploads = append(s.uploads, key)
}

// waitingUploads are the files that no segment holds yet.
func (s *Shipper) waitingUploads() []string {
	s.uploadMu.Lock()
	defer s.uploadMu.Unlock()
	return s.uploads[:len(s.uploads):len(s.uploads)]
}

func (s *Shipper) dropShipped(n int) {
	s.uploadMu.Lock()
	defer s.uploadMu.Unlock()
	s.uploads = s.uploads[n:]
}

// ShipRound sends what was committed since the last, and has the log written back when
// it is long.
func (s *Shipper) ShipRound(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Log.ID == "" {
		return s.checkpointUnshipped(ctx)
	}
	frames, err := s.shipCommitted(ctx)
	if errors.Is(err, wal.ErrGap) {
		return s.giveUpLog("somebody else wrote the database's log back")
	}
	if err != nil {
		if st, stat := os.Stat(s.logPath()); stat == nil && st.Size() > shipMost<<12 {
			return errors.Join(err, s.giveUpLog("nothing could be sent for too long"))
		}
		return err
	}
	if frames < shipFrames || s.holding > 0 {
		return nil
	}
	return s.writeBack(ctx)
}

func (s *Shipper) logPath() string { return filepath.Join(s.c.Data, db.FileName+wal.Suffix) }

// giveUpLog gives the log up: the next backup begins another.
func (s *Shipper) giveUpLog(why string) error {
	slog.Error("the log is not shipped any more; a backup is made, from which it goes on", "why", why)
	s.state.Log, s.state.At = backup.Log{}, wal.Position{}
	return s.saveState()
}

// checkpointUnshipped does for a log that nobody ships what SQLite would do by itself.
func (s *Shipper) checkpointUnshipped(ctx context.Context) error {
	s.dropShipped(len(s.waitingUploads()))
	st, err := os.Stat(s.logPath())
	if err != nil || st.Size() < shipFrames<<12 || s.holding > 0 {
		return nil
	}
	var at wal.Position
	all, err := s.db.Checkpoint(ctx, func() error {
		c, err := s.db.Changes(wal.Position{})
		if err != nil {
			return err
		}
		at = c.End
		return c.Close()
	})
	if all {
		s.written = at
	}
	return err
}

// IsFollowing reports whether there is a backup from which the log goes on.
func (s *Shipper) IsFollowing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Log.ID != ""
}

// shipCommitted sends what was committed to a place that is this installation's, and
// tells how long the log is.
func (s *Shipper) shipCommitted(ctx context.Context) (frames int64, err error) {
	if err := s.guard.CheckBackups(); err != nil {
		return 0, err
	}
	if err := s.catchUp(ctx); err != nil {
		return 0, err
	}
	made := s.now().UTC()
	c, err := s.db.Changes(s.state.At)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := s.sendSegment(ctx, c, made); err != nil || c.PageSize == 0 {
		return 0, err
	}
	return s.state.At.Frames(c.PageSize), nil
}

// sendSegment sends one segment: the pages, and the files that were there before them.
func (s *Shipper) sendSegment(ctx context.Context, c *wal.Changes, made time.Time) error {
	if c.Pages == 0 {
		s.reached.Store(made.UnixNano())
		return nil
	}
	uploads := s.waitingUploads()
	backend, err := blob.OpenBackend(backups.PlaceOf(s.c))
	if err != nil {
		return err
	}
	seq := s.state.Log.Seq + 1
	head := backup.Segment{Log: s.state.Log.ID, Seq: seq, Made: made, PageSize: c.PageSize, Pages: c.Pages,
		Changed: c.Count()}
	err = backend.Create(ctx, backup.SegmentName(head.Log, seq), func(w io.Writer) error {
		out, err := backup.NewSegmentWriter(w, s.state.To, head, func(to backup.Page) error { return c.Each(to) })
		if err != nil {
			return err
		}
		for _, key := range uploads {
			if err := s.addUpload(ctx, out, key); err != nil {
				return err
			}
		}
		return out.Close()
	})
	if err != nil {
		return err
	}
	s.dropShipped(len(uploads))
	s.state.Log.Seq, s.state.At, s.state.Made = seq, c.End, made
	s.reached.Store(made.UnixNano())
	return s.saveState()
}

func (s *Shipper) addUpload(ctx context.Context, w *backup.SegmentWriter, key string) error {
	info, err := s.files.Stat(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return nil // it went meanwhile
	}
	if err != nil {
		return err
	}
	r, err := s.files.Open(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	return w.Add(backup.Files+key, info.Size, r)
}

// errMuch: more was committed than is kept in memory while nobody writes.
var errMuch = errors.New("backups: too much was written meanwhile")

// writeBack has the log written into the database. What was committed since the
// last segment is kept in memory, because the log may begin anew behind it.
func (s *Shipper) writeBack(ctx context.Context) error {
	var rest *wal.Changes
	made := s.now().UTC()
	all, err := s.db.Checkpoint(ctx, func() (err error) {
		made = s.now().UTC()
		if rest, err = s.db.Changes(s.state.At); err != nil {
			return err
		}
		defer rest.Close()
		if rest.Count() > shipRest {
			return errMuch
		}
		return rest.Load()
	})
	switch {
	case errors.Is(err, errMuch):
		return nil // the next round is soon
	case errors.Is(err, wal.ErrGap):
		return s.giveUpLog("somebody else wrote the database's log back")
	case err != nil:
		return err
	}
	if err := s.sendSegment(ctx, rest, made); err != nil {
		return errors.Join(err, s.giveUpLog("what was written back could not be sent"))
	}
	if s.state.At.Done = all; all {
		s.written = s.state.At
	}
	return s.saveState()
}

// shipLast sends what is left when nothing more can be written.
func (s *Shipper) shipLast() {
	ctx, cancel := context.WithTimeout(context.Background(), shipEnd)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Log.ID == "" {
		return
	}
	if _, err := s.shipCommitted(ctx); err != nil {
		slog.Warn("what was written last could not be shipped; it will be with the next start's backup", "error", err)
		return
	}
	s.ended = true
}

// NoteClosed notes how the database was left, for the next server.
func (s *Shipper) NoteClosed() {
	if s == nil || !s.ended {
		return
	}
	s.state.Standing = db.Standing(s.c.Data)
	if err := s.saveState(); err != nil {
		slog.Warn("the next start makes a backup anew", "error", err)
	}
}

// MetricValues are the numbers that an alarm is set on; a nil Shipper has them too.
func (s *Shipper) MetricValues() []metrics.Value {
	return []metrics.Value{{Name: "holdfast_backup_log_age_seconds",
		Help: "How long ago all that was committed was at the place of the backups; -1 = backup_log is off.",
		Read: func() float64 {
			if s == nil {
				return -1
			}
			return s.now().Sub(time.Unix(0, s.reached.Load())).Seconds()
		}}}
}

// catchUp sends again from where an earlier server was killed while it sent: a
// segment may be there that it did not know of.
func (s *Shipper) catchUp(ctx context.Context) error {
	if s.caught {
		return nil
	}
	backend, err := blob.OpenBackend(backups.PlaceOf(s.c))
	if err != nil {
		return err
	}
	names, err := backend.List(ctx, backup.SegmentPrefix(s.state.Log.ID))
	if err != nil {
		return err
	}
	for _, name := range names {
		s.state.Log.Seq = max(s.state.Log.Seq, backup.SegmentSeq(s.state.Log.ID, name))
	}
	s.caught = true
	return nil
}

// ReadLog reads which segments stand behind backups, as the server last noted it: a
// command beside the server looks too.
func ReadLog(c *config.Config) (out backups.Log) {
	if !c.BackupLog {
		return out
	}
	text, err := os.ReadFile(filepath.Join(c.Data, db.ShippedName))
	var state shipState
	if err != nil || json.Unmarshal(text, &state) != nil || state.Place != backups.WithoutUser(backups.PlaceOf(c)) {
		return out
	}
	return backups.Log{ID: state.Log.ID, Seq: state.Log.Seq, Bases: state.Bases}
}
