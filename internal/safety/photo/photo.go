package photo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// mostEach bounds the photos of one record.
const mostEach = 20

// kind is a collection of photos and the collection whose records they belong
// to, by a column.
type kind struct {
	photos, owners, column string
	noun                   string   // of an owner, for messages
	adds                   string   // collection whose right to create lets add photos
	open                   []string // states in which an owner takes photos; empty = every one
}

// photoKinds lists the collections of photos.
func photoKinds() []kind {
	return []kind{
		{photos: "incident_photos", owners: "incidents", column: "incident_id", noun: "incident", adds: "incidents"},
		{photos: "checklist_photos", owners: "checklist_runs", column: "run_id", noun: "inspection", adds: "checklist_answers",
			open: []string{"scheduled", "in_progress"}},
	}
}

// Owner is the record that photos belong to.
type Owner struct {
	kind
	ID string // lower case
}

// OwnerOf returns the record with an id of a collection, and whether its records
// have photos.
func OwnerOf(collection, id string) (Owner, bool) {
	for _, k := range photoKinds() {
		if k.owners == collection {
			return Owner{k, id}, true
		}
	}
	return Owner{}, false
}

// Files keeps the pictures; a blob.Store is one.
type Files interface {
	Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error)
	Open(ctx context.Context, key string) (io.ReadSeekCloser, error)
	Delete(ctx context.Context, key string) error
}

// Store keeps the photos of records: the picture among the files, its record in
// a collection of photos. Who may read a record may see its photos.
type Store struct {
	store *store.Store
	files Files
	room  *DecodeSemaphore
	quota int64

	scratch string // directory for photos that wait for their turn
}

// New returns an album in which the photos of one tenant may take quota bytes:
// whoever finds a report link must not fill the disk that all share. Uploads wait
// in the directory scratch.
func New(s *store.Store, files Files, quota int64, scratch string) *Store {
	return &Store{store: s, files: files, room: NewDecodeSemaphore(), quota: quota, scratch: scratch}
}

// Effects deletes photos with the record they belong to, and pictures with
// theirs. Photos of anonymous reports have no maker.
func Effects(files Files) store.Effects {
	e := store.Effects{Before: map[string]store.Effect{}, After: map[string]store.Effect{}}
	for _, k := range photoKinds() {
		e.Before[k.owners], e.After[k.photos] = k.deletePhotos, deletePictures(files)
	}
	e.Before["incident_photos"] = LeaveUnsigned
	return e
}

// anonymousSQL selects those of some incidents that were reported anonymously.
// $1 tenant.
const anonymousSQL = `
	SELECT id
	FROM incidents
	WHERE tenant_id = $1
		AND anonymous
		AND `

// LeaveUnsigned takes the maker and the moment off new photos and files of anonymous
// reports: who adds one is mostly who reported. The audit log names no maker either
// then.
func LeaveUnsigned(tx *store.Tx, changes []store.Change) error {
	var incidents []string
	for _, c := range changes {
		if c.Op == store.Insert && c.After.Text("incident_id") != "" {
			incidents = append(incidents, c.After.Text("incident_id"))
		}
	}
	if len(incidents) == 0 {
		return nil
	}

	anonymous := map[string]bool{}
	args := []any{tx.TenantID, query.List(incidents)}
	err := tx.Query(anonymousSQL+tx.DB().InUUID("id", 2), args, func(r *db.Row) error {
		anonymous[r.Text(0)] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("photo: look for anonymous reports: %w", err)
	}
	if len(anonymous) == 0 {
		return nil
	}

	zone := ""
	store.QueueZone(tx.Tx, tx.TenantID, &zone)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("photo: time zone of the tenant: %w", err)
	}
	for _, c := range changes {
		if c.Op != store.Insert || !anonymous[c.After.Text("incident_id")] {
			continue
		}
		today := localtime.DateOf(tx.Now(), localtime.Zone(zone)).Start(localtime.Zone(zone))
		c.After["created_by"] = nil
		c.After["id"] = db.NewIDAt(today)
		if err := safety.RoundMoments(c.After, localtime.Zone(zone), "created_at", "updated_at"); err != nil {
			return err
		}
	}
	return nil
}

// deletePhotos deletes the photos of deleted records.
func (k kind) deletePhotos(tx *store.Tx, changes []store.Change) error {
	gone := map[string][]string{}
	for _, c := range changes {
		if c.Op == store.Delete {
			tenant, _ := c.Before["tenant_id"].(string)
			id, _ := c.Before["id"].(string)
			gone[tenant] = append(gone[tenant], id)
		}
	}
	for tenant, ids := range gone {
		var photos []string
		err := tx.Query(db.FillWords(`
			SELECT id
			FROM {photos}
			WHERE tenant_id = $1
				AND {column} IN {ids $2}`, "{photos}", k.photos, "{column}", k.column),
			[]any{tenant, query.List(ids)}, func(row *db.Row) error {
				photos = append(photos, row.Text(0))
				return nil
			})
		if err != nil {
			return fmt.Errorf("photo: find the photos of %s: %w", k.owners, err)
		}
		if err := tx.Of(tenant).DeleteRows(k.photos, photos); err != nil {
			return fmt.Errorf("photo: delete with the %s: %w", k.noun, err)
		}
	}
	return nil
}

// deletePictures removes pictures once their records are gone for good.
func deletePictures(files Files) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		for _, c := range changes {
			if key, _ := c.Before["blob_key"].(string); c.Op == store.Delete && key != "" {
				tx.After(func() { deletePicture(context.Background(), files, key) })
			}
		}
		return nil
	}
}

// dropTime is how long the file store may take to drop a picture.
const dropTime = 30 * time.Second

// deletePicture deletes a picture that no record names. What cannot be deleted now goes
// with the sweep of files that nobody owns.
func deletePicture(ctx context.Context, files Files, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if err := files.Delete(ctx, key); err != nil {
		slog.Warn("a photo could not be deleted; it goes with the next sweep", "error", err)
	}
}

// Add develops a picture and keeps it with a record that the actor may read.
// Members without a right to report incidents, or to answer what inspections
// ask, may not.
func (al *Store) Add(ctx context.Context, a actor.Actor, o Owner, caption string, r io.Reader) (store.Row, error) {
	if err := al.mayAdd(ctx, a, o); err != nil {
		return nil, err
	}
	p, err := al.Develop(ctx, r)
	if err != nil {
		return nil, err
	}
	var row store.Row
	err = al.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		if row, err = al.AddTx(tx, a, o, caption, p); err != nil {
			return err
		}
		return idempotency.Record(tx, row)
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
func (al *Store) Develop(ctx context.Context, r io.Reader) (*Kept, error) {
	img, err := al.room.Develop(ctx, r)
	if err != nil {
		return nil, err
	}
	ref, err := al.files.Put(ctx, bytes.NewReader(img.JPEG), int64(len(img.JPEG)))
	if err != nil {
		return nil, err
	}
	return &Kept{ref, img.Width, img.Height}, nil
}

// Discard removes a picture that no record came to name, because of err. When
// nobody knows whether one did, it is left to the sweep of files without records.
func (al *Store) Discard(ctx context.Context, p *Kept, err error) {
	if !fault.Is(err, fault.Unavailable) {
		deletePicture(ctx, al.files, p.ref.Key)
	}
}

// CodeFull is the code of a photo for which its tenant has no room.
const CodeFull = "photo_quota"

// AddTx records a developed picture with a record of the actor's tenant.
func (al *Store) AddTx(tx *db.Tx, a actor.Actor, o Owner, caption string, p *Kept) (store.Row, error) {
	var n int64
	state := ""
	// The owner's row is the lock: uploads at once cannot pass the bound, and
	// none comes behind the end of an inspection.
	tx.Queue(db.FillWords(`
		SELECT status
		FROM {owners}
		WHERE tenant_id = $1
			AND id = $2
		{for update}`, "{owners}", o.owners), []any{a.TenantID, o.ID}, func(r *db.Row) error {
		state = r.Text(0)
		return nil
	})
	tx.Queue(db.FillWords(`
		SELECT COUNT(*)
		FROM {photos}
		WHERE tenant_id = $1
			AND {column} = $2`, "{photos}", o.photos, "{column}", o.column),
		[]any{a.TenantID, o.ID}, func(r *db.Row) error {
			n = r.Int(0)
			return nil
		})
	room := al.QueueRoom(tx, a.TenantID)
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("photo: count the photos: %w", err)
	}
	switch {
	case len(o.open) > 0 && !slices.Contains(o.open, state):
		return nil, fault.New(fault.Conflict, safety.CodeGuard, "the %s is %s: its photos stay as they are", o.noun, state)
	case n >= mostEach:
		return nil, fault.New(fault.Conflict, safety.CodeGuard, "the %s has %d photos, which is the most", o.noun, n).At("photo", "too many")
	}
	if err := room.Check(p.ref.Size, "photo"); err != nil {
		return nil, err
	}
	r, _ := al.store.Catalog().Get(o.photos)
	row := store.Row{o.column: o.ID, "caption": db.Null(caption), "width": int64(p.width), "height": int64(p.height), "size": p.ref.Size,
		"sha256": p.ref.SHA256, "blob_key": p.ref.Key}
	rows, err := al.store.In(tx, a).InsertRows(r.Name, []store.Row{row})
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// mayAdd refuses those who may not add photos, and hides what they may not read.
func (al *Store) mayAdd(ctx context.Context, a actor.Actor, o Owner) error {
	r, _ := al.store.Catalog().Get(o.adds)
	if !query.May(r.Access.Create, a.Role) {
		return fault.New(fault.Forbidden, "42501", "permission denied for table %s", o.photos)
	}
	return al.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error { return al.checkVisible(tx, a, o) })
}

// checkVisible fails with fault.NotFound for a record that the actor may not read, as
// for one that is not there.
func (al *Store) checkVisible(tx *db.Tx, a actor.Actor, o Owner) error {
	r, _ := al.store.Catalog().Get(o.owners)
	g, err := query.Access(a, r, r.Access.Read)
	if err != nil {
		return err
	}
	rows, err := al.store.In(tx, a).Rows(r.Name, "id IN {ids $2}", query.List([]string{o.ID}))
	if err != nil {
		return fmt.Errorf("photo: read the %s: %w", o.noun, err)
	}
	if len(rows) == 0 || !query.Admits(a, r, g, rows[0]) {
		return fault.New(fault.NotFound, "PGRST116", "there is no such %s", o.noun)
	}
	return nil
}

// List returns the records of a record's photos, oldest first, to whom it may be
// read by.
func (al *Store) List(ctx context.Context, a actor.Actor, o Owner) (rows []store.Row, err error) {
	err = al.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		if err := al.checkVisible(tx, a, o); err != nil {
			return err
		}
		r, _ := al.store.Catalog().Get(o.photos)
		where := tx.DB().InUUID(o.column, 2) + " ORDER BY id"
		rows, err = al.store.In(tx, a).Rows(r.Name, where, query.List([]string{o.ID}))
		return err
	})
	return rows, err
}

// View opens the picture of a photo; its record says what it is.
func (al *Store) View(ctx context.Context, a actor.Actor, o Owner, id string) (store.Row, io.ReadSeekCloser, error) {
	rows, err := al.List(ctx, a, o)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if row["id"] == any(id) {
			f, err := al.files.Open(ctx, row["blob_key"].(string))
			return row, f, err
		}
	}
	return nil, nil, fault.New(fault.NotFound, "PGRST116", "there is no such photo")
}
