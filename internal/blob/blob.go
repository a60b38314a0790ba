// Package blob keeps uploaded files in one directory under names that it makes
// itself. A file is there whole or not at all, whenever the power goes.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/fault"
)

// floor is the free space below which nothing more is taken, so that the
// database beside the files can still commit.
const floor = 64 << 20

// temporary begins the names of files that are being written.
const temporary = "tmp-"

// A Ref is what to remember of a file: the key to open it by, its bytes and
// the lower-case hexadecimal SHA-256 over them.
type Ref struct {
	Key    string
	Size   int64
	SHA256 string
}

// A Store is a directory of files. Its methods may be called by many
// goroutines, and by several processes on one directory.
type Store struct {
	root *os.Root
	free func() (uint64, error) // bytes left on the disk
}

// Open makes the directory when it is missing, for its owner only. All later
// access goes through the open directory and cannot leave it.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	if err := root.Chmod(".", 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("blob: %w", err), root.Close())
	}
	return &Store{root: root, free: func() (uint64, error) { return available(dir) }}, nil
}

// Close gives the directory back. Open files stay readable.
func (s *Store) Close() error { return s.root.Close() }

// Put keeps what r has to say, at most limit bytes. When it returns nil the
// file is on the disk; on an error nothing is left. It fails with
// fault.TooLarge past the limit, fault.NoSpace when the disk is full or nearly
// so, and with r's own error when that is what broke.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Ref{}, fmt.Errorf("blob: %w", err)
	}
	ref := Ref{Key: id.String()}
	if err := s.put(ctx, &ref, r, limit); err != nil {
		return Ref{}, full(err)
	}
	return ref, nil
}

func (s *Store) put(ctx context.Context, ref *Ref, r io.Reader, limit int64) error {
	name := temporary + ref.Key
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	c := copying{ctx: ctx, from: r, to: f, sum: sha256.New(), limit: limit, space: s.space}
	err = c.run()
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.root.Rename(name, ref.Key)
	}
	if err != nil {
		return errors.Join(err, s.remove(name))
	}
	ref.Size, ref.SHA256 = c.size, hex.EncodeToString(c.sum.Sum(nil))
	if err := s.sync(); err != nil {
		return errors.Join(err, s.remove(ref.Key))
	}
	return nil
}

// space refuses when fewer than the floor's bytes are left.
func (s *Store) space() error {
	left, err := s.free()
	if err != nil {
		return fmt.Errorf("blob: free space: %w", err)
	}
	if left < floor {
		return fault.New(fault.NoSpace, "no_space", "the server's disk is nearly full")
	}
	return nil
}

// sync makes the directory's entries durable, without which a rename may be
// forgotten.
func (s *Store) sync() error {
	d, err := s.root.Open(".")
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// Open opens a file for reading. It fails with fault.NotFound, also for a key
// that was never made here.
func (s *Store) Open(key string) (io.ReadSeekCloser, error) {
	if !valid(key) {
		return nil, absent(nil)
	}
	f, err := s.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(err)
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return f, nil
}

// Delete removes a file. One that is not there is deleted already.
func (s *Store) Delete(key string) error {
	if !valid(key) {
		return absent(nil)
	}
	if err := s.remove(key); err != nil {
		return err
	}
	return s.sync()
}

func (s *Store) remove(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// SweepTemporary removes what processes left that died while writing: the
// temporary files not written to for age. It returns how many. Call it at the
// start, with an age of 0 when no other process uses the directory.
func (s *Store) SweepTemporary(age time.Duration) (int, error) {
	list, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("blob: %w", err)
	}
	removed := 0
	for _, entry := range list {
		if !strings.HasPrefix(entry.Name(), temporary) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // its writer has finished
		}
		if err != nil {
			return removed, fmt.Errorf("blob: %w", err)
		}
		if time.Since(info.ModTime()) < age {
			continue
		}
		if err := s.remove(entry.Name()); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// valid accepts the names that Put makes and no others: a lower-case UUID.
func valid(key string) bool {
	id, err := uuid.Parse(key)
	return err == nil && id.String() == key
}

func absent(err error) error {
	return fault.Wrap(err, fault.NotFound, "file_not_found", "no such file")
}

// full classifies a disk or quota without room.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fault.Wrap(err, fault.NoSpace, "no_space", "the server's disk is full")
	}
	return err
}

// copying is one Put's way from reader to file.
type copying struct {
	ctx   context.Context
	from  io.Reader
	to    io.Writer
	sum   hash.Hash
	limit int64
	size  int64
	space func() error
}

// recheck is how many bytes are written between two looks at the free space.
const recheck = 8 << 20

func (c *copying) run() error {
	buf := make([]byte, 64<<10)
	next := int64(0)
	for {
		if err := c.ctx.Err(); err != nil {
			return fmt.Errorf("blob: %w", err)
		}
		if c.size >= next {
			if err := c.space(); err != nil {
				return err
			}
			next = c.size + recheck
		}
		n, end := c.from.Read(buf)
		if err := c.write(buf[:n]); err != nil {
			return err
		}
		if end == io.EOF {
			return nil
		}
		if end != nil {
			return fmt.Errorf("blob: read the upload: %w", end)
		}
	}
}

func (c *copying) write(p []byte) error {
	c.size += int64(len(p))
	if c.size > c.limit {
		return fault.New(fault.TooLarge, "file_too_large", "the file is larger than %d bytes", c.limit)
	}
	if _, err := c.to.Write(p); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	c.sum.Write(p)
	return nil
}
