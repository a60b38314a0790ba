// Package installation tells an installation from its copies. Its id stands in
// the database and in every place outside the data directory that it writes to: the
// store of uploaded files and the place of the backups. A restored copy gets an id
// of its own, so that it finds the original's id in those places and leaves them
// alone until its operator says which of the two it is.
//
// Layer: installation. Begin at [Installation].
package installation

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
)

// State says what an installation may do outside its data directory.
type State string

// States of an installation.
const (
	Original State = "original" // everything
	Restored State = "restored" // nothing, until its operator has decided
	Copy     State = "copy"     // everything, in places that no other installation owns
)

// Installation is what the database says about itself.
type Installation struct {
	ID         string
	Previous   string // the installation that the backup was made of; "" = it was not restored
	Backup     string // id of that backup
	State      State
	RestoredAt time.Time // zero = it was not restored
}

// IsHeld reports whether a restored copy still waits for the decision of its operator.
func (i Installation) IsHeld() bool { return i.State == Restored }

const readSQL = `
	SELECT id, previous, backup, state, restored_at
	FROM installation`

// Read returns the installation that a database is of; it is the zero value before
// the first start of a server.
func Read(ctx context.Context, d *db.DB) (is Installation, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		is, err = readIn(tx)
		return err
	})
	return is, err
}

func readIn(tx *db.Tx) (is Installation, err error) {
	err = tx.Query(readSQL, nil, func(r *db.Row) error {
		is = Installation{ID: r.Text(0), Previous: r.Text(1), Backup: r.Text(2), State: State(r.Text(3))}
		if !r.Null(4) {
			is.RestoredAt = r.Time(4)
		}
		return nil
	})
	if err != nil {
		return is, fmt.Errorf("installation: read: %w", err)
	}
	return is, nil
}

// $1 id, $2 state. Of two nodes that start at once the first one names it.
const beginSQL = `
	INSERT INTO installation (single, id, state)
	VALUES (1, $1, $2)
	ON CONFLICT (single) DO NOTHING`

// Begin returns the installation of a database, and gives a new database its id.
func Begin(ctx context.Context, d *db.DB) (is Installation, err error) {
	if is, err = Read(ctx, d); err != nil || is.ID != "" {
		return is, err
	}
	err = d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		if _, err = tx.Exec(beginSQL, db.NewID(), string(Original)); err != nil {
			return fmt.Errorf("installation: begin: %w", err)
		}
		is, err = readIn(tx)
		return err
	})
	return is, err
}

// $1 id, $2 state, $3 previous id or NULL, $4 backup, $5 now.
const renewSQL = `
	INSERT INTO installation (single, id, state, previous, backup, restored_at)
	VALUES (1, $1, $2, $3, $4, $5)
	ON CONFLICT (single) DO UPDATE
	SET id = excluded.id,
		state = excluded.state,
		previous = excluded.previous,
		backup = excluded.backup,
		restored_at = excluded.restored_at`

// Renew makes the database one of a new installation, restored from a backup, whose
// operator has not decided yet what it is.
func Renew(ctx context.Context, d *db.DB, backup string, now time.Time) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		was, err := readIn(tx)
		if err != nil {
			return err
		}
		var previous any
		if was.ID != "" {
			previous = was.ID
		}
		if _, err := tx.Exec(renewSQL, db.NewID(), string(Restored), previous, backup, now); err != nil {
			return fmt.Errorf("installation: renew: %w", err)
		}
		return nil
	})
}

// Decide says what a restored installation is: Original or Copy.
func Decide(ctx context.Context, d *db.DB, state State) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE installation SET state = $1", string(state)); err != nil {
			return fmt.Errorf("installation: decide: %w", err)
		}
		return nil
	})
}

// NumbersStep is how far, at the least, the sequences of a restored copy go ahead; of
// one that gave more numbers in its year they go ahead by a tenth.
const NumbersStep = 1000

// $1 the least step, $2 a tenth.
const advanceSQL = `
	UPDATE sequences
	SET value = value + CASE
		WHEN value / $2 > $1 THEN value / $2
		ELSE $1
	END`

// $1 the year, $2 the least step. The backup may be of the year before.
const beginYearSQL = `
	INSERT INTO sequences (tenant_id, name, year, value)
	SELECT tenant_id, name, $1, $2
	FROM sequences
	GROUP BY tenant_id, name
	HAVING MAX(year) = $1 - 1`

// AdvanceNumbers moves every sequence ahead, so that a restored copy never gives a
// number again that the original gave after the backup: an order number is known to
// customers, and an SSCC must not be given again within a year of the shipment (GS1
// General Specifications, rules for the SSCC).
func AdvanceNumbers(ctx context.Context, d *db.DB, made, now time.Time) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		if _, err := tx.Exec(advanceSQL, NumbersStep, 10); err != nil {
			return fmt.Errorf("installation: advance numbers: %w", err)
		}
		year := localtime.Year(now, time.UTC)
		if localtime.Year(made, time.UTC) == year {
			return nil
		}
		if _, err := tx.Exec(beginYearSQL, year, NumbersStep); err != nil {
			return fmt.Errorf("installation: advance numbers: %w", err)
		}
		return nil
	})
}
