package db

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// ReserveName is a file of the data directory that is removed when a server starts on a full
// disk: SQLite needs a little room for the index of its log before it can read at all.
const ReserveName = "holdfast.reserve"

// reserveBytes is a few times what the index and the first pages of a log take.
const reserveBytes = 1 << 20

// keepReserve makes the reserve where there is none. A disk that has no room for it has none
// to give.
func keepReserve(dir string) {
	path := filepath.Join(dir, ReserveName)
	if st, err := os.Stat(path); err == nil && st.Size() == reserveBytes {
		return
	}
	if err := fillFile(path); err != nil {
		os.Remove(path)
	}
}

// fillFile writes a file of the size of the reserve.
func fillFile(path string) error {
	words := make([]byte, reserveBytes)
	for i := range words {
		words[i] = byte(rand.Uint32()) // a file system that packs files would keep no room for zeros
	}
	return os.WriteFile(path, words, 0o600)
}

// hasRoom reports whether a disk that was full takes as much as the reserve.
func hasRoom(dir string) bool {
	path := filepath.Join(dir, "tmp-room")
	defer os.Remove(path)
	return fillFile(path) == nil
}

// takeReserve gives the room of the reserve to a database that could not be opened for want
// of it, and reports whether there was one.
func takeReserve(path string, err error) bool {
	var refused *sqlite.Error
	if !errors.As(err, &refused) || !isForRoom(refused.Code()) {
		return false
	}
	if os.Remove(filepath.Join(filepath.Dir(path), ReserveName)) != nil {
		return false
	}
	slog.Warn("the disk is full; the reserve was given up, so that what is there can be read", "database", path)
	return true
}

// isForRoom reports a result of SQLite that a full disk gives.
func isForRoom(code int) bool {
	return code&0xff == liteFull || code == liteIOErrWrite || code == liteIOErrShmSize
}
