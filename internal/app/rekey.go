package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/identity"
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
	if !exists(c) {
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
	d, err := db.Open(ctx, db.Options{URL: c.DatabaseURL, Dir: c.Data, Exclusive: true, Pooler: c.DatabasePooler == "transaction"})
	if err != nil {
		return out, err
	}
	defer d.Close()
	if err := idle(ctx, d); err != nil {
		return out, err
	}
	if out, err = identity.Rekey(db.Patient(ctx, wholeTenant), d, work); err != nil || c.MasterKey != "" {
		return out, err
	}
	return out, keepKey(filepath.Join(c.Data, masterKeyFile), work.New)
}

// givenKey reads a key from a file, or the one in effect for "". It makes none.
func givenKey(c *config.Config, path string) ([]byte, error) {
	if path == "" {
		if c.MasterKey != "" {
			return masterKey(c)
		}
		path = filepath.Join(c.Data, masterKeyFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("app: master key: %w", err)
	}
	return keyOf(path, text)
}

func keyOf(path string, text []byte) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("app: %s does not hold a key of 32 bytes in base64", path)
	}
	return key, nil
}

// idle refuses a database that servers work on. Each beats in a row of its own
// as long as it lives; one that was killed has left its row and beats no more.
func idle(ctx context.Context, d *db.DB) error {
	first, err := beats(ctx, d)
	if err != nil || len(first) == 0 {
		return err
	}
	for end := time.Now().Add(db.BeatEvery + 5*time.Second); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
		now, err := beats(ctx, d)
		if err != nil {
			return err
		}
		for id, beat := range now {
			if was, known := first[id]; !known || was != beat {
				return errors.New("app: a server runs on this database: stop all nodes first")
			}
		}
	}
	return nil
}

// beats are the nodes' counters.
func beats(ctx context.Context, d *db.DB) (out map[string]int64, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = map[string]int64{}
		return tx.Query("SELECT id, beat FROM nodes", nil, func(r *db.Row) error { out[r.Text(0)] = r.Int(1); return nil })
	})
	return out, err
}

// keepKey replaces the key of the data directory: a crash leaves one of the two.
func keepKey(path string, key []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("app: master key: %w", err)
	}
	if _, err := writeKey(next, key); err != nil {
		return fmt.Errorf("app: master key: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("app: master key: %w", err)
	}
	return nil
}
