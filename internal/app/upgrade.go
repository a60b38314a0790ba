package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/db/shape"
)

// upgradeDir holds copies of the embedded database from before migrations.
const upgradeDir = "before-upgrade"

// keepUpgrades is how many of them are kept.
const keepUpgrades = 3

// shouldMigrate does what the setting migrate says of a schema that is behind, and
// reports whether this process is to migrate.
func shouldMigrate(ctx context.Context, c *config.Config) (bool, error) {
	o := db.Options{URL: c.DatabaseURL, Dir: c.Data}
	for first := true; ; first = false {
		s, err := db.State(ctx, o)
		if err != nil {
			return false, err
		}
		switch {
		case s.Have >= s.Want: // a newer one is refused when it is opened
			return false, nil
		case c.Migrate == "never":
			return false, fmt.Errorf("app: the schema is %d and this program needs %d, and migrate = never: "+
				"run `holdfast upgrade check`, then `holdfast migrate`", s.Have, s.Want)
		case c.Migrate == "auto":
			return true, saveBefore(ctx, c, s)
		}
		if first {
			slog.Warn("the schema is behind: waiting until `holdfast migrate` has run (migrate = wait)", "have", s.Have, "want",
				s.Want)
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// saveBefore copies the embedded database beside itself before its schema
// changes. Without room for the copy nothing is migrated.
func saveBefore(ctx context.Context, c *config.Config, s db.SchemaState) error {
	if c.DatabaseURL != "" || s.Fresh {
		return nil
	}
	dir := filepath.Join(c.Data, upgradeDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("app: copy before the upgrade: %w", err)
	}
	st, err := os.Stat(filepath.Join(c.Data, db.FileName))
	if err == nil {
		err = checkDiskSpace(dir, st.Size())
	}
	if err != nil {
		return fmt.Errorf("app: the database is copied before its schema changes: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-schema-%04d.db", time.Now().UTC().Format("20060102T150405Z"), s.Have))
	if err := copyWhole(ctx, c.Data, path); err != nil {
		return fmt.Errorf("app: copy before the upgrade: %w", err)
	}
	slog.Info("the database was copied before the upgrade", "copy", path, "schema", s.Have)
	return dropOld(dir)
}

// partial ends the name of a copy under way: one that was killed is not taken for
// a whole one.
const partial = ".part"

func copyWhole(ctx context.Context, data, path string) error {
	// Another process may be about the same; an hour is longer than any takes.
	if err := dropPartial(filepath.Join(filepath.Dir(path), "*"+partial+"*"), time.Hour); err != nil {
		return err
	}
	own := fmt.Sprintf("%s%s%d", path, partial, os.Getpid())
	_, err := db.Copy(ctx, db.Options{Dir: data}, own)
	if err == nil {
		err = syncFile(own)
	}
	if err != nil {
		return errors.Join(err, dropPartial(own+"*", 0))
	}
	return errors.Join(os.Rename(own, path), syncDir(path))
}

// dropPartial removes copies that are not whole, with the engine's journals, when
// they were not written to for so long.
func dropPartial(pattern string, age time.Duration) error {
	left, err := filepath.Glob(pattern)
	for _, path := range left {
		if st, gone := os.Stat(path); gone == nil && time.Since(st.ModTime()) >= age {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

func dropOld(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*-schema-*.db"))
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	slices.Sort(names) // by time
	for len(names) > keepUpgrades {
		if err := os.Remove(names[0]); err != nil {
			return fmt.Errorf("app: %w", err)
		}
		names = names[1:]
	}
	return nil
}

// UpgradePlan is what an upgrade to this program would do.
type UpgradePlan struct {
	State  db.SchemaState
	Engine db.Engine
	Steps  []db.Step
	Takes  time.Duration
}

// CheckUpgrade says what this program would do to the database, and does
// nothing.
func CheckUpgrade(ctx context.Context, c *config.Config) (out UpgradePlan, err error) {
	o := db.Options{URL: c.DatabaseURL, Dir: c.Data}
	out.Engine = db.SQLite
	if c.DatabaseURL != "" {
		out.Engine = db.PostgreSQL
	}
	if out.State, err = db.State(ctx, o); err != nil {
		return out, err
	}
	if out.State.Have > out.State.Want {
		return out, fmt.Errorf("app: schema %d, this program knows %d: %w", out.State.Have, out.State.Want, db.ErrNewerSchema)
	}
	if !out.State.Fresh {
		gone, err := db.FindGone(ctx, o)
		if err = errors.Join(err, shape.ExplainLoss(gone)); err != nil {
			return out, fmt.Errorf("app: %w", err)
		}
	}
	out.Steps, err = out.State.Plan(out.Engine, func(table string) (int64, error) {
		if out.State.Have == 0 {
			return 0, nil // nothing is there, on the embedded engine not even a file
		}
		return db.About(ctx, o, table)
	})
	for _, s := range out.Steps {
		out.Takes += s.Takes
	}
	return out, err
}
