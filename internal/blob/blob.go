// Package blob keeps uploaded files, in a directory or in a bucket of an S3
// service, under names that it makes itself. A file is there whole or not at
// all, whenever the power goes.
//
// Layer: adapters. Begin at [Open].
package blob

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/fault"
)

// A Store keeps files. Its methods may be called by many goroutines, and by
// several processes on one directory or bucket. What cannot be reached just now
// is fault.Unavailable.
type Store interface {
	// Put keeps what r has to say, at most limit bytes. When it returns nil the
	// file is durable; on an error nothing is left. It fails with
	// fault.TooLarge past the limit, fault.NoSpace when the disk is full or
	// nearly so, and with r's own error when that is what broke.
	Put(ctx context.Context, r io.Reader, limit int64) (Ref, error)
	// Open opens a file for reading. It fails with fault.NotFound, also for a
	// key that was never made here.
	Open(ctx context.Context, key string) (io.ReadSeekCloser, error)
	// Stat tells of a file without reading it, failing as Open does.
	Stat(ctx context.Context, key string) (Info, error)
	// Delete removes a file. One that is not there is deleted already.
	Delete(ctx context.Context, key string) error
	// List walks over the files that are whole, in no order. It stops at an
	// error.
	List(ctx context.Context) iter.Seq2[Info, error]
	// SweepTemporary removes what processes left that died while writing: the
	// temporary files not written to for age. It returns how many.
	SweepTemporary(age time.Duration) (int, error)
	// Close gives the store back. Open files stay readable.
	Close() error
}

// A Ref is what to remember of a file: the key to open it by, its bytes and
// the lower-case hexadecimal SHA-256 over them.
type Ref struct {
	Key    string
	Size   int64
	SHA256 string
}

// Info is what a store knows of a file: its bytes and when it became whole.
type Info struct {
	Key  string
	Size int64
	Kept time.Time
}

// newRef names a file that is about to be written.
func newRef() (Ref, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Ref{}, fmt.Errorf("blob: %w", err)
	}
	return Ref{Key: id.String()}, nil
}

// isValidKey accepts the names that Put makes and no others: a lower-case UUID.
func isValidKey(key string) bool {
	id, err := uuid.Parse(key)
	return err == nil && id.String() == key
}

func notFoundFault(err error) error {
	return fault.Wrap(err, fault.NotFound, "file_not_found", "no such file")
}

// classifyFull classifies a disk or quota without room.
func classifyFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fault.Wrap(err, fault.NoSpace, "no_space", "the server's disk is full")
	}
	return err
}

// awayErrors are what a file system says that is broken, read-only, not mounted any more or on
// a machine that does not answer. That of a later moment may be well again.
var awayErrors = []error{syscall.EIO, syscall.EROFS, syscall.ENOTCONN, syscall.ESTALE, syscall.ENXIO, syscall.ENODEV,
	syscall.ETIMEDOUT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.EACCES, syscall.EPERM}

// classifyDisk classifies what a directory of files answered. What it does not know is an
// error of this program.
func classifyDisk(err error) error {
	if err == nil {
		return nil
	}
	isAway := func(known error) bool { return errors.Is(err, known) }
	if slices.ContainsFunc(awayErrors, isAway) {
		return awayFault(err)
	}
	return fmt.Errorf("blob: %w", err)
}

// awayFault keeps the code that the database has for a disk (see package db).
func awayFault(err error) error {
	f := fault.Wrap(err, fault.Unavailable, "58030", "the file store cannot be read or written: try again")
	f.RetryAfter = 5 * time.Second
	return f
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

func (c *copying) runCopy() error {
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
		if err := c.writeChunk(buf[:n]); err != nil {
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

func (c *copying) writeChunk(p []byte) error {
	c.size += int64(len(p))
	if c.size > c.limit {
		return fault.New(fault.TooLarge, "file_too_large", "the file is larger than %d bytes", c.limit)
	}
	if _, err := c.to.Write(p); err != nil {
		return classifyDisk(err)
	}
	c.sum.Write(p)
	return nil
}

// KeyColumns are the columns by which records of any kind name files.
var KeyColumns = [...]string{"blob_key", "thumbnail_key"}
