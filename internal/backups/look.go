package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/blob"
	"holdfast/internal/db"
)

// Log is what was shipped behind backups (setting backup_log).
type Log struct {
	ID    string // of the log that goes on; "" = none does
	Seq   int64  // of its last segment
	Bases []Base
}

// Base is a backup from which segments go on.
type Base struct {
	Name string `json:"name"`
	Log  string `json:"log"`
	Seq  int64  `json:"seq"` // of the last segment that it holds itself
}

// Lost is a backup that cannot be restored, or not to where it should lead.
type Lost struct {
	ID, Name string
	Why      string // without the name of the place
	isNew    bool
}

// Report is what a look at a place found.
type Report struct {
	Problem string // why the place could not be looked at; "" = it was
	Lost    []Lost
	back    []string // ids of backups that are there again
	pruned  []string // ids of those that were removed after the backup that this database comes from
}

// noted is a row of the ledger.
type noted struct {
	id, name, chain string
	size            int64
	isLost          bool
	isUnsure        bool // nobody looked for it since the restore
}

const notedSQL = `
	SELECT id, name, chain, bytes, lost_at, lost_why
	FROM backups
	WHERE place = $1
	ORDER BY made_at, id`

func (l *Ledger) listNoted(ctx context.Context) (list []noted, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		list = nil
		return tx.Query(notedSQL, []any{l.Place}, func(r *db.Row) error {
			list = append(list, noted{r.Text(0), r.Text(1), r.Text(2), r.Int(3), !r.Null(4),
				r.Null(4) && !r.Null(5)})
			return nil
		})
	})
	return list, err
}

// LookAtPlace compares what is in the place with what is noted of it: the file of every
// backup with its size, those of the chain before it, and the segments of the log
// behind it. It changes nothing; KeepReport notes what it found.
func (l *Ledger) LookAtPlace(ctx context.Context, place blob.Backend, log Log) (out Report, err error) {
	list, err := l.listNoted(ctx)
	if err != nil {
		return out, err
	}
	names, err := place.List(ctx, "")
	if err != nil {
		return Report{Problem: err.Error()}, nil
	}
	x := &looking{place: place, names: map[string]bool{}, broken: map[string]string{}, gaps: findGaps(names, log)}
	for _, name := range names {
		x.names[name] = true
	}
	for _, n := range list {
		if n.isUnsure && !x.names[n.name] {
			out.pruned = append(out.pruned, n.id)
			continue
		}
		why, err := x.explainLoss(ctx, n)
		if err != nil {
			return Report{Problem: err.Error()}, nil
		}
		if why == "" && (n.isLost || n.isUnsure) {
			out.back = append(out.back, n.id)
		}
		if why != "" {
			out.Lost = append(out.Lost, Lost{n.id, n.name, why, !n.isLost})
		}
	}
	return out, l.dropRemoved(ctx, &out)
}

// dropRemoved leaves out what was removed and forgotten while the look went on.
func (l *Ledger) dropRemoved(ctx context.Context, r *Report) error {
	if len(r.Lost) == 0 {
		return nil
	}
	list, err := l.listNoted(ctx)
	if err != nil {
		return err
	}
	r.Lost = slices.DeleteFunc(r.Lost, func(lost Lost) bool {
		return !slices.ContainsFunc(list, func(n noted) bool { return n.id == lost.ID })
	})
	return nil
}

// looking is one look under way.
type looking struct {
	place  blob.Backend
	names  map[string]bool
	broken map[string]string // the first file of a chain that is not as it was, by the chain
	gaps   map[string]string // the segment that is missing behind a backup, by the backup's name
}

// explainLoss says what is wrong with a backup; "" = nothing. Those of a chain come in the
// order in which they were made.
func (x *looking) explainLoss(ctx context.Context, n noted) (why string, err error) {
	if !x.names[n.name] {
		why = "its file is missing"
	} else if size, err := x.place.Size(ctx, n.name); err != nil {
		return "", err
	} else if size != n.size {
		why = fmt.Sprintf("its file has %d bytes, not %d", size, n.size)
	}
	before := x.broken[n.chain]
	if why != "" {
		if before == "" {
			x.broken[n.chain] = n.name
		}
		return why, nil
	}
	if before != "" {
		return "it stands on " + before + ", which is missing or changed", nil
	}
	if gap := x.gaps[n.name]; gap != "" {
		return "the segment " + gap + " of the log behind it is missing", nil
	}
	return "", nil
}

// findGaps finds the backups behind which a segment of the log is missing. Of a log that
// goes on the last segment is known; of another it is the last that is there.
func findGaps(names []string, log Log) map[string]string {
	gaps := map[string]string{}
	there := map[string]map[int64]bool{}
	for _, base := range log.Bases {
		if there[base.Log] == nil {
			there[base.Log] = listSegments(names, base.Log)
		}
		last := int64(0)
		if base.Log == log.ID {
			last = log.Seq
		}
		for seq := range there[base.Log] {
			last = max(last, seq)
		}
		for seq := base.Seq + 1; seq <= last; seq++ {
			if !there[base.Log][seq] {
				gaps[base.Name] = backup.SegmentName(base.Log, seq)
				break
			}
		}
	}
	return gaps
}

func listSegments(names []string, log string) map[int64]bool {
	out := map[int64]bool{}
	for _, name := range names {
		if seq := backup.SegmentSeq(log, name); seq > 0 {
			out[seq] = true
		}
	}
	return out
}

// $1 now, $2 why, $3 id.
const loseSQL = `
	UPDATE backups
	SET lost_at = $1,
		lost_why = $2
	WHERE id = $3`

const findAgainSQL = `
	UPDATE backups
	SET lost_at = NULL,
		lost_why = NULL
	WHERE id = $1`

// $1 place, $2 now, $3 problem, $4 how many are lost.
const lookedSQL = `
	INSERT INTO backup_places (place, looked_at, problem, lost)
	VALUES ($1, $2, $3, $4)
	ON CONFLICT (place) DO UPDATE
	SET looked_at = excluded.looked_at,
		problem = excluded.problem,
		lost = excluded.lost`

// KeepReport notes what a look found: lost backups count no more, those that are there again
// do.
func (l *Ledger) KeepReport(ctx context.Context, r Report) error {
	return l.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		for _, lost := range r.Lost {
			if !lost.isNew {
				continue
			}
			if _, err := tx.Exec(loseSQL, l.Now(), lost.Why, lost.ID); err != nil {
				return err
			}
		}
		for _, id := range r.back {
			if _, err := tx.Exec(findAgainSQL, id); err != nil {
				return err
			}
		}
		for _, id := range r.pruned {
			if _, err := tx.Exec(forgetSQL, id); err != nil {
				return err
			}
		}
		_, err := tx.Exec(lookedSQL, l.Place, l.Now(), textOrNull(r.Problem), len(r.Lost))
		return err
	})
}

// $1 why nothing is known of a backup.
const doubtSQL = `
	UPDATE backups
	SET lost_at = NULL,
		lost_why = $1`

const unlookedSQL = `
	UPDATE backup_places
	SET looked_at = NULL,
		problem = NULL,
		lost = 0`

// DoubtAll has the next look at a place take what is missing for pruned, not for lost:
// the database was restored, and backups that it notes were removed since.
func DoubtAll(ctx context.Context, d *db.DB) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		if _, err := tx.Exec(doubtSQL, "nobody looked for it since the restore"); err != nil {
			return err
		}
		_, err := tx.Exec(unlookedSQL)
		return err
	})
}

// NewlyLost are the backups that were there at the look before.
func (r Report) NewlyLost() []Lost {
	return slices.DeleteFunc(slices.Clone(r.Lost), func(l Lost) bool { return !l.isNew })
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Standing is what is noted of the place.
type Standing struct {
	LookedAt   time.Time // zero = nobody looked yet
	Problem    string    // why it could not be looked at
	Lost       int64
	AskedAt    time.Time // somebody asked for a drill; zero = nobody did since the last
	TriedAt    time.Time // the last drill; zero = there was none
	Failure    string    // of that drill
	ProvedAt   time.Time // the last drill that succeeded
	ProvedMade time.Time // when the backup was made that it restored
}

const standingSQL = `
	SELECT looked_at, problem, lost, asked_at, tried_at, failure, proved_at, proved_made
	FROM backup_places
	WHERE place = $1`

// ReadStanding returns what is noted of the place.
func (l *Ledger) ReadStanding(ctx context.Context) (out Standing, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = Standing{}
		return tx.Query(standingSQL, []any{l.Place}, func(r *db.Row) error {
			at := func(i int) (t time.Time) {
				if !r.Null(i) {
					t = r.Time(i)
				}
				return t
			}
			text := func(i int) (s string) {
				if !r.Null(i) {
					s = r.Text(i)
				}
				return s
			}
			out = Standing{LookedAt: at(0), Problem: text(1), Lost: r.Int(2), AskedAt: at(3), TriedAt: at(4),
				Failure: text(5), ProvedAt: at(6), ProvedMade: at(7)}
			if out.Failure == unended && l.Now().Sub(out.TriedAt) < drillTime {
				out.Failure = ""
			}
			return nil
		})
	})
	return out, err
}

// $1 place, $2 now, $3 when the backup was made.
const provedSQL = `
	INSERT INTO backup_places (place, lost, tried_at, proved_at, proved_made)
	VALUES ($1, 0, $2, $2, $3)
	ON CONFLICT (place) DO UPDATE
	SET asked_at = NULL,
		tried_at = excluded.tried_at,
		proved_at = excluded.proved_at,
		proved_made = excluded.proved_made,
		failure = NULL`

// $1 place, $2 now, $3 why.
const failedSQL = `
	INSERT INTO backup_places (place, lost, tried_at, failure)
	VALUES ($1, 0, $2, $3)
	ON CONFLICT (place) DO UPDATE
	SET asked_at = NULL,
		tried_at = excluded.tried_at,
		failure = excluded.failure`

// drillTime is how long a drill may be under way before it counts as one that did not end.
const drillTime = 6 * time.Hour

// unended is what is noted of a drill until it ends: one that takes the server with it is
// not tried again at once.
const unended = "it did not end: the server was killed"

// BeginDrill notes that a drill begins, and returns what was noted before.
func (l *Ledger) BeginDrill(ctx context.Context) (before Standing, err error) {
	if before, err = l.ReadStanding(ctx); err != nil {
		return before, err
	}
	return before, l.KeepDrill(ctx, time.Time{}, errors.New(unended))
}

// $1 place, $2 asked for, $3 tried, $4 failure.
const takeBackSQL = `
	UPDATE backup_places
	SET asked_at = $2,
		tried_at = $3,
		failure = $4
	WHERE place = $1`

// TakeBackDrill notes what was noted before a drill that was ended early.
func (l *Ledger) TakeBackDrill(ctx context.Context, before Standing) error {
	return l.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec(takeBackSQL, l.Place, timeOrNull(before.AskedAt), timeOrNull(before.TriedAt),
			textOrNull(before.Failure))
		return err
	})
}

func timeOrNull(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

// KeepDrill notes how a drill ended that restored the backup made then.
func (l *Ledger) KeepDrill(ctx context.Context, made time.Time, failed error) error {
	return l.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		if failed != nil {
			_, err = tx.Exec(failedSQL, l.Place, l.Now(), failed.Error())
		} else {
			_, err = tx.Exec(provedSQL, l.Place, l.Now(), made)
		}
		return err
	})
}

// $1 place, $2 now.
const askSQL = `
	INSERT INTO backup_places (place, lost, asked_at)
	VALUES ($1, 0, $2)
	ON CONFLICT (place) DO UPDATE
	SET asked_at = excluded.asked_at`

// AskForDrill makes a drill due.
func (l *Ledger) AskForDrill(ctx context.Context) error {
	return l.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec(askSQL, l.Place, l.Now())
		return err
	})
}
