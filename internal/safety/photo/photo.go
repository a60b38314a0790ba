package photo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// resource is the collection of photos.
const resource = "incident_photos"

// mostPerIncident bounds the photos of one incident.
const mostPerIncident = 20

// Files keeps the pictures; a blob.Store is one.
type Files interface {
	Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error)
	Open(ctx context.Context, key string) (io.ReadSeekCloser, error)
	Delete(ctx context.Context, key string) error
}

// Album keeps the photos of incidents: the picture among the files, its record
// in incident_photos. Who may read an incident may see its photos.
type Album struct {
	store *store.Store
	files func() Files
	room  *Darkroom
}

// New returns an album. files is asked at each use, since effects are made
// before files are opened.
func New(files func() Files) *Album { return &Album{files: files, room: NewDarkroom()} }

// Open gives the album its store.
func (al *Album) Open(s *store.Store) { al.store = s }

// Effects deletes photos with their incident, and pictures with their record.
func (al *Album) Effects() store.Effects {
	return store.Effects{Before: map[string]store.Effect{"incidents": leave}, After: map[string]store.Effect{resource: al.dropped}}
}

// leave deletes the photos of deleted incidents.
func leave(tx *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	gone := map[string][]string{}
	for _, c := range changes {
		if c.Op == store.Delete {
			tenant, _ := c.Before["tenant_id"].(string)
			id, _ := c.Before["id"].(string)
			gone[tenant] = append(gone[tenant], id)
		}
	}
	r, _ := s.Catalog().Get(resource)
	for tenant, ids := range gone {
		a.TenantID = tenant
		var photos []string
		err := tx.Query("SELECT id FROM incident_photos WHERE tenant_id = $1 AND "+tx.DB().InUUID("incident_id", 2), []any{tenant, query.List(ids)}, func(row *db.Row) error {
			photos = append(photos, row.Text(0))
			return nil
		})
		if err != nil {
			return fmt.Errorf("photo: find the photos of incidents: %w", err)
		}
		if _, err := s.DeleteTx(tx, a, r, photos); err != nil {
			return fmt.Errorf("photo: delete with the incident: %w", err)
		}
	}
	return nil
}

// dropped removes pictures once their records are gone for good.
func (al *Album) dropped(tx *db.Tx, _ actor.Actor, _ *store.Store, changes []store.Change) error {
	for _, c := range changes {
		if key, _ := c.Before["blob_key"].(string); c.Op == store.Delete && key != "" {
			tx.After(func() { al.drop(context.Background(), key) })
		}
	}
	return nil
}

// dropTime is how long the file store may take to drop a picture.
const dropTime = 30 * time.Second

// drop deletes a picture that no record names. What cannot be deleted now goes
// with the sweep of files that nobody owns.
func (al *Album) drop(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if err := al.files().Delete(ctx, key); err != nil {
		slog.Warn("a photo could not be deleted; it goes with the next sweep", "error", err)
	}
}

// Add develops a picture and keeps it with an incident that the actor may read.
// Members without a right to report incidents may not.
func (al *Album) Add(ctx context.Context, a actor.Actor, incident, caption string, r io.Reader) (store.Row, error) {
	if err := al.mayAdd(ctx, a, incident); err != nil {
		return nil, err
	}
	p, err := al.Develop(ctx, r)
	if err != nil {
		return nil, err
	}
	var row store.Row
	err = al.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		row, err = al.AddTx(tx, a, incident, caption, p)
		return err
	})
	if err != nil {
		al.Discard(ctx, p, err)
		return nil, err
	}
	return row, nil
}

// Kept is a developed picture among the files, not yet named by a record.
type Kept struct {
	ref           blob.Ref
	width, height int
}

// Develop makes a picture fit to be kept and keeps it. Whoever asks names it in
// a record (AddTx) or discards it.
func (al *Album) Develop(ctx context.Context, r io.Reader) (*Kept, error) {
	img, err := al.room.Develop(ctx, r)
	if err != nil {
		return nil, err
	}
	ref, err := al.files().Put(ctx, bytes.NewReader(img.JPEG), int64(len(img.JPEG)))
	if err != nil {
		return nil, err
	}
	return &Kept{ref, img.Width, img.Height}, nil
}

// Discard removes a picture that no record came to name, because of err. When
// nobody knows whether one did, it is left to the sweep of files without records.
func (al *Album) Discard(ctx context.Context, p *Kept, err error) {
	if !fault.Is(err, fault.Unavailable) {
		al.drop(ctx, p.ref.Key)
	}
}

// CodeFull is the code of a photo for which its tenant has no room.
const CodeFull = "photo_quota"

// room is what the photos of a tenant may take, in bytes: whoever finds a report
// link must not fill the disk that all share.
const room = 10 << 30

// AddTx records a developed picture with an incident of the actor's tenant.
func (al *Album) AddTx(tx *db.Tx, a actor.Actor, incident, caption string, p *Kept) (store.Row, error) {
	var n, size int64
	// The incident's row is the lock: uploads at once cannot pass the bound.
	tx.Queue("SELECT id FROM incidents WHERE tenant_id = $1 AND id = $2"+tx.DB().ForUpdate(), []any{a.TenantID, incident}, func(*db.Row) error { return nil })
	tx.Queue("SELECT COUNT(*) FROM incident_photos WHERE tenant_id = $1 AND incident_id = $2", []any{a.TenantID, incident}, func(r *db.Row) error { n = r.Int(0); return nil })
	tx.Queue("SELECT CAST(COALESCE(SUM(size), 0) AS bigint) FROM incident_photos WHERE tenant_id = $1", []any{a.TenantID}, func(r *db.Row) error { size = r.Int(0); return nil })
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("photo: count the photos: %w", err)
	}
	if n >= mostPerIncident {
		return nil, fault.New(fault.Conflict, safety.CodeGuard, "the incident has %d photos, which is the most", n).At("photo", "too many")
	}
	if size+p.ref.Size > room {
		return nil, fault.New(fault.TooLarge, CodeFull, "the photos of this tenant take %d GB, which is the most: delete some", room>>30).At("photo", "no room")
	}
	r, _ := al.store.Catalog().Get(resource)
	row := store.Row{"incident_id": incident, "caption": null(caption), "width": int64(p.width), "height": int64(p.height), "size": p.ref.Size, "sha256": p.ref.SHA256, "blob_key": p.ref.Key}
	rows, err := al.store.InsertTx(tx, a, r, []store.Row{row})
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// mayAdd refuses those who may not report, and hides what they may not read.
func (al *Album) mayAdd(ctx context.Context, a actor.Actor, incident string) error {
	r, _ := al.store.Catalog().Get("incidents")
	if _, ok := catalog.Find(r.Access.Create, a.Role); !ok {
		return fault.New(fault.Forbidden, "42501", "permission denied for table %s", resource)
	}
	return al.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error { return al.visible(tx, a, incident) })
}

// visible fails with fault.NotFound for an incident that the actor may not
// read, as for one that is not there.
func (al *Album) visible(tx *db.Tx, a actor.Actor, incident string) error {
	r, _ := al.store.Catalog().Get("incidents")
	g, err := query.Access(a, r, r.Access.Read)
	if err != nil {
		return err
	}
	rows, err := al.store.RowsTx(tx, a, r, tx.DB().InUUID("id", 2), []any{query.List([]string{incident})})
	if err != nil {
		return fmt.Errorf("photo: read the incident: %w", err)
	}
	if len(rows) == 0 || !query.Admits(a, r, g, rows[0]) {
		return fault.New(fault.NotFound, "PGRST116", "there is no such incident")
	}
	return nil
}

// List returns the records of an incident's photos, oldest first, to whom the
// incident may be read by.
func (al *Album) List(ctx context.Context, a actor.Actor, incident string) (rows []store.Row, err error) {
	err = al.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		if err := al.visible(tx, a, incident); err != nil {
			return err
		}
		r, _ := al.store.Catalog().Get(resource)
		rows, err = al.store.RowsTx(tx, a, r, tx.DB().InUUID("incident_id", 2)+" ORDER BY id", []any{query.List([]string{incident})})
		return err
	})
	return rows, err
}

// View opens the picture of a photo; its record says what it is.
func (al *Album) View(ctx context.Context, a actor.Actor, incident, id string) (store.Row, io.ReadSeekCloser, error) {
	rows, err := al.List(ctx, a, incident)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if row["id"] == any(id) {
			f, err := al.files().Open(ctx, row["blob_key"].(string))
			return row, f, err
		}
	}
	return nil, nil, fault.New(fault.NotFound, "PGRST116", "there is no such photo")
}
