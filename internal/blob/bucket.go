package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"holdfast/internal/fault"
)

// A Bucket is a store in a bucket of an S3 service. Files pass through a
// directory of this machine: an upload is sent when it is whole, so a client
// that breaks off leaves nothing in the bucket and a request that fails can be
// sent again; what is read is fetched first, so that a job does not stand on a
// connection of minutes.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string // before each key, with its slash
	spool  *Dir
}

// attempts is how often a request is sent before the service counts as away.
const attempts = 3

// patience is how long the service may take to begin its answer.
const patience = 10 * time.Second

// OpenBucket connects to a bucket. spool is the directory files pass through.
// A bucket that refuses is an error; one that cannot be reached is a line in
// the log, since only imports need it.
func OpenBucket(ctx context.Context, a Address, spool string) (*Bucket, error) {
	o := a.clientOptions()
	o.MaxRetries = attempts
	o.Transport = newTransport()
	c, err := minio.New(a.Host, o)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	d, err := OpenDir(spool)
	if err != nil {
		return nil, err
	}
	b := &Bucket{client: c, bucket: a.Bucket, prefix: a.Prefix, spool: d}
	if err := b.probeBucket(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return b, nil
}

// newTransport is net/http's, with an end to waiting and without a proxy from the
// environment.
func newTransport() http.RoundTripper {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: patience, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   patience,
		ResponseHeaderTimeout: patience,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   8,
		DisableCompression:    true, // bytes as they are kept
	}
}

// probeBucket lists one name, the least that the key must be allowed to.
func (b *Bucket) probeBucket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix, MaxKeys: 1}) {
		if o.Err == nil {
			break
		}
		if r := minio.ToErrorResponse(o.Err); r.StatusCode >= 400 && r.StatusCode < 500 {
			return fmt.Errorf("blob: bucket %s: %s: %w", b.bucket, r.Code, o.Err)
		}
		slog.Warn("the file store cannot be reached; imports wait for it", "bucket", b.bucket, "error", o.Err)
		break
	}
	return nil
}

// Close implements Store.
func (b *Bucket) Close() error { return b.spool.Close() }

// Put implements Store. An object appears in its bucket when all of it has
// arrived, so the service needs no temporary name.
func (b *Bucket) Put(ctx context.Context, r io.Reader, limit int64) (ref Ref, err error) {
	if ref, err = newRef(); err != nil {
		return Ref{}, err
	}
	name := temporary + ref.Key
	defer func() {
		if err = errors.Join(err, b.spool.removeFile(name)); err != nil {
			ref = Ref{}
		}
	}()
	if err := b.spool.gatherFile(ctx, &ref, r, limit); err != nil {
		return Ref{}, classifyFull(err)
	}
	f, err := b.spool.root.Open(name)
	if err != nil {
		return Ref{}, fmt.Errorf("blob: %w", err)
	}
	defer f.Close()
	_, err = b.client.PutObject(ctx, b.bucket, b.prefix+ref.Key, f, ref.Size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: true,
		SendContentMd5: true, DisableContentSha256: true, // the digest in the signed header vouches for the body
	})
	if err != nil {
		// The service may have kept it all the same: nothing names it then, and
		// the sweep of orphans finds it.
		return Ref{}, classifyAnswer(ctx, err)
	}
	return ref, nil
}

// Open implements Store: the file is fetched into the spool.
func (b *Bucket) Open(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	if !isValidKey(key) {
		return nil, notFoundFault(nil)
	}
	o, err := b.client.GetObject(ctx, b.bucket, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, classifyAnswer(ctx, err)
	}
	defer o.Close()
	st, err := o.Stat()
	if err != nil {
		return nil, classifyAnswer(ctx, err)
	}
	local, err := newRef()
	if err != nil {
		return nil, err
	}
	name := temporary + local.Key
	sent := &sender{r: o}
	err = b.spool.gatherFile(ctx, &local, sent, st.Size)
	if sent.err != nil {
		err = classifyAnswer(ctx, sent.err)
	}
	if err == nil && local.Size != st.Size {
		err = classifyAnswer(ctx, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, errors.Join(classifyFull(err), b.spool.removeFile(name))
	}
	return b.spool.openSpooled(name)
}

// openSpooled opens a spooled file, which goes when it is closed.
func (d *Dir) openSpooled(name string) (io.ReadSeekCloser, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return &spooled{File: f, gone: func() error { return d.removeFile(name) }}, nil
}

type spooled struct {
	*os.File
	gone func() error
}

func (s *spooled) Close() error { return errors.Join(s.File.Close(), s.gone()) }

// sender remembers that it was the service that broke off, not the disk.
type sender struct {
	r   io.Reader
	err error
}

func (s *sender) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Stat implements Store.
func (b *Bucket) Stat(ctx context.Context, key string) (Info, error) {
	if !isValidKey(key) {
		return Info{}, notFoundFault(nil)
	}
	o, err := b.client.StatObject(ctx, b.bucket, b.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return Info{}, classifyAnswer(ctx, err)
	}
	return Info{Key: key, Size: o.Size, Kept: o.LastModified}, nil
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if !isValidKey(key) {
		return notFoundFault(nil)
	}
	err := b.client.RemoveObject(ctx, b.bucket, b.prefix+key, minio.RemoveObjectOptions{})
	if err == nil {
		return nil
	}
	if err = classifyAnswer(ctx, err); fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// List implements Store. Objects with other names are somebody else's.
func (b *Bucket) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}) {
			if o.Err != nil {
				yield(Info{}, classifyAnswer(ctx, o.Err))
				return
			}
			key := strings.TrimPrefix(o.Key, b.prefix)
			if isValidKey(key) && !yield(Info{Key: key, Size: o.Size, Kept: o.LastModified}, nil) {
				return
			}
		}
	}
}

// SweepTemporary implements Store, for the spool.
func (b *Bucket) SweepTemporary(age time.Duration) (int, error) { return b.spool.SweepTemporary(age) }

// classifyAnswer classifies what the service answered, or that it did not. Its message
// goes to the log, never to a client.
func classifyAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("blob: %w", ctx.Err())
	}
	r := minio.ToErrorResponse(err)
	if r.Code == minio.NoSuchKey {
		return notFoundFault(err)
	}
	if r.StatusCode == http.StatusInsufficientStorage {
		return fault.Wrap(err, fault.NoSpace, "no_space", "the file store is full")
	}
	f := fault.Wrap(err, fault.Unavailable, "files_away", "the file store cannot be reached: try again")
	f.RetryAfter = 5 * time.Second
	return f
}
