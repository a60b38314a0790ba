package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/backups/shipping"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// BackingUp says where a backup goes and how.
type BackingUp struct {
	To       string // a file, a directory, s3://KEY:SECRET@host/bucket/prefix
	Secret   backup.Secret
	Base     string                  // address of an earlier backup whose files are not stored again; "" = none
	Opener   backup.Opener           // of the base
	Progress func(done, total int64) // may be nil

	base *base             // instead of Base, which then need not be opened
	ship *shipping.Shipper // whose segments go on from it; nil = none do
}

// base is an earlier backup, in the place where the next one goes.
type base struct {
	Name     string          `json:"name"`
	Place    string          `json:"place"` // without secrets
	Manifest backup.Manifest `json:"manifest"`
}

// BackedUp is a backup that was made.
type BackedUp struct {
	backup.Manifest
	Where string // without secrets
	Name  string
	Size  int64
	Took  time.Duration
}

// Backup writes the database, the uploaded files, the master key and the
// settings of an installation to one file, beside a running server.
func Backup(ctx context.Context, c *config.Config, b BackingUp) (out BackedUp, err error) {
	begin := time.Now()
	m := &making{ctx: ctx, c: c, b: b, head: backup.Head{ID: uuid.NewString(), Product: Version,
		Made: begin.UTC().Truncate(time.Second)}}
	if err := b.Secret.Check(); err != nil {
		return out, fmt.Errorf("%w; settings backup_passphrase and backup_recipient, or --passphrase-file and --recipient",
			err)
	}
	backend, err := m.findTarget()
	if err != nil {
		return out, err
	}
	if err := m.takeSnapshot(); err != nil {
		return out, err
	}
	defer m.removeScratch()
	if err := backend.Create(ctx, m.name, m.writeBackup); err != nil {
		return out, err
	}
	out = BackedUp{Manifest: m.manifest, Where: m.where, Name: m.name, Took: time.Since(begin)}
	out.Size, err = backend.Size(ctx, m.name)
	return out, err
}

// making is one backup under way.
type making struct {
	ctx         context.Context
	c           *config.Config
	b           BackingUp
	head        backup.Head
	where, name string
	scratch     string // directory that goes afterwards
	snap        db.Snapshot
	key         []byte
	files       blob.Store
	list        []blob.Info
	base        *base
	log         *backup.Log
	done        int64
	manifest    backup.Manifest
}

// findTarget takes the address apart into a place and a name in it.
func (m *making) findTarget() (blob.Backend, error) {
	place, name := backups.Target(m.b.To)
	if m.name = name; name == "" {
		m.name = backup.Name(m.head.Made, m.head.ID)
	}
	m.where = backups.WithoutUser(place)
	backend, err := blob.OpenBackend(place)
	if err != nil {
		return nil, err
	}
	if _, err := backend.Size(m.ctx, m.name); err == nil {
		return nil, fmt.Errorf("app: %s/%s exists already; a backup is written to a name that is free", m.where, m.name)
	} else if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	return backend, nil
}

// takeSnapshot takes the snapshot and looks at what else there is.
func (m *making) takeSnapshot() (err error) {
	if m.key, err = givenKey(m.c, ""); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w; --data names the directory of an installation that was started once, or master_key_file its key", err)
	}
	if err != nil {
		return err
	}
	if m.base = m.b.base; m.b.Base != "" {
		if m.base, err = m.openBase(); err != nil {
			return fmt.Errorf("app: the base %s: %w", backups.WithoutUser(m.b.Base), err)
		}
	}
	if m.scratch, err = scratchDir(m.c.Data); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			m.removeScratch()
		}
	}()
	if err := m.checkRoom(); err != nil {
		return err
	}
	if err := m.copyDatabase(); err != nil {
		return err
	}
	m.head.Engine, m.head.Version, m.head.Schema = string(m.snap.Engine), m.snap.Version, m.snap.Schema
	return m.listUploads()
}

func (m *making) copyDatabase() (err error) {
	if m.b.ship == nil {
		m.snap, err = db.Copy(m.ctx, db.Options{URL: m.c.DatabaseURL, Dir: m.c.Data}, m.databasePath())
		return err
	}
	if m.log, err = m.b.ship.CopyBase(m.ctx, m.databasePath(), m.name); err != nil {
		return err
	}
	m.snap, err = db.Examine(m.ctx, m.databasePath())
	return err
}

// openBase reads what an earlier backup holds.
func (m *making) openBase() (*base, error) {
	place, name := backups.Target(m.b.Base)
	if name == "" {
		return nil, errors.New("it is a place for backups, not one of them")
	}
	backend, err := blob.OpenBackend(place)
	if err != nil {
		return nil, err
	}
	size, err := backend.Size(m.ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := backend.Open(m.ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	held, err := backup.ReadManifest(f, size, m.b.Opener)
	if err != nil {
		return nil, err
	}
	return &base{Name: name, Place: backups.WithoutUser(place), Manifest: *held}, nil
}

func (m *making) databasePath() string { return filepath.Join(m.scratch, backup.Database) }

// removeScratch removes the scratch directory with the copy of the database in it.
func (m *making) removeScratch() {
	_ = blob.Drop(m.databasePath()) // there may be none
	os.RemoveAll(m.scratch)
}

const scratchPrefix = "tmp-backup-"

// scratchDir makes a directory for the snapshot, and removes those of commands
// that were killed.
func scratchDir(data string) (string, error) {
	old, _ := filepath.Glob(filepath.Join(data, scratchPrefix+"*"))
	for _, dir := range old {
		if st, err := os.Stat(dir); err == nil && time.Since(st.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(data, scratchPrefix)
	if err != nil {
		return "", fmt.Errorf("app: backup: %w", err)
	}
	return dir, nil
}

// spare is left on a disk beside what a backup or a restore takes.
const spare = 128 << 20

// checkRoom refuses a snapshot that would fill the disk of the running server.
func (m *making) checkRoom() error {
	need := int64(0)
	for _, name := range []string{db.FileName, db.FileName + "-wal"} {
		if st, err := os.Stat(filepath.Join(m.c.Data, name)); err == nil {
			need += st.Size()
		}
	}
	return checkDiskSpace(m.c.Data, need)
}

// checkDiskSpace refuses when a disk has no room for so many bytes more.
func checkDiskSpace(dir string, need int64) error {
	left, err := blob.Room(dir)
	if err != nil {
		return fmt.Errorf("app: free space of %s: %w", dir, err)
	}
	if int64(left) < need+spare {
		return fault.New(fault.NoSpace, "no_space", "the disk of %s has %d MB left; %d MB are needed", dir, left>>20,
			(need+spare)>>20)
	}
	return nil
}

// listUploads lists the uploaded files, after the snapshot: all that it names are
// there, but for those that are deleted meanwhile.
func (m *making) listUploads() (err error) {
	if m.files, err = blob.Open(m.ctx, m.c.BlobURL, filepath.Join(m.c.Data, "files")); err != nil {
		return err
	}
	st, err := os.Stat(m.databasePath())
	if err != nil {
		return fmt.Errorf("app: backup: %w", err)
	}
	m.head.Bytes = st.Size()
	for f, err := range m.files.List(m.ctx) {
		if err != nil {
			return err
		}
		m.list = append(m.list, f)
		m.head.Bytes += f.Size
	}
	return nil
}

func (m *making) writeBackup(to io.Writer) error {
	defer m.files.Close()
	w, err := backup.NewWriter(to, m.b.Secret, m.head, m.addProgress)
	if err != nil {
		return err
	}
	for _, text := range []struct{ name, text string }{
		{backup.MasterKey, base64.StdEncoding.EncodeToString(m.key) + "\n"}, {backup.Configuration, m.c.Export()},
	} {
		if err := w.Add(text.name, int64(len(text.text)), strings.NewReader(text.text)); err != nil {
			return err
		}
	}
	if err := m.addDatabase(w); err != nil {
		return err
	}
	for _, f := range m.list {
		if err := m.addFile(w, f); err != nil {
			return err
		}
	}
	w.Counts(m.snap.Counts)
	w.Follow(m.log)
	m.manifest, err = w.Close()
	return err
}

func (m *making) addProgress(n int64) {
	if m.done += n; m.b.Progress != nil {
		m.b.Progress(m.done, m.head.Bytes)
	}
}

func (m *making) addDatabase(w *backup.Writer) error {
	f, err := os.Open(m.databasePath())
	if err != nil {
		return fmt.Errorf("app: backup: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("app: backup: %w", err)
	}
	return w.Add(backup.Database, st.Size(), f)
}

func (m *making) addFile(w *backup.Writer, f blob.Info) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	name := backup.Files + f.Key
	if p, id, ok := m.findInBase(name, f.Size); ok {
		w.Refer(p, id)
		return nil
	}
	r, err := m.files.Open(m.ctx, f.Key)
	if fault.Is(err, fault.NotFound) {
		w.Missed(f.Key)
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	return w.Add(name, f.Size, r)
}

// findInBase finds a file in the base: a key is never given twice.
func (m *making) findInBase(name string, size int64) (p backup.Part, id string, ok bool) {
	if m.base == nil {
		return p, "", false
	}
	p, ok = m.base.Manifest.Part(name)
	if !ok || p.Size != size {
		return p, "", false
	}
	if id = m.base.Manifest.Bases[p.Held]; p.Held == "" {
		p.Held, id = m.base.Name, m.base.Manifest.ID
	}
	return p, id, true
}
