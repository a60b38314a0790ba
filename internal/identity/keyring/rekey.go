package keyring

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/chain"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// Rekeying is a change of the master key.
type Rekeying struct {
	Old, New []byte        // 32 bytes each
	Overlap  time.Duration // how long the old API keys are taken beside the new ones
	Now      func() time.Time
	// Alone keeps servers away while the transaction runs that it begins, and
	// refuses one that is there; nil = nobody else can be.
	Alone func(tx *db.Tx) error
}

// Rekeyed says what a change of the master key did.
type Rekeyed struct {
	Done     bool     // nothing was left to do
	Values   int      // were sealed anew
	Sessions int64    // ended: the key of their refresh tokens is gone
	Codes    int64    // recovery codes made by versions whose hashes need the old key; they work no more
	Broken   []string // tenants whose audit chain was not whole, and whose head stays as it is
}

// rekeyBatch is how many sealed values are read at once.
const rekeyBatch = 500

// Rekey seals with another master key whatever is sealed, in one transaction:
// after a crash the database knows one of the keys, and the same call goes on.
// No server may run meanwhile. What is derived from the key and lies with
// others ends with it: API keys are renewed, every session ends.
func Rekey(ctx context.Context, d *db.DB, r Rekeying) (out Rekeyed, err error) {
	if r.Overlap < 0 {
		return out, fault.New(fault.Invalid, "validation_failed", "the old API keys cannot end before now")
	}
	old, err := secrets.New(r.Old)
	if err != nil {
		return out, err
	}
	b := &accounts.Base{DB: d, Tokens: accounts.NewTokenCache(), Now: func() time.Time {
		return r.Now().UTC().Truncate(time.Microsecond)
	}}
	if b.Secrets, err = secrets.New(r.New); err != nil {
		return out, err
	}
	audit.KeepKey(d, b.Secrets.Log)
	if bytes.Equal(r.Old, r.New) {
		return out, fault.New(fault.Invalid, "validation_failed", "the old master key and the new one are the same")
	}
	s := &Keyring{Base: b}
	err = s.Write(ctx, func(tx *db.Tx) (err error) {
		if r.Alone != nil {
			if err := r.Alone(tx); err != nil {
				return err
			}
		}
		out, err = s.changeKeys(tx, old, r.Overlap)
		return err
	})
	if err != nil {
		return Rekeyed{}, fmt.Errorf("identity: change the master key: %w", err)
	}
	return out, nil
}

func (s *Keyring) changeKeys(tx *db.Tx, old secrets.Keys, overlap time.Duration) (out Rekeyed, err error) {
	for c := range secrets.Columns {
		n, err := s.sealAgain(tx, old, c)
		if err != nil {
			return out, err
		}
		out.Values += n
	}
	fresh, err := s.derived(tx)
	if err != nil || fresh {
		out.Done = fresh && out.Values == 0
		return out, err
	}
	c := chain.Chain{DB: s.DB, Keys: s.Secrets, Now: s.Now}
	if out.Broken, err = c.Rekey(tx, old); err != nil {
		return out, err
	}
	if out.Codes, err = factor.DropKeyedCodes(tx); err != nil {
		return out, err
	}
	if out.Sessions, err = tx.Exec("DELETE FROM sessions"); err != nil {
		return out, err
	}
	if _, err = tx.Exec(`
		UPDATE api_keys
		SET revoked_at = $1
		WHERE name = 'default'
			AND revoked_at IS NULL`,
		s.Now().Add(overlap)); err != nil {
		return out, err
	}
	s.Audit(tx, accounts.Event{Action: "keys.master_changed",
		Details: map[string]any{"values": out.Values, "sessions": out.Sessions, "overlap_seconds": int(overlap.Seconds())}})
	return out, s.ensureAPIKeys(tx)
}

// derived reports that the API keys come from this master key already. A
// database without any is as good.
func (s *Keyring) derived(tx *db.Tx) (bool, error) {
	all := true
	err := tx.Query(`
		SELECT id, kind, hash
		FROM api_keys
		WHERE name = 'default'
			AND revoked_at IS NULL`, nil,
		func(r *db.Row) error {
			all = all && r.Text(2) == secrets.Digest(token.Opaque(prefixOf(r.Text(1)), r.Text(0), s.Secrets.API))
			return nil
		})
	return all, err
}

// sealAgain walks a column and returns how many values it sealed anew.
func (s *Keyring) sealAgain(tx *db.Tx, old secrets.Keys, c secrets.Column) (total int, err error) {
	type value struct {
		id     string
		sealed []byte
	}
	read := db.FillWords(`
		SELECT id, {name}
		FROM {table}
		WHERE {name} IS NOT NULL
			AND id > $1
		ORDER BY id
		LIMIT $2`, "{name}", c.Name(), "{table}", c.Table())
	write := db.FillWords(`
		UPDATE {table}
		SET {name} = $2
		WHERE id = $1`, "{table}", c.Table(), "{name}", c.Name())
	for last, n := db.NoTenant, rekeyBatch; n == rekeyBatch; {
		n = 0
		var changed []value
		err := tx.Query(read, []any{last, rekeyBatch}, func(r *db.Row) error {
			v := value{id: r.Text(0)}
			was := bytes.Clone(r.Bytes(1))
			if c.Text() {
				was = []byte(r.Text(1))
			}
			n, last = n+1, v.id
			if v.sealed, err = s.Secrets.Again(old, c, was, v.id); err != nil {
				return err
			}
			if !bytes.Equal(v.sealed, was) {
				changed = append(changed, v)
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		for _, v := range changed {
			var sealed any = v.sealed
			if c.Text() {
				sealed = string(v.sealed)
			}
			tx.Queue(write, []any{v.id, sealed}, nil)
		}
		if err := tx.Flush(); err != nil {
			return total, err
		}
		total += len(changed)
	}
	return total, nil
}
