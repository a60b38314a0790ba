package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Replica starts a server that follows c, as pg_basebackup makes one. It
// restarts c, which keeps no log to follow otherwise.
func (c *Cluster) Replica(ctx context.Context) (*Cluster, error) {
	conn, err := pgx.Connect(ctx, c.dsn)
	if err != nil {
		return nil, fmt.Errorf("pgtest: replica: %w", err)
	}
	for _, sql := range []string{"ALTER SYSTEM SET wal_level = replica", "ALTER SYSTEM SET max_wal_senders = 4"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, errors.Join(fmt.Errorf("pgtest: %s: %w", sql, err), conn.Close(ctx))
		}
	}
	if err := conn.Close(ctx); err != nil {
		return nil, err
	}
	if err := c.Crash(ctx); err != nil {
		return nil, err
	}
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	who, err := serverCredential()
	if err != nil {
		return nil, err
	}
	dir, err := makeFolder("", who)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err == nil {
		err = c.copyTo(ctx, bin, dir, port, who)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r := &Cluster{dir: dir, dsn: clusterDSN(dir, port), done: make(chan struct{})}
	if err := r.launchServer(bin, who); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := r.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func (c *Cluster) copyTo(ctx context.Context, bin, dir string, port int, who *syscall.Credential) error {
	data := filepath.Join(dir, "data")
	copied := exec.CommandContext(ctx, filepath.Join(bin, "pg_basebackup"), "-d", c.dsn, "-D", data, "-R", "-c", "fast",
		"--no-sync")
	copied.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	copied.Dir = dir
	if out, err := copied.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: pg_basebackup: %w\n%s", err, out)
	}
	f, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer f.Close()
	_, err = f.WriteString("port = " + strconv.Itoa(port) + "\nunix_socket_directories = '" + dir +
		"'\nwal_receiver_status_interval = 1\n")
	return err
}
