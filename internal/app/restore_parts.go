package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
)

func (x *restoring) openBackup() (blob.File, error) {
	place, name := backups.Target(x.r.From)
	if name == "" {
		return nil, fmt.Errorf("app: %s names no backup, but a place for them", backups.WithoutUser(x.r.From))
	}
	return x.fetchBackup(place, name)
}

// fetchBackup opens a backup. A directory that is not there is not made.
func (x *restoring) fetchBackup(place, name string) (blob.File, error) {
	if !strings.Contains(place, "://") {
		f, err := os.Open(filepath.Join(place, name))
		if err != nil {
			return nil, fmt.Errorf("app: restore: %w", err)
		}
		return f, nil
	}
	backend, err := blob.OpenBackend(place)
	if err != nil {
		return nil, err
	}
	f, err := backend.Open(x.ctx, name)
	if err != nil {
		return nil, fmt.Errorf("app: restore %s/%s: %w", backups.WithoutUser(place), name, err)
	}
	return f, nil
}

// checkFits refuses a backup that cannot become this installation, before anything
// of it is written.
func (x *restoring) checkFits() error {
	h := x.from.Head
	engine := db.PostgreSQL
	if x.c.DatabaseURL == "" {
		engine = db.SQLite
	}
	if h.Engine != string(engine) && !x.r.onTrial {
		return fmt.Errorf("app: the backup is of %s, the settings name %s: say --database for PostgreSQL, and nothing for the embedded engine", h.Engine, engine)
	}
	known, err := db.Migrations()
	if err != nil {
		return err
	}
	if h.Schema > len(known) {
		return fmt.Errorf("app: %w: its schema is %d, this program knows %d; restore with Holdfast %s", backup.ErrNewer,
			h.Schema, len(known), h.Product)
	}
	if x.c.DatabaseURL != "" {
		if err := db.Empty(x.ctx, x.c.DatabaseURL); err != nil {
			return err
		}
	}
	if x.r.onTrial {
		return nil // it keeps the database alone, whose size comes before it
	}
	return checkDiskSpace(x.scratch, h.Bytes)
}

// isArchive reports whether the database in the backup is an archive of pg_dump.
func (x *restoring) isArchive() bool { return x.from.Head.Engine == string(db.PostgreSQL) }

// unpackPart writes one part where it belongs.
func (x *restoring) unpackPart(name string, size int64, part io.Reader) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	to := map[string]string{backup.Database: x.databaseName(), backup.MasterKey: config.MasterKeyName,
		backup.Configuration: "restored.conf"}[name]
	if to == "" {
		to = filepath.FromSlash(name)
	}
	if name == backup.Database && x.r.onTrial {
		// the log behind the backup and the migrations come on top, beside a running server
		if err := checkDiskSpace(x.scratch, 2*size); err != nil {
			return err
		}
	}
	if name == backup.Configuration {
		text, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("app: restore %s: %w", to, err)
		}
		part = strings.NewReader(config.ForCopy(string(text)))
	}
	if err := x.putFile(to, part); err != nil {
		return err
	}
	if to == db.FileName {
		x.errands.startTask(func() (err error) {
			x.snap, err = db.Examine(x.ctx, filepath.Join(x.scratch, to))
			return err
		})
	}
	return nil
}

func (x *restoring) databaseName() string {
	if x.isArchive() {
		return backup.Database
	}
	return db.FileName
}

func (x *restoring) putFile(name string, r io.Reader) error {
	if x.r.onTrial && strings.HasPrefix(filepath.ToSlash(name), backup.Files) {
		_, err := io.Copy(io.Discard, x.countBytes(r))
		return err // as it is: it says what is wrong with the backup
	}
	path := filepath.Join(x.scratch, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	to := backup.NewFlushing(f)
	if _, err = io.CopyBuffer(to, x.countBytes(r), make([]byte, backup.FlushBlock)); err != nil {
		return fmt.Errorf("app: restore %s: %w", name, errors.Join(err, to.Close()))
	}
	x.errands.startTask(func() error {
		if err := to.Close(); err != nil {
			return fmt.Errorf("app: restore %s: %w", name, err)
		}
		return nil
	})
	return nil
}

func (x *restoring) countBytes(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if x.done += int64(n); x.r.Progress != nil {
			x.r.Progress(x.done, x.from.Head.Bytes)
		}
		return n, err
	})
}

// mostErrands is how many go on at once: files that wait for the disk.
const mostErrands = 8

// errands go on while the next parts are unpacked.
type errands struct {
	going sync.WaitGroup
	slots chan struct{}
	mu    sync.Mutex
	errs  []error
}

// startTask starts f, or waits until there is room for it.
func (b *errands) startTask(f func() error) {
	if b.slots == nil {
		b.slots = make(chan struct{}, mostErrands)
	}
	b.slots <- struct{}{}
	b.going.Go(func() {
		defer func() { <-b.slots }()
		if err := f(); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.errs = append(b.errs, err)
		}
	})
}

// waitForAll returns when all that began has ended, with what failed.
func (b *errands) waitForAll() error {
	b.going.Wait()
	return errors.Join(b.errs...)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// fetchHeld takes the files that earlier backups hold, which stand in the same
// directory as this one.
func (x *restoring) fetchHeld(m *backup.Manifest) error {
	wanted := map[string]map[string]backup.Part{}
	for _, p := range m.Parts {
		if p.Held == "" {
			continue
		}
		if wanted[p.Held] == nil {
			wanted[p.Held] = map[string]backup.Part{}
		}
		wanted[p.Held][p.Name] = p
	}
	for base, parts := range wanted {
		if err := x.fetchFrom(base, m.Bases[base], parts); err != nil {
			return fmt.Errorf("app: the earlier backup %s, which holds %d of the files: %w", base, len(parts), err)
		}
	}
	return nil
}

func (x *restoring) fetchFrom(base, id string, parts map[string]backup.Part) error {
	place, _ := backups.Target(x.r.From)
	f, err := x.fetchBackup(place, filepath.Base(base))
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := backup.NewReader(f, x.r.Opener)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Head.ID != id {
		return errors.New("it is another backup of that name")
	}
	m, err := r.Each(func(name string, size int64, part io.Reader) error {
		if _, ok := parts[name]; !ok {
			return nil
		}
		return x.putFile(filepath.FromSlash(name), part)
	})
	if err != nil {
		return err
	}
	for name, want := range parts {
		if got, ok := m.Part(name); !ok || got.SHA256 != want.SHA256 {
			return fmt.Errorf("it does not hold %s as it was", name)
		}
	}
	return nil
}

// compareRows brings a database of PostgreSQL to life and compares the rows of either
// engine's with the manifest.
func (x *restoring) compareRows(m *backup.Manifest) (err error) {
	path := filepath.Join(x.scratch, x.databaseName())
	if x.c.DatabaseURL != "" {
		x.snap, err = db.Load(x.ctx, x.c.DatabaseURL, path)
		x.loaded = err == nil
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	if err := x.snap.Compare(m.Counts); err != nil {
		return fmt.Errorf("app: the restored database is not the one that was backed up: %w", err)
	}
	for _, n := range x.snap.Counts {
		x.out.Rows += n
	}
	return nil
}
