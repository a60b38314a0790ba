package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

func medianOf(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// opened is the database of the patient, or why there is none.
type opened struct {
	db  *db.DB
	err error
}

var errNone = errors.New("there is no database yet")

// openDatabase opens the database once, when its schema lets it.
func (p *Patient) openDatabase(ctx context.Context) (*db.DB, error) {
	if p.database == nil {
		p.database = &opened{}
		o := db.Options{URL: p.Config.DatabaseURL, Dir: p.Config.Data, Pooler: p.Config.DatabasePooler == "transaction",
			PoolSize: 2}
		if s, err := db.State(ctx, o); err != nil {
			p.database.err = err
		} else if s.Fresh {
			p.database.err = errNone
		} else {
			p.database.db, p.database.err = db.Open(context.WithoutCancel(ctx), o)
		}
	}
	return p.database.db, p.database.err
}

func (p *Patient) closeDatabase() {
	if p.database != nil && p.database.db != nil {
		p.database.db.Close()
	}
}

// onDatabase runs a look that needs the database; without one it says nothing,
// because the look at the schema has said it.
func (p *Patient) onDatabase(ctx context.Context, only db.Engine, f func(*db.DB) ([]Finding, error)) []Finding {
	if only != "" && (only == db.PostgreSQL) != (p.Config.DatabaseURL != "") {
		return nil
	}
	d, err := p.openDatabase(ctx)
	if err != nil {
		return nil
	}
	found, err := f(d)
	if err != nil {
		return append(found, newFailure("holdfast doctor", "", "this could not be looked at: %v", err)...)
	}
	return found
}

func lookSchema(ctx context.Context, p *Patient) []Finding {
	s, err := db.State(ctx, db.Options{URL: p.Config.DatabaseURL, Dir: p.Config.Data})
	switch {
	case err != nil:
		return newFailure("holdfast status", "nothing works without it", "the database cannot be read: %v", err)
	case s.Fresh:
		return newWarning("holdfast serve", "it is made at the first start", "there is no schema yet")
	case s.Have > s.Want:
		return newFailure("install the newer Holdfast, or restore a backup of this one", "this program refuses it",
			"the schema %d is newer than this program, which knows %d", s.Have, s.Want)
	case s.Have < s.Want:
		return newFailure("holdfast upgrade check && holdfast migrate", "servers do not start or migrate at the start",
			"the schema is %d, this program needs %d", s.Have, s.Want)
	}
	gone, err := db.FindGone(ctx, db.Options{URL: p.Config.DatabaseURL, Dir: p.Config.Data})
	if err != nil {
		return newFailure("holdfast status", "nothing works without it", "the schema cannot be looked at: %v", err)
	}
	if len(gone) > 0 {
		return newFailure("put it back by SQL, or holdfast restore the last backup",
			"the server does not start: what is written would be lost or double", "%s is gone from the schema",
			strings.Join(gone, ", "))
	}
	if _, err := p.openDatabase(ctx); fault.HasCode(err, "25006") {
		return newFailure("have database_url lead to the primary, or name all servers in it: "+
			"postgres://user@one,two/holdfast?target_session_attrs=read-write", "a server does not start with it",
			"the database server is a standby, which takes no writes")
	} else if err != nil {
		return newFailure("holdfast status", "nothing works without it", "the database cannot be opened: %v", err)
	}
	return nil
}

// lookPages reads the whole embedded database, as far as patience lasts.
func lookPages(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, db.SQLite, func(*db.DB) ([]Finding, error) {
		err := db.Sound(ctx, p.Config.Data)
		if err == nil {
			return nil, nil
		}
		if ctx.Err() != nil {
			return newWarning("holdfast backup reads all of it", "a damaged page shows when it is read",
				"the database is too large to be read through in %s", patience), nil
		}
		return newFailure("holdfast restore the last backup, with --replace",
			"what lies on a damaged page is answered with 503 and is in no new backup", "the database is damaged: %v", err), nil
	})
}

// skew is how far clocks may differ: tokens are held to their times.
const skew = 5 * time.Second

func lookClock(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) (out []Finding, err error) {
		var server, newest time.Time
		err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			if d.Engine() == db.PostgreSQL {
				tx.Queue("SELECT clock_timestamp()", nil, func(r *db.Row) error { server = r.Time(0); return nil })
			}
			tx.Queue("SELECT MAX(seen_at) FROM audit_writers", nil, func(r *db.Row) error {
				if !r.Null(0) {
					newest = r.Time(0)
				}
				return nil
			})
			return tx.Flush()
		})
		if err != nil {
			return nil, err
		}
		const command, why = "timedatectl set-ntp true", "tokens, limits and deadlines go by it"
		now := p.Now()
		if off := now.Sub(server).Abs(); !server.IsZero() && off > skew {
			out = newFailure(command, why, "the clock differs from the database server's by %s", off.Round(time.Second))
		}
		if ahead := newest.Sub(now); ahead > skew {
			out = append(out, newFailure(command, why,
				"the clock is behind: the last sign of a server is of %s, in %s", newest.UTC().Format(time.RFC3339),
				ahead.Round(time.Second))...)
		}
		return out, nil
	})
}

func lookKeys(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(*db.DB) ([]Finding, error) {
		if err := p.Open(ctx); err != nil {
			return newFailure("put back the master.key that belongs to this database, or name it by master_key_file",
				"sealed secrets cannot be read", "the services do not open: %v", err), nil
		}
		return nil, nil
	})
}

func lookRowSecurity(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, db.PostgreSQL, func(d *db.DB) (out []Finding, err error) {
		open, err := d.Unfenced(ctx)
		for _, t := range open {
			out = append(out, newFailure("ALTER TABLE "+t+" ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
				"a query that forgets its tenant would show others' rows", "row level security is off or not forced on %s", t)...)
		}
		return out, err
	})
}

// orphanAge is how old a file must be to count: a younger one may be on its way.
const orphanAge = 26 * time.Hour

func lookFiles(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		named, err := fileKeys(ctx, d)
		if err != nil {
			return nil, err
		}
		files, err := blob.Open(ctx, p.Config.BlobURL, filepath.Join(p.Config.Data, "files"))
		if err != nil {
			return newFailure("holdfast config dump", "uploads and photos cannot be read", "the file store cannot be opened: %v",
				err), nil
		}
		defer files.Close()
		orphans := 0
		for f, err := range files.List(ctx) {
			if err != nil {
				return nil, err
			}
			if !named[f.Key] && p.Now().Sub(f.Kept) > orphanAge {
				orphans++
			}
			delete(named, f.Key)
		}
		var out []Finding
		if orphans > 0 {
			out = newWarning("a running server removes them within the hour", "they take room", "%d files have no record",
				orphans)
		}
		if len(named) > 0 {
			out = append(out, newFailure("holdfast restore the files from a backup", "uploads and photos are lost",
				"%d records have no file", len(named))...)
		}
		return out, nil
	})
}

// fileKeys are the keys that records name.
func fileKeys(ctx context.Context, d *db.DB) (map[string]bool, error) {
	columns, err := d.Columns(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		for table, c := range columns {
			for _, column := range blob.KeyColumns {
				if _, ok := c[column]; !ok {
					continue
				}
				tx.Queue(db.FillWords(`
					SELECT {column}
					FROM {table}
					WHERE {column} IS NOT NULL`, "{column}", column, "{table}", table), nil, func(r *db.Row) error {
					out[r.Text(0)] = true
					return nil
				})
			}
		}
		return tx.Flush()
	})
	return out, err
}

// lookCopy finds a restored copy that waits for a decision, and places outside that
// are another installation's.
func lookCopy(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(*db.DB) ([]Finding, error) {
		reason, err := p.Held(ctx)
		if err != nil || reason == "" {
			return nil, err
		}
		return newFailure("holdfast resume --as-original, or --as-copy",
			"a copy that takes itself for the original deletes its files and mails its people", "%s", reason), nil
	})
}

// lookPooler finds something that stands between and hands one connection to
// many clients, while statements are prepared by name.
func lookPooler(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, db.PostgreSQL, func(d *db.DB) ([]Finding, error) {
		if p.Config.DatabasePooler == "transaction" {
			return nil, nil
		}
		s, err := d.Surroundings(ctx)
		if err != nil || !s.Pooled {
			return nil, err
		}
		return newWarning("database_pooler = transaction, when it is PgBouncer in that mode",
			"prepared statements fail through a transaction pooler", "a pooler answers for the database server"), nil
	})
}

// lateReplica is how far behind a replica may be.
const lateReplica = 30 * time.Second

func lookReplicas(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, db.PostgreSQL, func(d *db.DB) (out []Finding, err error) {
		s, err := d.Surroundings(ctx)
		for _, r := range s.Replicas {
			if r.Hidden {
				return append(out, newWarning("GRANT pg_read_all_stats TO "+s.Login, "a failover loses what a replica lacks",
					"how far behind replicas are is hidden from %s", s.Login)...), err
			}
			if r.Behind > p.lateAfter() {
				out = append(out, newWarning("SELECT * FROM pg_stat_replication", "a failover now would lose so much",
					"the replica %s is %s behind", r.Name, r.Behind.Round(time.Second))...)
			}
		}
		return out, err
	})
}

func (p *Patient) lateAfter() time.Duration {
	if p.Late > 0 {
		return p.Late
	}
	return lateReplica
}

// mostReceivers bounds the hosts that are dialled.
const mostReceivers = 20

func lookWebhooks(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) (out []Finding, err error) {
		hosts := map[string]bool{}
		err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query(`
				SELECT url
				FROM webhooks
				WHERE status = 'active'
				ORDER BY id
				LIMIT 500`, nil,
				func(r *db.Row) error {
					if u, err := url.Parse(r.Text(0)); err == nil && len(hosts) < mostReceivers {
						hosts[receiverAddress(u)] = true
					}
					return nil
				})
		})
		for host := range hosts {
			if err := dialHost(ctx, host); err != nil {
				name, _, _ := strings.Cut(host, ":")
				command := fmt.Sprintf("curl -v https://%s/", name)
				out = append(out, newWarning(command, "events wait and are given up after five days",
					"the receiver %s cannot be reached: %v", host, err)...)
			}
		}
		return out, err
	})
}

func receiverAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
