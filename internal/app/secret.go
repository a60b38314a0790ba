package app

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// makeKey writes a new key for its owner's eyes. O_EXCL: of two processes that
// start at once, one makes the key and the other reads it.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, 32)
	rand.Read(key)
	text, err := writeKey(path, key)
	if os.IsExist(err) {
		return os.ReadFile(path)
	}
	return text, err
}

// writeKey makes a file that only its owner reads, durably; one that exists is
// an error.
func writeKey(path string, key []byte) ([]byte, error) {
	text := base64.StdEncoding.EncodeToString(key) + "\n"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return []byte(text), errors.Join(f.Close(), syncDir(path))
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
