package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"holdfast/bench/data"
	"holdfast/bench/load"
)

// What a backup is made beside: eight connections ask 200 times a second.
const (
	besideConns = 8
	besideEvery = 40 * time.Millisecond
)

// keptFile and keptFiles are the uploaded files of the installation that is
// backed up and restored.
const (
	keptFile  = 64 << 20
	keptFiles = 8
)

const sealedWith = "HOLDFAST_BACKUP_PASSPHRASE=measured with much care"

// backups measures how long clients wait while backups are made one after the
// other, and how long a restore takes that compares hashes and rows, against a copy of the
// same bytes. The generated stock has no movements that its levels would follow from.
func (m *measurement) backups(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tenant := data.Sized(1, int(134_000*m.scale))
	if err := errors.Join(s.fill(ctx, tenant), s.owner(ctx, tenant.ID), s.files()); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	token, err := s.token(ctx, tenant.ID)
	if err != nil {
		return err
	}
	shelf := filepath.Join(s.dir, "backups")
	if err := os.Mkdir(shelf, 0o700); err != nil {
		return err
	}
	var calm, busy [2][]load.Report // reads, inserts
	made := 0
	for i := range m.rounds {
		r, err := m.mixed(ctx, s, token, i)
		if err != nil {
			return err
		}
		loud, n, err := m.mixedBeside(ctx, s, token, shelf)
		if err != nil {
			return err
		}
		for k := range r {
			calm[k], busy[k] = append(calm[k], r[k]), append(busy[k], loud[k])
		}
		made += n
	}
	for k, what := range []string{"reads", "inserts"} {
		title := fmt.Sprintf("p99 of 200 %s a second beside a backup", what)
		if err := m.add(slower(title, engine, calm[k], busy[k], fmt.Sprintf("%d backups", made)).atMost(1.5,
			"")); err != nil {
			return err
		}
	}
	if err := s.server.stop(); err != nil {
		return err
	}
	s.server = nil
	return m.restored(ctx, s, shelf)
}

// files are uploaded ones, as the product keeps them; no record names them.
func (s *site) files() error {
	dir := filepath.Join(s.dir, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := make([]byte, keptFile)
	for i := range keptFiles {
		for j := 0; j < len(text); j += 4096 {
			text[j] = byte(i + j)
		}
		if err := os.WriteFile(filepath.Join(dir, uuid.NewString()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// mixed asks 200 times a second: for a list, then to write a record.
func (m *measurement) mixed(ctx context.Context, s *site, token string, round int) (both [2]load.Report, err error) {
	auth := []string{"Authorization: Bearer " + token, "Content-Type: application/json"}
	p := m.plan(s, s.server, besideConns, load.Request{Method: "GET", Path: "/v1/zones?limit=10", Header: auth,
		Status: http.StatusOK}, round)
	p.Every = besideEvery
	if both[0], err = measure(ctx, p); err != nil {
		return both, err
	}
	p.Request = load.Request{Method: "POST", Path: "/v1/orders", Header: auth,
		Body: `{"type":"outbound","party_name":"Beside"}`, Status: http.StatusCreated}
	p.Warm = 100 * time.Millisecond
	both[1], err = measure(ctx, p)
	return both, err
}

// mixedBeside is mixed while backups are made, and says how many were.
func (m *measurement) mixedBeside(
	ctx context.Context, s *site, token, shelf string,
) (loud [2]load.Report, made int, err error) {
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := s.backUp(ctx, shelf, made); err != nil {
				ended <- err
				return
			}
			made++
			select {
			case <-over:
				ended <- nil
				return
			default:
			}
		}
	}()
	loud, err = m.mixed(ctx, s, token, 1)
	close(over)
	err = errors.Join(err, <-ended)
	for i := range made - 1 { // removing a large file makes others wait, too: that is not what is measured
		err = errors.Join(err, os.Remove(numbered(shelf, i)))
	}
	if made > 0 {
		err = errors.Join(err, os.Rename(numbered(shelf, made-1), lastOf(shelf)))
	}
	return loud, made, err
}

// backUp leaves the nth backup of a round in shelf.
func (s *site) backUp(ctx context.Context, shelf string, n int) error {
	return s.sealed(ctx, "backup", numbered(shelf, n), "--data", s.dir, "--database", s.url)
}

func numbered(shelf string, n int) string { return filepath.Join(shelf, fmt.Sprintf("%d.backup", n)) }

func lastOf(shelf string) string { return filepath.Join(shelf, "last.backup") }

func (s *site) sealed(ctx context.Context, args ...string) error {
	if s.url == "" {
		args = args[:len(args)-2]
	}
	cmd := exec.CommandContext(ctx, s.o.server, args...)
	cmd.Env = append(os.Environ(), sealedWith)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return nil
}

// restored measures a restore of the embedded engine: PostgreSQL's is that of its
// own tools.
func (m *measurement) restored(ctx context.Context, s *site, shelf string) error {
	if s.url != "" {
		return nil
	}
	var ratios []float64
	var size int64
	var restore, plain time.Duration
	for i := range m.rounds {
		to := filepath.Join(s.dir, fmt.Sprintf("new-%d", i))
		begin := time.Now()
		if err := s.sealed(ctx, "restore", lastOf(shelf), "--verify=false", "--data", to, "--database", ""); err != nil {
			return err
		}
		restore = time.Since(begin)
		begin = time.Now()
		n, err := copyAll(to, to+"-copy")
		if err != nil {
			return err
		}
		size, plain = n, time.Since(begin)
		ratios = append(ratios, plain.Seconds()/restore.Seconds())
		if err := errors.Join(os.RemoveAll(to), os.RemoveAll(to+"-copy")); err != nil {
			return err
		}
	}
	return m.add(of("restore, hashes and rows compared", s.engine, ratios,
		fmt.Sprintf("of the speed of a copy; %d MB in %.1f s, copied in %.1f s", size>>20, restore.Seconds(),
			plain.Seconds())).atLeast(0.5, ""))
}

// copyAll copies the files of a directory, each made durable, and says how many
// bytes they have.
func copyAll(from, to string) (size int64, err error) {
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		n, err := copyFile(path, filepath.Join(to, rel))
		size += n
		return err
	})
	return size, err
}

func copyFile(from, to string) (int64, error) {
	r, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w, io.MultiReader(r)) // reads and writes, where a file system could share the blocks
	return n, errors.Join(err, w.Sync(), w.Close())
}
