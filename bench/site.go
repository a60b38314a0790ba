package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/bench/data"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/secrets"
	"holdfast/internal/testkit/pgtest"
)

// site is a database of one engine with the product and a limit server on it.
type site struct {
	o       options
	engine  string
	dir     string
	url     string // PostgreSQL; empty on SQLite
	cluster *pgtest.Cluster
	pids    []int // of PostgreSQL
	server  *process
	limit   *process
}

const password = "measured-with-care"

// newSite makes an empty, migrated database.
func newSite(ctx context.Context, o options, engine string) (*site, error) {
	dir, err := os.MkdirTemp(o.dir, "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	s := &site{o: o, engine: engine, dir: dir}
	if engine == "postgresql" {
		if err := s.startCluster(ctx); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	d, err := s.open(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, d.Close()
}

// openedSite is a site with these tenants, an owner in each, and the product
// started on it.
func openedSite(ctx context.Context, o options, engine string, tenants ...data.Tenant) (*site, error) {
	s, err := newSite(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx, tenants); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) settle(ctx context.Context, tenants []data.Tenant) error {
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.owner(ctx, t.ID); err != nil {
			return err
		}
	}
	return s.start(ctx)
}

func (s *site) open(ctx context.Context) (*db.DB, error) {
	d, err := db.Open(ctx, db.Options{URL: s.url, Dir: s.dir, Migrate: true})
	if err != nil {
		return nil, err
	}
	keys, err := s.keys()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	audit.KeepKey(d, keys.Log)
	return d, nil
}

// keys are those of the product that will run here: it finds its master key made.
func (s *site) keys() (secrets.Keys, error) {
	path := filepath.Join(s.dir, "master.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		master := make([]byte, secrets.MasterSize)
		rand.Read(master)
		text = []byte(base64.StdEncoding.EncodeToString(master))
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return secrets.Keys{}, err
	}
	master, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return secrets.Keys{}, fmt.Errorf("%s: %w", path, err)
	}
	return secrets.New(master)
}

// startCluster starts a PostgreSQL that keeps its promises: the test suite's
// own does not wait for the disk.
func (s *site) startCluster(ctx context.Context) error {
	c, err := pgtest.Start(ctx)
	if err != nil {
		return err
	}
	s.cluster = c
	conn, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range []string{"alter system set fsync = on", "alter system set synchronous_commit = on",
		"alter system set full_page_writes = on",
		"alter system set max_wal_size = '4GB'", "select pg_reload_conf()",
		"create database bench template template0 encoding 'UTF8' locale 'C'"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	u, err := url.Parse(c.DSN())
	if err != nil {
		return err
	}
	u.Path = "/bench"
	s.url = u.String()
	text, err := os.ReadFile(filepath.Join(u.Query().Get("host"), "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	s.pids = []int{pid}
	return err
}

// sql runs statements as the database's owner; nothing on SQLite.
func (s *site) sql(ctx context.Context, list ...string) error {
	if s.url == "" {
		return nil
	}
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, q := range list {
		if _, err := conn.Exec(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// fill writes tenants and settles the database.
func (s *site) fill(ctx context.Context, tenants ...data.Tenant) error {
	begin, rows := time.Now(), 0
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	to, leave, err := s.target(ctx, d)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	defer leave()
	for _, t := range tenants {
		if err := data.Write(ctx, to, t, time.Now()); err != nil {
			return errors.Join(err, d.Close())
		}
		rows += t.Rows()
	}
	if err := d.Close(); err != nil {
		return err
	}
	if err := s.sql(ctx, "vacuum analyze", "checkpoint"); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d records in %.1f s\n", s.engine, rows, time.Since(begin).Seconds())
	return nil
}

// target is where generated records go: on PostgreSQL past the keys, which the
// rows agree with. leave ends its connection.
func (s *site) target(ctx context.Context, d *db.DB) (to data.Target, leave func(), err error) {
	to = data.Target{DB: d}
	if s.url == "" {
		return to, func() {}, nil
	}
	if to.Owner, err = pgx.Connect(ctx, s.url); err != nil {
		return to, nil, err
	}
	_, err = to.Owner.Exec(ctx, "set session_replication_role = replica")
	return to, func() { to.Owner.Close(context.Background()) }, err
}

// start starts the product.
func (s *site) start(ctx context.Context) (err error) {
	s.server, err = s.o.serve(ctx, s.dir, s.url)
	return err
}

// answerFile is where the answer of the cached function lies for others to give.
const answerFile = "answer.json"

// startLimit starts the hand-written server for a tenant.
func (s *site) startLimit(ctx context.Context, tenant string, body []byte) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, answerFile)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return err
	}
	args := []string{"limit", "-listen", address, "-tenant", tenant, "-body", file}
	if s.url != "" {
		args = append(args, "-database", s.url)
	} else {
		args = append(args, "-data", s.dir)
	}
	cmd, err := self(ctx, args...)
	if err != nil {
		return err
	}
	s.limit, err = launch(ctx, "/", cmd, address)
	return err
}

func (s *site) close() error {
	err := errors.Join(s.limit.stop(), s.server.stop())
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// owner makes an account for a tenant; the product must not be running on an
// embedded database it is made in.
func (s *site) owner(ctx context.Context, tenant string) error {
	return s.o.tool(ctx, s.dir, s.url, "admin", "create", address(tenant), "--tenant", tenant, "--password", password)
}

func address(tenant string) string { return "owner-" + tenant[24:] + "@bench.example" }

// token signs in.
func (s *site) token(ctx context.Context, tenant string) (string, error) {
	body, err := json.Marshal(map[string]string{"email": address(tenant), "password": password})
	if err != nil {
		return "", err
	}
	var session struct {
		AccessToken string `json:"access_token"`
	}
	raw, err := s.call(ctx, "POST", "/auth/v1/token?grant_type=password", "", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(raw, &session); err != nil || session.AccessToken == "" {
		return "", fmt.Errorf("no access token in %s", raw)
	}
	return session.AccessToken, nil
}

// call sends one request to the product and returns the body of a 2xx answer.
func (s *site) call(ctx context.Context, method, path, token, kind string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.server.address+path, body)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, raw)
	}
	return raw, err
}
