package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/secrets"
)

// Rekeying says where the keys of Rekey are. One of the files may be "": that
// key is the one in effect, of the setting or the data directory.
type Rekeying struct {
	OldFile, NewFile string
	Overlap          time.Duration // the old API keys are taken so long beside the new ones
}

// Rekey seals all stored secrets with another master key while no server runs.
// Where the key is kept in the data directory, the new one is put there once
// the database has it; the same call goes on after a crash in between.
func Rekey(ctx context.Context, c *config.Config, r Rekeying) (identity.Rekeyed, error) {
	var out identity.Rekeyed
	if !databaseExists(c) {
		return out, fmt.Errorf("app: there is no database in %s", c.Data)
	}
	work := identity.Rekeying{Overlap: r.Overlap, Now: time.Now}
	var err error
	if work.Old, err = givenKey(c, r.OldFile); err != nil {
		return out, err
	}
	if work.New, err = givenKey(c, r.NewFile); err != nil {
		return out, err
	}
	if secrets.IsPublished(work.New) {
		return out, errors.New("app: the new master key has been published and would protect nothing: take one from `openssl rand -base64 32`")
	}
	d, err := db.Open(ctx, db.Options{URL: c.DatabaseURL, Dir: c.Data, Exclusive: true,
		Pooler: c.DatabasePooler == "transaction"})
	if err != nil {
		return out, err
	}
	defer d.Close()
	left, err := checkNoServers(ctx, d)
	if err != nil {
		return out, err
	}
	work.Alone = func(tx *db.Tx) error { return checkStillAlone(tx, left) }
	if out, err = keyring.Rekey(db.Patient(ctx, wholeTenant), d, work); err != nil || c.MasterKey != "" {
		return out, err
	}
	return out, keepKey(c.MasterKeyPath(), work.New)
}

// givenKey reads a key from a file, or the one in effect for "". It makes none.
func givenKey(c *config.Config, path string) ([]byte, error) {
	if path == "" {
		return c.ReadMasterKey()
	}
	return config.ReadMasterKeyFile(path)
}

var errBusy = errors.New("app: a server runs on this database: stop all nodes first")

// checkNoServers refuses a database that servers work on, and returns the rows of those
// that were killed. Each server beats in a row of its own as long as it lives.
func checkNoServers(ctx context.Context, d *db.DB) (left map[string]int64, err error) {
	first, err := readHeartbeats(ctx, d)
	if err != nil || len(first) == 0 {
		return first, err
	}
	for end := time.Now().Add(db.BeatEvery + 5*time.Second); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
		now, err := readHeartbeats(ctx, d)
		if err != nil {
			return nil, err
		}
		if hasNewHeartbeat(first, now) {
			return nil, errBusy
		}
	}
	return first, nil
}

func hasNewHeartbeat(left, now map[string]int64) bool {
	for id, beat := range now {
		if was, known := left[id]; !known || was != beat {
			return true
		}
	}
	return false
}

// checkStillAlone refuses a server that has come since idle looked, and holds up those
// that come until the transaction ends: a server joins the others before it
// looks a last time whether its key opens what is sealed.
func checkStillAlone(tx *db.Tx, left map[string]int64) error {
	if tx.DB().Engine() == db.PostgreSQL { // the embedded database has a lock
		if _, err := tx.Exec("LOCK TABLE nodes IN EXCLUSIVE MODE"); err != nil {
			return err
		}
	}
	now, err := beatsIn(tx)
	if err == nil && hasNewHeartbeat(left, now) {
		err = errBusy
	}
	return err
}

// readHeartbeats are the nodes' counters.
func readHeartbeats(ctx context.Context, d *db.DB) (out map[string]int64, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) { out, err = beatsIn(tx); return err })
	return out, err
}

func beatsIn(tx *db.Tx) (map[string]int64, error) {
	out := map[string]int64{}
	err := tx.Query("SELECT id, beat FROM nodes", nil, func(r *db.Row) error { out[r.Text(0)] = r.Int(1); return nil })
	return out, err
}

// keepKey replaces the key of the data directory: a crash leaves one of the two.
func keepKey(path string, key []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("app: master key: %w", err)
	}
	if err := writeKey(next, key); err != nil {
		return fmt.Errorf("app: master key: %w", err)
	}
	if err := errors.Join(os.Rename(next, path), syncDir(path)); err != nil {
		return fmt.Errorf("app: master key: %w", err)
	}
	return nil
}
