// Package backups knows which backups were made, and whether the place of the
// scheduled ones still holds them: a disk that is not mounted, a bucket that somebody
// emptied or a rule that removes old files shows when it happens, not when a backup is
// needed.
//
// Layer: catalog and access. Begin at [Ledger].
package backups

import (
	"context"
	"time"

	"holdfast/internal/db"
)

// Ledger is what the database notes of the backups in one place.
type Ledger struct {
	DB    *db.DB
	Now   func() time.Time
	Place string // directory or bucket, without secrets
}

// Note is one backup that was made.
type Note struct {
	ID        string
	Made      time.Time
	Place     string // without secrets
	Name      string
	Size      int64
	Scheduled bool
	Bases     []string // ids of the backups that it needs files of
}

const chainSQL = `
	SELECT chain
	FROM backups
	WHERE id = $1`

const addSQL = `
	INSERT INTO backups (id, made_at, place, name, bytes, scheduled, chain)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`

// AddBackup notes a backup, in the chain of those that it needs files of.
func AddBackup(ctx context.Context, d *db.DB, n Note) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		chain := n.ID
		for _, id := range n.Bases {
			tx.Queue(chainSQL, []any{id}, func(r *db.Row) error { chain = r.Text(0); return nil })
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		_, err := tx.Exec(addSQL, n.ID, n.Made, n.Place, n.Name, n.Size, n.Scheduled, chain)
		return err
	})
}

// $1 place, $2 true, $3 since when.
const recentSQL = `
	SELECT COUNT(*)
	FROM backups
	WHERE place = $1
		AND scheduled = $2
		AND made_at > $3`

// CountSince counts the backups that the server made since then, with those lost again.
func (l *Ledger) CountSince(ctx context.Context, since time.Time) (n int64, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(recentSQL, []any{l.Place, true, since}, func(r *db.Row) error { n = r.Int(0); return nil })
	})
	return n, err
}

// Newest is the newest backup that can be restored.
type Newest struct {
	Made     time.Time // zero = there is none
	Place    string
	Name     string
	Size     int64
	HasLost  bool // a newer one was lost
	ForTrial bool // it was made by the server
}

const newestSQL = `
	SELECT made_at, place, name, bytes, scheduled, lost_at
	FROM backups
	WHERE place = $1
	ORDER BY made_at DESC, id DESC`

// ReadNewest returns the newest backup of the place that can be restored.
func (l *Ledger) ReadNewest(ctx context.Context) (out Newest, err error) {
	return l.readNewest(ctx, func(Newest) bool { return true })
}

// ReadNewestScheduled returns the newest one that the server made.
func (l *Ledger) ReadNewestScheduled(ctx context.Context) (out Newest, err error) {
	return l.readNewest(ctx, func(n Newest) bool { return n.ForTrial })
}

func (l *Ledger) readNewest(ctx context.Context, isWanted func(Newest) bool) (out Newest, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = Newest{}
		return tx.Query(newestSQL, []any{l.Place}, func(r *db.Row) error {
			n := Newest{Made: r.Time(0), Place: r.Text(1), Name: r.Text(2), Size: r.Int(3), ForTrial: r.Bool(4)}
			if !out.Made.IsZero() || !isWanted(n) {
				return nil
			}
			if !r.Null(5) {
				out.HasLost = true
				return nil
			}
			n.HasLost = out.HasLost
			out = n
			return nil
		})
	})
	return out, err
}

const newestAnywhereSQL = `
	SELECT made_at, place, name, bytes
	FROM backups
	WHERE lost_at IS NULL
	ORDER BY made_at DESC, id DESC
	LIMIT 1`

// ReadNewestAnywhere returns the newest backup of any place.
func ReadNewestAnywhere(ctx context.Context, d *db.DB) (out Newest, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = Newest{}
		return tx.Query(newestAnywhereSQL, nil, func(r *db.Row) error {
			out = Newest{Made: r.Time(0), Place: r.Text(1), Name: r.Text(2), Size: r.Int(3)}
			return nil
		})
	})
	return out, err
}

const linksSQL = `
	SELECT COUNT(*), COUNT(lost_at)
	FROM backups
	WHERE chain IN (SELECT chain FROM backups WHERE id = $1)`

// CountLinks counts the backups that stand on the same whole one as this, with it; 0
// when one of them was lost.
func (l *Ledger) CountLinks(ctx context.Context, id string) (n int, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(linksSQL, []any{id}, func(r *db.Row) error {
			if n = int(r.Int(0)); r.Int(1) > 0 {
				n = 0
			}
			return nil
		})
	})
	return n, err
}

// $1 place, $2 true, $3 how many are kept, $4 false.
const surplusSQL = `
	SELECT id, name
	FROM backups
	WHERE place = $1
		AND scheduled = $2
		AND lost_at IS NULL
		AND chain NOT IN (
			SELECT chain
			FROM (
				SELECT chain
				FROM backups
				WHERE place = $1
					AND scheduled = $2
					AND lost_at IS NULL
				ORDER BY made_at DESC, id DESC
				LIMIT $3
			) AS kept
		)
		AND chain NOT IN (
			SELECT chain
			FROM backups
			WHERE scheduled = $4
		)
	ORDER BY made_at DESC, id DESC
	LIMIT 1000`

// ListSurplus lists the scheduled backups of the place past those that are kept, but
// for those of a chain of which one is kept, or one was made by hand. Lost ones take
// no place among those that are kept.
func (l *Ledger) ListSurplus(ctx context.Context, keep int) (list []Note, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		list = nil
		return tx.Query(surplusSQL, []any{l.Place, true, keep, false}, func(r *db.Row) error {
			list = append(list, Note{ID: r.Text(0), Name: r.Text(1)})
			return nil
		})
	})
	return list, err
}

const forgetSQL = "DELETE FROM backups WHERE id = $1"

// ForgetBackup drops the note of a backup whose file was removed.
func (l *Ledger) ForgetBackup(ctx context.Context, id string) error {
	return l.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec(forgetSQL, id)
		return err
	})
}

// $1 place, $2 true, $3 how many are kept less one.
const forgetLostSQL = `
	DELETE FROM backups
	WHERE place = $1
		AND lost_at IS NOT NULL
		AND made_at < (
			SELECT made_at
			FROM backups
			WHERE place = $1
				AND scheduled = $2
				AND lost_at IS NULL
			ORDER BY made_at DESC, id DESC
			LIMIT 1 OFFSET $3
		)`

// ForgetLost drops the notes of lost backups that would have been removed by now.
func (l *Ledger) ForgetLost(ctx context.Context, keep int) error {
	return l.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec(forgetLostSQL, l.Place, true, keep-1)
		return err
	})
}

const namesSQL = `
	SELECT name
	FROM backups
	WHERE place = $1`

// ListNames lists the files of the backups in the place.
func (l *Ledger) ListNames(ctx context.Context) (names []string, err error) {
	err = l.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		names = nil
		return tx.Query(namesSQL, []any{l.Place}, func(r *db.Row) error {
			names = append(names, r.Text(0))
			return nil
		})
	})
	return names, err
}
