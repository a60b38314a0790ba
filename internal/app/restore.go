package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/store"
)

// Restoring says what is restored and how much is looked at.
type Restoring struct {
	From     string // a file, or s3://KEY:SECRET@host/bucket/prefix/name.backup
	Opener   backup.Opener
	Verify   bool // recompute totals, stock and the audit chain, beside what is always compared
	Replace  bool // put what is in the data directory aside
	DryRun   bool // leave nothing behind
	Progress func(done, total int64)
}

// Restored is what became of it.
type Restored struct {
	backup.Manifest
	Dir      string
	Aside    string // where the data directory of before is; "" = there was none
	Sessions int64
	Webhooks int
	Rows     int64
	Took     time.Duration
}

// Restore puts a backup into a new data directory, and with a database_url into
// an empty database. All is made and compared in a directory beside, which takes
// its place at the end: until then nothing that is there changes. Everybody
// signs in again, because a restored session could be one that was ended since,
// and webhooks are paused, because what they would send was sent already.
func Restore(ctx context.Context, c *config.Config, r Restoring) (out Restored, err error) {
	begin := time.Now()
	dir, err := filepath.Abs(c.Data)
	if err != nil {
		return out, fmt.Errorf("app: restore: %w", err)
	}
	scratch := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".restore")
	x := &restoring{ctx: ctx, c: c, r: r, dir: dir, scratch: scratch, out: Restored{Dir: dir}}
	release, err := x.claim()
	if err != nil {
		return out, err
	}
	defer release()
	if err := x.restore(); err != nil {
		return out, errors.Join(err, x.undo())
	}
	x.out.Took = time.Since(begin)
	return x.out, nil
}

// restoring is one restore under way.
type restoring struct {
	ctx     context.Context
	c       *config.Config
	r       Restoring
	dir     string // where the installation will be
	scratch string // beside it
	held    io.Closer
	from    *backup.Reader
	snap    db.Snapshot
	loaded  bool // the PostgreSQL database holds rows of the backup
	done    int64
	out     Restored
}

// claim takes the scratch directory, and with Replace the data directory, for
// this process alone.
func (x *restoring) claim() (release func(), err error) {
	if err := x.free(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(x.scratch, 0o700); err != nil {
		return nil, fmt.Errorf("app: restore: %w", err)
	}
	lock, err := db.Take(x.scratch)
	if err != nil {
		return nil, fmt.Errorf("app: another restore into %s is under way", x.dir)
	}
	if x.held, err = x.standing(); err != nil {
		lock.Close()
		return nil, errors.Join(err, os.RemoveAll(x.scratch))
	}
	return func() {
		lock.Close()
		if x.held != nil {
			x.held.Close()
		}
	}, x.tidy()
}

// free refuses a data directory with something in it.
func (x *restoring) free() error {
	entries, err := os.ReadDir(x.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	if len(entries) == 0 || x.r.Replace || x.r.DryRun {
		return nil
	}
	return fmt.Errorf("app: %s is in use: it holds %s; name a new directory with --data, or say --replace, which keeps this one as %s.before-<time>",
		x.dir, entries[0].Name(), x.dir)
}

// standing holds the lock of an installation that is replaced.
func (x *restoring) standing() (io.Closer, error) {
	if _, err := os.Stat(x.dir); err != nil || !x.r.Replace {
		return nil, nil
	}
	f, err := db.Take(x.dir)
	if err != nil {
		return nil, fmt.Errorf("%w; a backup is not restored over a running server", err)
	}
	return f, nil
}

// tidy removes what a restore left that was killed, but for its lock.
func (x *restoring) tidy() error {
	entries, err := os.ReadDir(x.scratch)
	if err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	for _, e := range entries {
		if e.Name() == db.LockName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(x.scratch, e.Name())); err != nil {
			return fmt.Errorf("app: restore: %w", err)
		}
	}
	return nil
}

func (x *restoring) undo() error {
	errs := []error{os.RemoveAll(x.scratch)}
	if x.loaded {
		errs = append(errs, db.Clear(context.WithoutCancel(x.ctx), x.c.DatabaseURL))
	}
	return errors.Join(errs...)
}

func (x *restoring) restore() error {
	src, err := x.open()
	if err != nil {
		return err
	}
	defer src.Close()
	if x.from, err = backup.NewReader(src, x.r.Opener); err != nil {
		return err
	}
	if err := x.fits(); err != nil {
		return err
	}
	m, err := x.from.Each(x.unpack)
	if err != nil {
		return err
	}
	x.out.Manifest = *m
	if err := x.fetchHeld(m); err != nil {
		return err
	}
	if err := x.rows(m); err != nil {
		return err
	}
	if err := x.settle(); err != nil {
		return err
	}
	if x.r.DryRun {
		return x.undo()
	}
	return x.swap()
}

func (x *restoring) open() (io.ReadCloser, error) {
	place, name := Target(x.r.From)
	if name == "" {
		return nil, fmt.Errorf("app: %s names no backup, but a place for them", withoutUser(x.r.From))
	}
	if !strings.HasPrefix(place, "s3://") {
		f, err := os.Open(filepath.Join(place, name))
		if err != nil {
			return nil, fmt.Errorf("app: restore: %w", err)
		}
		return f, nil
	}
	shelf, err := blob.OpenShelf(place)
	if err != nil {
		return nil, err
	}
	return shelf.Open(x.ctx, name)
}

// fits refuses a backup that cannot become this installation, before anything
// of it is written.
func (x *restoring) fits() error {
	h := x.from.Head
	if engine := map[bool]db.Engine{true: db.SQLite, false: db.PostgreSQL}[x.c.DatabaseURL == ""]; h.Engine != string(engine) {
		return fmt.Errorf("app: the backup is of %s, the settings name %s: say --database for PostgreSQL, and nothing for the embedded engine", h.Engine, engine)
	}
	known, err := db.Migrations()
	if err != nil {
		return err
	}
	if h.Schema > len(known) {
		return fmt.Errorf("app: %w: its schema is %d, this program knows %d; restore with Holdfast %s", backup.ErrNewer, h.Schema, len(known), h.Product)
	}
	if x.c.DatabaseURL != "" {
		if err := db.Empty(x.ctx, x.c.DatabaseURL); err != nil {
			return err
		}
	}
	return enough(x.scratch, h.Bytes)
}

// unpack writes one part where it belongs.
func (x *restoring) unpack(name string, size int64, part io.Reader) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	to := map[string]string{backup.Database: x.databaseName(), backup.MasterKey: masterKeyFile, backup.Configuration: "restored.conf"}[name]
	if to == "" {
		to = filepath.FromSlash(name)
	}
	return x.put(to, part)
}

func (x *restoring) databaseName() string {
	if x.c.DatabaseURL != "" {
		return backup.Database
	}
	return db.FileName
}

func (x *restoring) put(name string, r io.Reader) error {
	path := filepath.Join(x.scratch, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("app: restore: %w", err)
	}
	_, err = io.Copy(f, x.counted(r))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("app: restore %s: %w", name, err)
	}
	return nil
}

func (x *restoring) counted(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if x.done += int64(n); x.r.Progress != nil {
			x.r.Progress(x.done, x.from.Head.Bytes)
		}
		return n, err
	})
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
	f, err := os.Open(filepath.Join(filepath.Dir(x.r.From), filepath.Base(base)))
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := backup.NewReader(f, x.r.Opener)
	if err != nil {
		return err
	}
	if r.Head.ID != id {
		return errors.New("it is another backup of that name")
	}
	m, err := r.Each(func(name string, size int64, part io.Reader) error {
		if _, ok := parts[name]; !ok {
			return nil
		}
		return x.put(filepath.FromSlash(name), part)
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

// rows brings the database to life and compares its rows with the manifest.
func (x *restoring) rows(m *backup.Manifest) (err error) {
	path := filepath.Join(x.scratch, x.databaseName())
	if x.c.DatabaseURL == "" {
		x.snap, err = db.Examine(x.ctx, path)
	} else {
		x.snap, err = db.Load(x.ctx, x.c.DatabaseURL, path)
		x.loaded = !errors.Is(err, db.ErrNotEmpty)
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

// settle opens the services on what was restored, brings its schema up to
// date, looks whether it is whole and takes the life out of what must not go on.
func (x *restoring) settle() error {
	c, err := x.settings()
	if err != nil {
		return err
	}
	a, err := Open(x.ctx, c, Migrator)
	if err != nil {
		return err
	}
	a.Close()
	if a, err = Open(x.ctx, c, Tool); err != nil {
		return err
	}
	defer a.Close()
	if x.r.Verify {
		if err := sound(x.ctx, a); err != nil {
			return err
		}
	}
	return x.quiet(a)
}

// settings are those of an installation that reaches nobody.
func (x *restoring) settings() (*config.Config, error) {
	c := *x.c
	text, err := os.ReadFile(filepath.Join(x.scratch, masterKeyFile))
	if err != nil {
		return nil, fmt.Errorf("app: restore: %w", err)
	}
	if c.MasterKey != "" && strings.TrimSpace(string(text)) != c.MasterKey {
		return nil, errors.New("app: the settings name another master key than the backup holds: " +
			"take master_key or master_key_file out, the restored data directory has its own")
	}
	c.Data, c.MasterKey, c.MasterKeyFile = x.scratch, "", ""
	c.RedisURL, c.SMTPURL, c.SMSURL, c.BlobURL = "", "", "", ""
	return &c, nil
}

// sound compares totals and stock with the records, and the audit log with its
// chain.
func sound(ctx context.Context, a *App) error {
	found, err := a.Verify(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("app: totals or stock do not agree with the records, %d differences: %s", len(found), found[0])
	}
	reports, err := a.Identity.VerifyAudit(ctx, "")
	if err != nil {
		return err
	}
	for _, r := range reports {
		if !r.Whole() {
			return fmt.Errorf("app: the audit log of tenant %s was changed after it was sealed", r.TenantID)
		}
	}
	return nil
}

// quiet ends sessions and pauses webhooks.
func (x *restoring) quiet(a *App) (err error) {
	ctx := db.Patient(x.ctx, wholeTenant)
	x.out.Sessions, err = identity.EndAllSessions(ctx, a.Identity, "backup.restored", map[string]any{"backup": x.out.ID, "made": x.out.Made})
	if err != nil {
		return err
	}
	tenants, err := a.Identity.ListTenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		n, err := pauseWebhooks(ctx, a, t.ID)
		if err != nil {
			return fmt.Errorf("app: pause the webhooks of %s: %w", t.Slug, err)
		}
		x.out.Webhooks += n
	}
	return nil
}

func pauseWebhooks(ctx context.Context, a *App, tenant string) (n int, err error) {
	hooks, _ := a.catalog.Get("webhooks")
	err = a.DB.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		rows, err := a.Store.RowsTx(tx, operator(tenant), hooks, "status = 'active'", nil)
		if err != nil {
			return err
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i], _ = r["id"].(string)
		}
		if n = len(ids); n == 0 {
			return nil
		}
		_, err = a.Store.UpdateTx(tx, operator(tenant), hooks, ids, store.Row{"status": "paused"})
		return err
	})
	return n, err
}

// swap makes the scratch directory the data directory.
func (x *restoring) swap() error {
	for _, name := range []string{"server.json", "beside.lock"} {
		os.Remove(filepath.Join(x.scratch, name))
	}
	if err := syncDir(filepath.Join(x.scratch, "x")); err != nil {
		return err
	}
	if x.held != nil {
		x.out.Aside = x.dir + ".before-" + time.Now().UTC().Format("20060102T150405Z")
		if err := os.Rename(x.dir, x.out.Aside); err != nil {
			return mounted(err)
		}
	}
	if err := os.Rename(x.scratch, x.dir); err != nil {
		if x.out.Aside != "" {
			err = errors.Join(err, os.Rename(x.out.Aside, x.dir))
		}
		return mounted(err)
	}
	return syncDir(x.dir)
}

func mounted(err error) error {
	return fmt.Errorf("app: put the restored directory in place: %w; a mount point cannot be replaced: name a new directory below it with --data", err)
}
