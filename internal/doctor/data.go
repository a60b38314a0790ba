package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// mostNamed is how many things of one kind are named; of the others only the number is told.
const mostNamed = 10

// nameSome lists what was found, a finding each, and how many more there are.
func nameSome(list []string, tell func(string) []Finding) (out []Finding) {
	for i, text := range list {
		if i == mostNamed {
			more := out[0]
			more.What = fmt.Sprintf("and %d more", len(list)-i)
			return append(out, more)
		}
		out = append(out, tell(text)...)
	}
	return out
}

// lookWrites tries a write and undoes it.
func lookWrites(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		err := d.TryWrite(ctx)
		if err == nil {
			return nil, nil
		}
		command := "df -h " + p.Config.Data + "; ls -l " + p.Config.Data
		if d.Engine() == db.PostgreSQL {
			command = "SHOW default_transaction_read_only; SELECT pg_is_in_recovery()"
		}
		return newFailure(command, "every change is refused with 503", "nothing can be written: %s",
			fault.As(err).Msg), nil
	})
}

// lookLogOfCommits finds that the database went back to before what was committed.
func lookLogOfCommits(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, db.SQLite, func(d *db.DB) ([]Finding, error) {
		mark, err := d.FindLostCommits(ctx)
		if err != nil || mark == nil {
			return nil, err
		}
		return newFailure(
			"put back holdfast.db-wal if it was moved, or holdfast restore the last backup; then rm "+mark.Path,
			"what was acknowledged is not there any more",
			"the database lacks what was committed before %s: its log (holdfast.db-wal) was deleted after a crash, "+
				"or an older file was put in its place", mark.At.UTC().Format(time.RFC3339)), nil
	})
}

// lookTotals recounts what is kept beside the records.
func lookTotals(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(*db.DB) ([]Finding, error) {
		if p.Recount == nil {
			return nil, nil
		}
		list, err := p.Recount(ctx)
		if ctx.Err() != nil {
			return newUnfinished("holdfast verify takes the time it needs",
				"a total that is wrong shows on pages and in lists", "the records were not all recounted"), nil
		}
		return nameSome(list, func(text string) []Finding {
			return newFailure(
				"holdfast verify names all; --repair puts counters right, a count (stocktake) puts stock right",
				"pages and lists show it, and orders promise it", "a total is wrong: %s", text)
		}), err
	})
}

// lookAudit recomputes the chains of the audit log.
func lookAudit(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(*db.DB) ([]Finding, error) {
		if p.AuditBreaks == nil {
			return nil, nil
		}
		list, err := p.AuditBreaks(ctx)
		if ctx.Err() != nil {
			return newUnfinished("holdfast verify --audit takes the time it needs",
				"a row that was changed shows there",
				"the audit log was not verified to its end"), nil
		}
		return nameSome(list, func(text string) []Finding {
			return newFailure("holdfast verify --audit, and keep a copy of the database for whoever looks into it",
				"somebody changed, removed or added what the log tells", "the audit log is broken: %s", text)
		}), err
	})
}

// pastColumns hold moments that have been, in whatever table has them.
var pastColumns = []string{"created_at", "updated_at", "made_at", "done_at", "seen_at", "at"}

// lookMoments finds rows that were written by a clock which was ahead.
func lookMoments(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		columns, err := d.Columns(ctx)
		if err != nil {
			return nil, err
		}
		var found []string
		err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			found = nil
			for _, table := range slices.Sorted(maps.Keys(columns)) {
				p.queueMoments(tx, table, columns[table], &found)
			}
			return tx.Flush()
		})
		if ctx.Err() != nil {
			return newUnfinished("holdfast doctor when there is less to do",
				"deadlines and orders of rows go by moments",
				"the moments of rows were not all looked at"), nil
		}
		return nameSome(found, func(text string) []Finding {
			return newWarning("timedatectl set-ntp true; what is there already is right when its moment has come",
				"it sorts before what is newer, and what is due by it comes late",
				"rows are ahead of the clock, which was ahead when they were written: %s", text)
		}), err
	})
}

func (p *Patient) queueMoments(tx *db.Tx, table string, columns map[string]string, found *[]string) {
	for _, column := range pastColumns {
		if _, ok := columns[column]; !ok {
			continue
		}
		sql := db.FillWords(`
			SELECT COUNT(*), MAX({column})
			FROM {table}
			WHERE {column} > $1`, "{column}", column, "{table}", table)
		tx.Queue(sql, []any{p.Now().Add(skew)}, func(r *db.Row) error {
			if n := r.Int(0); n > 0 {
				*found = append(*found, fmt.Sprintf("%s of %s by %s, the latest of %s",
					fault.Counted(n, "row", "rows"), table, column, r.Time(1).UTC().Format(time.RFC3339)))
			}
			return nil
		})
	}
}

const ownerlessSQL = `
	SELECT slug
	FROM tenants
	WHERE status = 'active'
		AND NOT EXISTS (
			SELECT 1
			FROM members
			WHERE members.tenant_id = tenants.id
				AND members.role = 'owner'
				AND members.status = 'active'
		)
	ORDER BY slug`

// lookOwners finds tenants that nobody can hand on.
func lookOwners(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		list, err := readTexts(ctx, d, ownerlessSQL, func(r *db.Row) string { return r.Text(0) })
		return nameSome(list, func(slug string) []Finding {
			return newWarning("holdfast admin create YOU@EXAMPLE.COM --tenant "+slug,
				"nobody can name owners, change its settings or end it", "the tenant %s has no active owner", slug)
		}), err
	})
}

const givenUpSQL = `
	SELECT kind, COUNT(*)
	FROM jobs
	WHERE status = 'failed'
	GROUP BY kind
	ORDER BY kind`

// lookJobs finds work of the background that was given up.
func lookJobs(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		list, err := readTexts(ctx, d, givenUpSQL, func(r *db.Row) string {
			return fmt.Sprintf("%s %d", r.Text(0), r.Int(1))
		})
		return nameSome(list, func(text string) []Finding {
			kind, n, _ := strings.Cut(text, " ")
			return newWarning("holdfast jobs list "+kind+" --status failed, then holdfast jobs retry "+kind,
				"nobody tries them again by itself", "jobs of kind %s were given up: %s", kind, n)
		}), err
	})
}

func readTexts(ctx context.Context, d *db.DB, sql string, text func(*db.Row) string) (out []string, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = nil
		return tx.Query(sql, nil, func(r *db.Row) error {
			out = append(out, text(r))
			return nil
		})
	})
	return out, err
}
