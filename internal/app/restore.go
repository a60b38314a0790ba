package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/installation"
	"holdfast/internal/job"
	"holdfast/internal/store"
)

// Restoring says what is restored and how much is looked at.
type Restoring struct {
	From     string // a file, or s3://KEY:SECRET@host/bucket/prefix/name.backup
	Opener   backup.Opener
	Verify   bool       // recompute totals, stock and the audit chain, beside what is always compared
	Replace  bool       // put what is in the data directory aside
	DryRun   bool       // leave nothing behind
	Until    *time.Time // where to stop in the log that goes on from the backup; nil = at its end
	Progress func(done, total int64)

	// isBrokenHere says on trial whether the audit log of a tenant is broken where the backup
	// comes from; nil = nobody knows. That is no fault of the backup.
	isBrokenHere func(ctx context.Context, tenant string) (bool, error)

	onTrial bool // with DryRun: uploaded files are read and not kept, and PostgreSQL's archive goes into no database
}

// Restored is what became of it.
type Restored struct {
	backup.Manifest
	Dir      string
	Aside    string // where the data directory of before is; "" = there was none
	Sessions int64
	Webhooks int
	Rows     int64
	Segments int64     // of the log behind the backup
	Reached  time.Time // all that was committed before is there; zero without segments
	Handed   int       // files brought to where blob_url says
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
	release, err := x.claimDirectories()
	if err != nil {
		return out, err
	}
	defer release()
	if err := x.runRestore(); err != nil {
		return out, errors.Join(err, x.undoRestore())
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
	errands errands
	snap    db.Snapshot
	loaded  bool // the PostgreSQL database holds rows of the backup
	done    int64
	out     Restored
}

// claimDirectories takes the scratch directory, and with Replace the data directory, for
// this process alone.
func (x *restoring) claimDirectories() (release func(), err error) {
	if err := x.checkEmptyDirectory(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(x.scratch, 0o700); err != nil {
		return nil, fmt.Errorf("app: restore: %w", err)
	}
	lock, err := db.Take(x.scratch)
	if err != nil {
		return nil, fmt.Errorf("app: another restore into %s is under way", x.dir)
	}
	if _, err := os.Stat(x.scratch); errors.Is(err, os.ErrNotExist) { // renamed by who had the lock until now
		lock.Close()
		return nil, fmt.Errorf("app: another restore into %s has just ended", x.dir)
	}
	if x.held, err = x.lockReplaced(); err != nil {
		lock.Close()
		return nil, errors.Join(err, os.RemoveAll(x.scratch))
	}
	return func() {
		lock.Close()
		if x.held != nil {
			x.held.Close()
		}
	}, x.removeLeftovers()
}

// checkEmptyDirectory refuses a data directory with something in it.
func (x *restoring) checkEmptyDirectory() error {
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

// lockReplaced holds the lock of an installation that is replaced.
func (x *restoring) lockReplaced() (io.Closer, error) {
	if _, err := os.Stat(x.dir); err != nil || !x.r.Replace {
		return nil, nil
	}
	f, err := db.Take(x.dir)
	if err != nil {
		return nil, fmt.Errorf("%w; a backup is not restored over a running server", err)
	}
	return f, nil
}

// removeLeftovers removes what a restore left that was killed, but for its lock.
func (x *restoring) removeLeftovers() error {
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

func (x *restoring) undoRestore() error {
	errs := []error{os.RemoveAll(x.scratch)}
	if x.loaded {
		errs = append(errs, db.Clear(context.WithoutCancel(x.ctx), x.c.DatabaseURL))
	}
	return errors.Join(errs...)
}

func (x *restoring) runRestore() error {
	m, err := x.unpackAll()
	// What goes on beside is waited for, whatever came of the rest. The backup is
	// told of first: a damaged one explains what else was found.
	if err := errors.Join(err, x.errands.waitForAll()); err != nil {
		return err
	}
	x.out.Manifest = *m
	if x.r.onTrial && x.isArchive() {
		return errors.Join(x.compareArchive(m), x.undoRestore())
	}
	if err := x.compareRows(m); err != nil {
		return err
	}
	if err := x.followLog(m); err != nil {
		return err
	}
	if err := x.settleRestored(); err != nil {
		return err
	}
	if x.r.DryRun {
		return x.undoRestore()
	}
	if err := x.handOver(m); err != nil {
		return err
	}
	return x.swapDirectories()
}

// unpackAll writes every part where it belongs. Files are on their way to the
// disk, and the database is examined, when it returns.
func (x *restoring) unpackAll() (*backup.Manifest, error) {
	src, err := x.openBackup()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if x.from, err = backup.NewReader(src, x.r.Opener); err != nil {
		return nil, err
	}
	defer x.from.Close()
	if err := x.checkFits(); err != nil {
		return nil, err
	}
	m, err := x.from.Each(x.unpackPart)
	if err != nil {
		return nil, err
	}
	return m, x.fetchHeld(m)
}

// settleRestored opens the services on what was restored, brings its schema up to
// date, looks whether it is whole and takes the life out of what must not go on.
func (x *restoring) settleRestored() error {
	c, err := x.isolatedConfig()
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
		if err := verifyRestored(x.ctx, a, x.r.isBrokenHere); err != nil {
			return err
		}
	}
	if err := x.endSessions(a); err != nil {
		return err
	}
	return x.renewInstallation(a)
}

// renewInstallation makes the restored database one of a new installation, whose
// numbers go on behind all that the original may have given since.
func (x *restoring) renewInstallation(a *App) error {
	if err := installation.AdvanceNumbers(x.ctx, a.DB, x.out.Made, a.now()); err != nil {
		return err
	}
	if err := backups.DoubtAll(x.ctx, a.DB); err != nil {
		return err
	}
	if err := job.TakeBack(x.ctx, a.DB, a.now()); err != nil {
		return err
	}
	return installation.Renew(x.ctx, a.DB, x.out.ID, a.now())
}

// isolatedConfig are those of an installation that reaches nobody.
func (x *restoring) isolatedConfig() (*config.Config, error) {
	c := *x.c
	text, err := os.ReadFile(filepath.Join(x.scratch, config.MasterKeyName))
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

// verifyRestored compares totals and stock with the records, and the audit log with its
// chain. A chain that is broken where the backup comes from too is reported and no more.
func verifyRestored(ctx context.Context, a *App,
	isBrokenHere func(ctx context.Context, tenant string) (bool, error)) error {
	found, err := a.Verify(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("app: totals or stock do not agree with the records, %d differences: %s", len(found), found[0])
	}
	reports, err := a.Identity.Admin.VerifyAudit(ctx, "")
	if err != nil {
		return err
	}
	for _, r := range reports {
		if r.Whole() {
			continue
		}
		isOld := false
		if isBrokenHere != nil {
			if isOld, err = isBrokenHere(ctx, r.TenantID); err != nil {
				return err
			}
		}
		if isOld {
			slog.Warn("the audit log in the backup is as broken as the one here", "tenant", r.TenantID)
		} else {
			return fmt.Errorf("app: the audit log of tenant %s was changed after it was sealed", r.TenantID)
		}
	}
	return nil
}

// endSessions ends sessions and pauses webhooks.
func (x *restoring) endSessions(a *App) (err error) {
	ctx := db.Patient(x.ctx, wholeTenant)
	x.out.Sessions, err = a.Identity.Sessions.EndAll(ctx, "backup.restored",
		map[string]any{"backup": x.out.ID, "made": x.out.Made})
	if err != nil {
		return err
	}
	tenants, err := a.Identity.Tenants.ListTenants(ctx)
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
	err = a.DB.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		rows, err := a.Store.In(tx, commandLineActor(tenant)).Rows("webhooks", "status = 'active'")
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
		err = a.Store.In(tx, commandLineActor(tenant)).UpdateRows("webhooks", ids, store.Row{"status": "paused"})
		return err
	})
	return n, err
}

// handOver brings the uploaded files to where blob_url says that they are kept.
// Keys are never given twice, so one that is there is the same file: a restore
// that broke off goes on, and files of a running installation are not touched.
func (x *restoring) handOver(m *backup.Manifest) error {
	if x.c.BlobURL == "" {
		return nil
	}
	backend, err := blob.OpenBackend(x.c.BlobURL)
	if err != nil {
		return err
	}
	for _, p := range m.Parts {
		key, ok := strings.CutPrefix(p.Name, backup.Files)
		if !ok {
			continue
		}
		if err := x.handOne(backend, key, p.Size); err != nil {
			return fmt.Errorf("app: restore the file %s into %s: %w", key, backups.WithoutUser(x.c.BlobURL), err)
		}
	}
	return nil
}

func (x *restoring) handOne(backend blob.Backend, key string, size int64) error {
	path := filepath.Join(x.scratch, "files", key)
	switch have, err := backend.Size(x.ctx, key); {
	case err == nil && have == size:
		return os.Remove(path)
	case err == nil:
		return fmt.Errorf("another file of that name is there, of %d bytes instead of %d", have, size)
	case !fault.Is(err, fault.NotFound):
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := backend.Create(x.ctx, key, func(w io.Writer) error { _, err := io.Copy(w, f); return err }); err != nil {
		return err
	}
	x.out.Handed++
	return os.Remove(path)
}

// swapDirectories makes the scratch directory the data directory.
func (x *restoring) swapDirectories() error {
	for _, name := range []string{"server.json", "beside.lock"} {
		os.Remove(filepath.Join(x.scratch, name))
	}
	if err := syncDir(filepath.Join(x.scratch, "x")); err != nil {
		return err
	}
	if x.held != nil {
		x.out.Aside = x.dir + ".before-" + time.Now().UTC().Format("20060102T150405Z")
		if err := os.Rename(x.dir, x.out.Aside); err != nil {
			return mountPointError(err)
		}
	}
	if err := os.Rename(x.scratch, x.dir); err != nil {
		if x.out.Aside != "" {
			err = errors.Join(err, os.Rename(x.out.Aside, x.dir))
		}
		return mountPointError(err)
	}
	return syncDir(x.dir)
}

func mountPointError(err error) error {
	return fmt.Errorf("app: put the restored directory in place: %w; a mount point cannot be replaced: name a new directory below it with --data", err)
}
