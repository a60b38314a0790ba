package imports

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"holdfast/internal/catalog"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// What an import did is kept per batch: of new records the ids alone, of
// changed ones the fields as they were and the version the import left.

var errSnapshot = errors.New("imports: a snapshot is damaged")

func packIDs(ids []string) []byte {
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

func unpackIDs(b []byte) ([]string, error) {
	if len(b)%16 != 0 {
		return nil, errSnapshot
	}
	ids := make([]string, 0, len(b)/16)
	for ; len(b) > 0; b = b[16:] {
		ids = append(ids, uuid.UUID(b[:16]).String())
	}
	return ids, nil
}

// image is one changed record: Before holds the fields the import changed,
// with updated_at, as JSON.
type image struct {
	ID      string                     `json:"id"`
	Version int64                      `json:"v"` // after the import
	Was     int64                      `json:"w"` // before it
	Before  map[string]json.RawMessage `json:"b"`
}

func packImages(r *catalog.Resource, changes []store.Change) ([]byte, error) {
	list := make([]image, len(changes))
	for i, c := range changes {
		im := image{Before: map[string]json.RawMessage{}}
		im.ID, _ = c.After["id"].(string)
		im.Version, _ = c.After["version"].(int64)
		im.Was, _ = c.Before["version"].(int64)
		for _, n := range append(store.Differing(c), "updated_at") {
			v, err := json.Marshal(c.Before[n])
			if err != nil {
				return nil, fmt.Errorf("imports: snapshot: %w", err)
			}
			im.Before[n] = v
		}
		list[i] = im
	}
	return packList(list)
}

func packList(list []image) ([]byte, error) {
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

func unpackImages(b []byte) ([]image, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	if err != nil {
		return nil, errors.Join(errSnapshot, err)
	}
	var list []image
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.Join(errSnapshot, err)
	}
	return list, nil
}

// restored reads the fields of an image back into stored values.
func (im image) restored(r *catalog.Resource) (store.Row, error) {
	row := store.Row{}
	for name, raw := range im.Before {
		f, ok := r.Field(name)
		if !ok {
			return nil, fmt.Errorf("%w: no field %s.%s", errSnapshot, r.Name, name)
		}
		v, err := query.Value(f, raw)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSnapshot, err)
		}
		row[name] = v
	}
	return row, nil
}
