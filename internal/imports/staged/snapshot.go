package staged

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// What an import did is kept per batch: of new records the ids alone, of
// changed ones the fields as they were and the version the import left.

// ErrSnapshot: what was kept of changed records cannot be read.
var ErrSnapshot = errors.New("imports: a snapshot is damaged")

// LastSnapshot is the number of a job's newest batch, 0 when it has none.
func LastSnapshot(tx *db.Tx, tenant, job string) (seq int, err error) {
	err = tx.One(`
		SELECT COALESCE(MAX(seq), 0)
		FROM import_snapshots
		WHERE tenant_id = $1
			AND job_id = $2`,
		[]any{tenant, job}, func(r *db.Row) error {
			seq = int(r.Int(0))
			return nil
		})
	if err != nil {
		return 0, fmt.Errorf("imports: read snapshots: %w", err)
	}
	return seq, nil
}

// PackIDs packs the ids of records that were made.
func PackIDs(ids []string) []byte {
	b := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		u, err := uuid.Parse(id)
		if err != nil {
			u = uuid.Nil
		}
		b = append(b, u[:]...)
	}
	return b
}

// UnpackIDs undoes PackIDs, or answers ErrSnapshot.
func UnpackIDs(b []byte) ([]string, error) {
	if len(b)%16 != 0 {
		return nil, ErrSnapshot
	}
	ids := make([]string, 0, len(b)/16)
	for ; len(b) > 0; b = b[16:] {
		ids = append(ids, uuid.UUID(b[:16]).String())
	}
	return ids, nil
}

// Image is one changed record: Before holds the fields the import changed,
// with updated_at, as JSON, and After what it made of them.
type Image struct {
	ID      string                     `json:"id"`
	Version int64                      `json:"v"` // after the import
	Was     int64                      `json:"w"` // before it
	Before  map[string]json.RawMessage `json:"b"`
	After   map[string]json.RawMessage `json:"a"`
}

// PackImages packs what changes of r were before, for a rollback.
func PackImages(r *catalog.Resource, changes []store.Change) ([]byte, error) {
	list := make([]Image, len(changes))
	for i, c := range changes {
		im := Image{Before: map[string]json.RawMessage{}, After: map[string]json.RawMessage{}}
		im.ID, _ = c.After["id"].(string)
		im.Version, _ = c.After["version"].(int64)
		im.Was, _ = c.Before["version"].(int64)
		for _, n := range append(store.Differing(c), "updated_at") {
			was, err := json.Marshal(c.Before[n])
			is, errAfter := json.Marshal(c.After[n])
			if err := errors.Join(err, errAfter); err != nil {
				return nil, fmt.Errorf("imports: snapshot: %w", err)
			}
			im.Before[n], im.After[n] = was, is
		}
		list[i] = im
	}
	return PackList(list)
}

// PackList packs images.
func PackList(list []Image) ([]byte, error) {
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("imports: snapshot: %w", err)
	}
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("imports: snapshot: %w", err)
	}
	_, err = z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("imports: snapshot: %w", err)
	}
	return b.Bytes(), nil
}

// UnpackImages undoes PackImages and PackList, or answers ErrSnapshot.
func UnpackImages(b []byte) ([]Image, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	if err != nil {
		return nil, errors.Join(ErrSnapshot, err)
	}
	var list []Image
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.Join(ErrSnapshot, err)
	}
	return list, nil
}

// Restored reads what the fields of an image were back into stored values.
func (im Image) Restored(r *catalog.Resource) (store.Row, error) { return readFields(r, im.Before) }

// Overridden are the fields of a record as it is now that hold neither what the import
// made of them nor what they were before.
func (im Image) Overridden(r *catalog.Resource, now store.Row) ([]string, error) {
	was, err := readFields(r, im.Before)
	if err != nil {
		return nil, err
	}
	made, err := readFields(r, im.After)
	if err != nil {
		return nil, err
	}
	delete(was, "updated_at")
	delete(made, "updated_at")

	notMade := differingFrom(r, now, made)
	isMade := func(name string) bool { return !slices.Contains(notMade, name) }
	return slices.DeleteFunc(differingFrom(r, now, was), isMade), nil
}

// differingFrom are the fields in which a record is not as values say.
func differingFrom(r *catalog.Resource, now, values store.Row) []string {
	other := maps.Clone(now)
	maps.Copy(other, values)
	return store.Differing(store.Change{Resource: r, Op: store.Update, Before: now, After: other})
}

func readFields(r *catalog.Resource, values map[string]json.RawMessage) (store.Row, error) {
	row := store.Row{}
	for name, raw := range values {
		f, ok := r.Field(name)
		if !ok {
			return nil, fmt.Errorf("%w: no field %s.%s", ErrSnapshot, r.Name, name)
		}
		v, err := query.Value(f, raw)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
		row[name] = v
	}
	return row, nil
}
