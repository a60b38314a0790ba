package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"holdfast/internal/backup"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/doctor"
	"holdfast/internal/secrets"
)

// refusePublishedKey keeps a server from starting with a master key that anybody
// can look up, wherever the key comes from. Commands still open what it sealed:
// `keys rekey` changes it.
func refusePublishedKey(c *config.Config) error {
	key, err := c.ReadMasterKey()
	if errors.Is(err, os.ErrNotExist) {
		return nil // one is made
	}
	if err != nil {
		return err
	}
	if finding := doctor.PublishedKey(c, key); finding != nil {
		return fmt.Errorf("app: %s, and %s: %s", finding.What, finding.Why, finding.Command)
	}
	return nil
}

// refuseRecipient keeps a server from starting whose backups could be encrypted to nothing.
func refuseRecipient(c *config.Config) error {
	if c.BackupRecipient == "" {
		return nil
	}
	if err := (backup.Secret{Recipient: c.BackupRecipient}).Check(); err != nil {
		return fmt.Errorf("app: backup_recipient: %w", err)
	}
	return nil
}

// warnOfExposure logs who else could read the file of the master key, and by which
// settings a server that others can reach believes anybody.
func warnOfExposure(ctx context.Context, c *config.Config) {
	for _, finding := range append(doctor.ExposedKeyFile(ctx, c), doctor.OpenSettings(c)...) {
		slog.Warn(finding.What, "why", finding.Why, "do", finding.Command)
	}
}

// littleRoom is the free space below which a start warns: uploads are refused from 64 MB on.
const littleRoom = 256 << 20

// warnOfRoom logs that the disk of the data directory is nearly full: the server starts all
// the same, for what is there can be read.
func warnOfRoom(c *config.Config) {
	if left, err := blob.Room(c.Data); err == nil && left < littleRoom {
		slog.Warn("the disk of the data directory is nearly full: writes will be refused", "free_megabytes", left>>20,
			"directory", c.Data)
	}
}

// warnOfLostCommits logs that the database is older than it was.
func warnOfLostCommits(ctx context.Context, d *db.DB) {
	lost, err := d.FindLostCommits(ctx)
	if err != nil {
		slog.Warn("whether the database is as it was is not known", "error", err)
	} else if lost != nil {
		slog.Error("the database lacks what was committed before: holdfast doctor says what to do", "before", lost.At)
	}
}

// makeKey writes a new key for its owner's eyes. O_EXCL: of two processes that
// start at once, one makes the key and the other reads it.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, secrets.MasterSize)
	rand.Read(key)
	err := writeKey(path, key)
	if os.IsExist(err) {
		return config.ReadMasterKeyFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("app: master key: %w", err)
	}
	return key, nil
}

// writeKey makes a file that only its owner reads, durably; one that exists is
// an error.
func writeKey(path string, key []byte) error {
	text := base64.StdEncoding.EncodeToString(key) + "\n"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return errors.Join(f.Close(), syncDir(path))
}

// syncDir makes the entry of a file in its directory durable, without which a
// rename or a new file may be forgotten.
func syncDir(path string) error {
	return syncFile(filepath.Dir(path))
}

// syncFile makes a file, or the names in a directory, durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
