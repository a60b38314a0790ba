package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"holdfast/internal/fault"
)

// floor is the free space below which nothing more is taken, so that the
// database beside the files can still commit.
const floor = 64 << 20

// temporary begins the names of files that are being written.
const temporary = "tmp-"

// A Dir is a store in one directory of this machine.
type Dir struct {
	root *os.Root
	free func() (uint64, error) // bytes left on the disk
}

// OpenDir makes the directory when it is missing, for its owner only. All later
// access goes through the open directory and cannot leave it.
func OpenDir(dir string) (*Dir, error) {
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
	return &Dir{root: root, free: func() (uint64, error) { return availableBytes(dir) }}, nil
}

// Close implements Store.
func (d *Dir) Close() error { return d.root.Close() }

// Put implements Store: a temporary name, fsync, rename, fsync of the
// directory.
func (d *Dir) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	ref, err := newRef()
	if err != nil {
		return Ref{}, err
	}
	if err := d.putFile(ctx, &ref, r, limit); err != nil {
		return Ref{}, classifyFull(err)
	}
	return ref, nil
}

func (d *Dir) putFile(ctx context.Context, ref *Ref, r io.Reader, limit int64) error {
	name := temporary + ref.Key
	err := d.gatherFile(ctx, ref, r, limit)
	if err == nil {
		err = classifyDisk(d.root.Rename(name, ref.Key))
	}
	if err != nil {
		return errors.Join(err, d.removeFile(name))
	}
	if err := d.syncDir(); err != nil {
		return errors.Join(err, d.removeFile(ref.Key))
	}
	return nil
}

// gatherFile writes a file under its temporary name and fills in ref. The caller
// removes it.
func (d *Dir) gatherFile(ctx context.Context, ref *Ref, r io.Reader, limit int64) error {
	f, err := d.root.OpenFile(temporary+ref.Key, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return awayFault(err) // somebody removed the directory under the server
	}
	if err != nil {
		return classifyDisk(err)
	}
	c := copying{ctx: ctx, from: r, to: f, sum: sha256.New(), limit: limit, space: d.checkSpace}
	err = c.runCopy()
	if err == nil {
		err = classifyDisk(f.Sync())
	}
	ref.Size, ref.SHA256 = c.size, hex.EncodeToString(c.sum.Sum(nil))
	return errors.Join(err, f.Close())
}

// checkSpace refuses when fewer than the floor's bytes are left.
func (d *Dir) checkSpace() error {
	left, err := d.free()
	if err != nil {
		return classifyDisk(fmt.Errorf("free space: %w", err))
	}
	if left < floor {
		return fault.New(fault.NoSpace, "no_space", "the server's disk is nearly full")
	}
	return nil
}

// syncDir makes the directory's entries durable, without which a rename may be
// forgotten.
func (d *Dir) syncDir() error {
	f, err := d.root.Open(".")
	if err != nil {
		return classifyDisk(err)
	}
	return classifyDisk(errors.Join(f.Sync(), f.Close()))
}

// Open implements Store.
func (d *Dir) Open(_ context.Context, key string) (io.ReadSeekCloser, error) {
	if !isValidKey(key) {
		return nil, notFoundFault(nil)
	}
	f, err := d.root.Open(key)
	if err != nil {
		return nil, classifyMissing(err)
	}
	return storedFile{f}, nil
}

// storedFile is a file whose disk may fail while it is read.
type storedFile struct{ *os.File }

// Read implements io.Reader.
func (f storedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	return n, classifyRead(err)
}

// ReadAt implements io.ReaderAt.
func (f storedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	return n, classifyRead(err)
}

func classifyRead(err error) error {
	if err == io.EOF { // readers compare it
		return err
	}
	return classifyDisk(err)
}

// Stat implements Store.
func (d *Dir) Stat(_ context.Context, key string) (Info, error) {
	if !isValidKey(key) {
		return Info{}, notFoundFault(nil)
	}
	st, err := d.root.Lstat(key)
	if err != nil {
		return Info{}, classifyMissing(err)
	}
	return Info{Key: key, Size: st.Size(), Kept: st.ModTime()}, nil
}

func classifyMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return notFoundFault(err)
	}
	return classifyDisk(err)
}

// Delete implements Store.
func (d *Dir) Delete(_ context.Context, key string) error {
	if !isValidKey(key) {
		return notFoundFault(nil)
	}
	if err := d.removeFile(key); err != nil {
		return err
	}
	return d.syncDir()
}

func (d *Dir) removeFile(name string) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classifyDisk(err)
	}
	return nil
}

// List implements Store.
func (d *Dir) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		err := d.eachFile(isValidKey, func(st fs.FileInfo) error {
			if !yield(Info{Key: st.Name(), Size: st.Size(), Kept: st.ModTime()}, nil) {
				return fs.SkipAll
			}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, fs.SkipAll) {
			yield(Info{}, err)
		}
	}
}

// SweepTemporary implements Store. Call it at the start, with an age of 0 when
// no other process uses the directory.
func (d *Dir) SweepTemporary(age time.Duration) (int, error) {
	removed := 0
	err := d.eachFile(func(name string) bool { return strings.HasPrefix(name, temporary) }, func(st fs.FileInfo) error {
		if time.Since(st.ModTime()) < age {
			return nil
		}
		removed++
		return d.removeFile(st.Name())
	})
	return removed, err
}

// eachFile calls f for the files with such names, a batch of them in memory at a
// time. One that goes meanwhile is passed over.
func (d *Dir) eachFile(named func(string) bool, f func(fs.FileInfo) error) error {
	dir, err := d.root.Open(".")
	if err != nil {
		return classifyDisk(err)
	}
	defer dir.Close()
	for {
		list, end := dir.ReadDir(1000)
		for _, entry := range list {
			if !named(entry.Name()) || !entry.Type().IsRegular() {
				continue
			}
			st, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return classifyDisk(err)
			}
			if err := f(st); err != nil {
				return err
			}
		}
		if errors.Is(end, io.EOF) {
			return nil
		}
		if end != nil {
			return classifyDisk(end)
		}
	}
}
