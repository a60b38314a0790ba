package staged

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/db"
)

// IDSet is a set of ids in sixteen bytes each, in order.
type IDSet [][16]byte

// Has reports that an id is in the set.
func (s IDSet) Has(id string) bool {
	u, err := uuid.Parse(id)
	_, there := slices.BinarySearchFunc(s, u, func(x [16]byte, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
	return err == nil && there
}

// MadeBy reads which records of a resource a job made.
func MadeBy(tx *db.Tx, tenant, job, resource string) (IDSet, error) {
	var out IDSet
	err := tx.Query(`
		SELECT data
		FROM import_snapshots
		WHERE tenant_id = $1
			AND job_id = $2
			AND entity_type = $3
			AND op = 'insert'`,
		[]any{tenant, job, resource}, func(r *db.Row) error {
			for b := range slices.Chunk(r.Bytes(0), 16) {
				if len(b) < 16 {
					return ErrSnapshot
				}
				out = append(out, [16]byte(b))
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("imports: read what the job made: %w", err)
	}
	slices.SortFunc(out, func(x, y [16]byte) int { return bytes.Compare(x[:], y[:]) })
	return out, nil
}
