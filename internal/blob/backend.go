package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// A Backend is a directory or a bucket whose files have names that the caller
// gives. A file is there whole or not at all.
type Backend interface {
	// Create keeps what write has to say under a name that is free.
	Create(ctx context.Context, name string, write func(io.Writer) error) error
	// Open opens a file for reading, from its beginning or at any place.
	Open(ctx context.Context, name string) (File, error)
	// Remove removes a file. One that is not there is removed already.
	Remove(ctx context.Context, name string) error
	// List names the files that begin with a prefix, in their order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Size tells the bytes of a file; it fails with fault.NotFound.
	Size(ctx context.Context, name string) (int64, error)
}

// A File is one that is open for reading.
type File interface {
	io.ReadCloser
	io.ReaderAt
}

// OpenBackend opens the directory or bucket that an address names: a path,
// file:///path, or s3://KEY:SECRET@host/bucket/prefix.
func OpenBackend(address string) (Backend, error) {
	if !strings.HasPrefix(address, "s3://") {
		dir := strings.TrimPrefix(address, "file://")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("blob: %w", err)
		}
		return dirBackend(dir), nil
	}
	a, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	o := a.clientOptions()
	o.MaxRetries, o.Transport = attempts, newTransport()
	c, err := minio.New(a.Host, o)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return &bucketBackend{c, a.Bucket, a.Prefix}, nil
}

type dirBackend string

func (d dirBackend) filePath(name string) string { return filepath.Join(string(d), name) }

func (d dirBackend) Create(_ context.Context, name string, write func(io.Writer) error) (err error) {
	path := d.filePath(name)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("blob: %s exists already", path)
	}
	f, err := os.CreateTemp(string(d), "."+temporary+"*")
	if err != nil {
		return classifyFull(fmt.Errorf("blob: %w", err))
	}
	defer func() {
		if err != nil {
			err = classifyFull(errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	if err := write(&gentle{f: f}); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	// A link, not a rename: of two that choose one name, the second fails.
	if err := os.Link(f.Name(), path); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return errors.Join(os.Remove(f.Name()), f.Close(), syncPath(string(d)))
}

// gentleBytes is how much is written between two waits for the disk.
const gentleBytes = 1 << 20

// gentle brings a large file to the disk piece by piece, and rests after each as
// long as the disk took. Gigabytes that wait in memory would all go to the disk
// at once, and whoever makes a small write durable meanwhile would wait for them.
// What is written is durable only once the file is synced.
type gentle struct {
	f       *os.File
	written int64 // bytes in the file
	sent    int64 // of them, those that are on the disk
}

func (g *gentle) Write(b []byte) (int, error) {
	n, err := g.f.Write(b)
	if g.written += int64(n); err != nil || g.written-g.sent < gentleBytes {
		return n, err
	}
	begin := time.Now()
	err = syncRange(g.f, g.sent, g.written-g.sent)
	g.sent = g.written
	time.Sleep(time.Since(begin))
	return n, err
}

func syncPath(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d dirBackend) Open(_ context.Context, name string) (File, error) {
	f, err := os.Open(d.filePath(name))
	if err != nil {
		return nil, classifyMissing(err)
	}
	return f, nil
}

func (d dirBackend) Remove(_ context.Context, name string) error {
	if err := os.Remove(d.filePath(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

func (d dirBackend) List(_ context.Context, prefix string) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, classifyMissing(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (d dirBackend) Size(_ context.Context, name string) (int64, error) {
	st, err := os.Stat(d.filePath(name))
	if err != nil {
		return 0, classifyMissing(err)
	}
	return st.Size(), nil
}

type bucketBackend struct {
	client         *minio.Client
	bucket, prefix string
}

// partSize times the 10,000 parts that S3 allows is 320 GB.
const partSize = 32 << 20

func (b *bucketBackend) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	if _, err := b.Size(ctx, name); err == nil {
		return fmt.Errorf("blob: %s exists already in the bucket", name)
	}
	r, w := io.Pipe()
	wrote := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		wrote <- err
	}()
	_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, r, -1, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize, NumThreads: 1, SendContentMd5: true,
		DisableContentSha256: true,
	})
	r.CloseWithError(err)
	if werr := <-wrote; werr != nil {
		return werr
	}
	if err != nil {
		return classifyAnswer(ctx, err)
	}
	return nil
}

func (b *bucketBackend) Open(ctx context.Context, name string) (File, error) {
	o, err := b.client.GetObject(ctx, b.bucket, b.prefix+name, minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat()
	}
	if err != nil {
		return nil, classifyAnswer(ctx, err)
	}
	return o, nil
}

func (b *bucketBackend) Remove(ctx context.Context, name string) error {
	if err := b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}); err != nil {
		return classifyAnswer(ctx, err)
	}
	return nil
}

func (b *bucketBackend) List(ctx context.Context, prefix string) (names []string, err error) {
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix + prefix}) {
		if o.Err != nil {
			return nil, classifyAnswer(ctx, o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	return names, nil
}

func (b *bucketBackend) Size(ctx context.Context, name string) (int64, error) {
	st, err := b.client.StatObject(ctx, b.bucket, b.prefix+name, minio.StatObjectOptions{})
	if err != nil {
		return 0, classifyAnswer(ctx, err)
	}
	return st.Size, nil
}

// Room is how many bytes may still be written on the disk of a directory.
func Room(dir string) (uint64, error) { return availableBytes(dir) }
