// Package evidence keeps what people say about a record and the files that show
// it: comments and files of incidents, legal clocks, actions, inspections, certificates,
// equipment, orders and shipments. Those who read a record read them.
//
// Layer: domains. Begin at [New].
package evidence

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
	"holdfast/internal/idempotency"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/photo"
	"holdfast/internal/store"
)

// mostFiles bounds the files of one record.
const mostFiles = 50

// thumbnailSide is the longer side of a thumbnail, in pixels.
const thumbnailSide = 320

// Record is a record that files are kept with.
type Record struct {
	parent catalog.ParentRecord
	ID     string // lower case
}

// Collection returns the collection of the record.
func (r Record) Collection() string { return r.parent.Resource.Name }

// Column returns the reference by which a file names the record.
func (r Record) Column() string { return r.parent.Column }

// Store keeps the files of records: the bytes among the files of the server, what
// they are in the collection files.
type Store struct {
	store  *store.Store
	files  photo.Files
	album  *photo.Store // washes pictures, reads forms, knows the room of a tenant
	turn   inspection
	parent map[string]catalog.ParentRecord // by collection
}

// New returns the store of files beside an album of photos, with which they share
// the room of a tenant.
func New(s *store.Store, files photo.Files, album *photo.Store) *Store {
	out := &Store{store: s, files: files, album: album, turn: make(inspection, 1),
		parent: map[string]catalog.ParentRecord{}}
	for _, parent := range filesIn(s.Catalog()).ParentRecords() {
		out.parent[parent.Resource.Name] = parent
	}
	return out
}

func filesIn(c *catalog.Catalog) *catalog.Resource {
	r, _ := c.Get("files")
	return r
}

// Collections lists the collections whose records have files.
func (s *Store) Collections() []string {
	var names []string
	for _, parent := range filesIn(s.store.Catalog()).ParentRecords() {
		names = append(names, parent.Resource.Name)
	}
	return names
}

// RecordOf names the record with an id of a collection.
func (s *Store) RecordOf(collection, id string) Record { return Record{s.parent[collection], id} }

// Upload is a file as it came: what it is called, its bytes, and a note about it.
type Upload struct {
	Name string
	Note string
	File io.ReadSeeker
	Size int64
}

// Add keeps a file with a record that the actor may read. Viewers add none. Errors
// are fault.Unsupported for a kind of file that is not kept, fault.TooLarge past a
// bound, fault.Conflict where the record has too many.
func (s *Store) Add(ctx context.Context, a actor.Actor, of Record, u Upload) (store.Row, error) {
	if err := s.checkMayAdd(ctx, a, of); err != nil {
		return nil, err
	}
	f, err := s.turn.detectInTurn(ctx, u.File, u.Size)
	if err != nil {
		return nil, err
	}
	name, err := labelFile(u.Name, f)
	if err != nil {
		return nil, err
	}
	row := record.File{of.Column(): of.ID, "name": name, "note": db.Null(u.Note), "kind": f.kind, "media_type": f.media}
	if f.kind == picture.kind {
		err = s.putPicture(ctx, row, u.File)
	} else {
		err = s.putFile(ctx, row, "blob_key", u.File, MaxBytes)
	}
	if err == nil {
		row, err = s.insertFile(ctx, a, of, row)
	}
	if err != nil {
		s.discardBytes(ctx, row, err)
		return nil, err
	}
	return store.Row(row), nil
}

// putPicture keeps a picture without its metadata, and a thumbnail of it.
func (s *Store) putPicture(ctx context.Context, row record.File, r io.Reader) error {
	image, err := s.album.Decoder().Develop(ctx, r)
	if err != nil {
		return renameField(err)
	}
	small, err := image.Thumbnail(thumbnailSide)
	if err != nil {
		return err
	}
	row.SetWidth(int64(image.Width))
	row.SetHeight(int64(image.Height))
	if err := s.putFile(ctx, row, "thumbnail_key", bytes.NewReader(small), int64(len(small))); err != nil {
		return err
	}
	return s.putFile(ctx, row, "blob_key", bytes.NewReader(image.JPEG), int64(len(image.JPEG)))
}

// renameField names the part of the form in a refusal of a picture.
func renameField(err error) error {
	f := fault.As(err)
	for i := range f.Fields {
		f.Fields[i].Name = "file"
	}
	return f
}

// putFile keeps bytes and notes their key, and for the file itself what they are.
func (s *Store) putFile(ctx context.Context, row record.File, column string, r io.Reader, limit int64) error {
	ref, err := s.files.Put(ctx, r, limit)
	if err != nil {
		return err
	}
	row[column] = ref.Key
	if column == "blob_key" {
		row.SetSize(ref.Size)
		row.SetSHA256(ref.SHA256)
	}
	return nil
}

// insertFile writes the row of a kept file.
func (s *Store) insertFile(ctx context.Context, a actor.Actor, of Record, row record.File) (record.File, error) {
	kept := row
	err := s.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		if err := s.checkRoom(tx, a, of, row.SizeOrNull().(int64)); err != nil {
			return err
		}
		rows, err := record.Insert(s.store.In(tx, a), []record.File{row})
		if err != nil {
			return err
		}
		kept = rows[0]
		return idempotency.Record(tx, store.Row(kept))
	})
	return kept, err
}

// checkRoom refuses a file for which its record or its tenant has no room. It
// locks the record: uploads at once cannot pass the bound.
func (s *Store) checkRoom(tx *db.Tx, a actor.Actor, of Record, size int64) error {
	const countSQL = `
		SELECT COUNT(*)
		FROM files
		WHERE tenant_id = $1
			AND `
	var n int64
	there := false
	args := []any{a.TenantID, of.ID}
	tx.Queue(db.FillWords(`
		SELECT id
		FROM {collection}
		WHERE tenant_id = $1
			AND id = $2
		{for update}`, "{collection}", of.Collection()), args,
		func(*db.Row) error {
			there = true
			return nil
		})
	tx.Queue(countSQL+of.Column()+" = $2", args, func(r *db.Row) error {
		n = r.Int(0)
		return nil
	})
	room := s.album.QueueRoom(tx, a.TenantID)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("evidence: count the files: %w", err)
	}
	if !there {
		return notThere()
	}
	if n >= mostFiles {
		return safety.NotReady("the record has %d files, which is the most", n).At("file", "too many")
	}
	return room.Check(size, "file")
}

// discardBytes deletes bytes that no record came to name, because of err. When nobody
// knows whether one did, they are left to the sweep of files without records.
func (s *Store) discardBytes(ctx context.Context, row record.File, err error) {
	if fault.Is(err, fault.Unavailable) {
		return
	}
	for _, column := range blob.KeyColumns {
		deleteFile(ctx, s.files, store.Row(row).Text(column))
	}
}

// deleteTime is how long the file store may take to delete a file.
const deleteTime = 30 * time.Second

func deleteFile(ctx context.Context, files photo.Files, key string) {
	if key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTime)
	defer cancel()
	if err := files.Delete(ctx, key); err != nil {
		slog.Warn("a file could not be deleted; it goes with the next sweep", "error", err)
	}
}

// checkMayAdd refuses roles that say nothing about records, and hides records that
// the actor may not read.
func (s *Store) checkMayAdd(ctx context.Context, a actor.Actor, of Record) error {
	comments, _ := s.store.Catalog().Get("comments")
	if !query.May(comments.Access.Create, a.Role) || !a.Scope.Writes("files") {
		return fault.New(fault.Forbidden, "42501", "permission denied for table files")
	}
	return s.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error { return s.checkReadable(tx, a, of) })
}

// checkReadable hides a record that the actor may not read, as one that is not there.
func (s *Store) checkReadable(tx *db.Tx, a actor.Actor, of Record) error {
	policy, ok := query.ReadPolicy(a, of.parent.Resource)
	if !ok {
		return notThere()
	}
	args := []any{a.TenantID, of.ID}
	where := policy.Where(tx.DB(), of.Collection(), &args)
	sql := db.FillWords(`
		SELECT id
		FROM {collection}
		WHERE tenant_id = $1
			AND id = $2
			AND {where}`, "{collection}", of.Collection(), "{where}", where)
	there := false
	err := tx.Query(sql, args, func(*db.Row) error {
		there = true
		return nil
	})
	if err == nil && !there {
		return notThere()
	}
	return err
}

func notThere() error { return fault.New(fault.NotFound, "PGRST116", "there is no such record") }

// Open opens the bytes of a file that the actor may read: the file itself, or with
// thumbnail its small picture. Its row says what it is.
func (s *Store) Open(
	ctx context.Context, a actor.Actor, id string, thumbnail bool,
) (store.Row, io.ReadSeekCloser, error) {
	policy, ok := query.ReadPolicy(a, filesIn(s.store.Catalog()))
	if !ok {
		return nil, nil, notThere()
	}
	args := []any{a.TenantID, query.List([]string{id})}
	where := policy.Where(s.store.DB(), "files", &args)
	var rows []record.File
	err := s.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		rows, err = record.List[record.File](s.store.In(tx, a), "id IN {ids $2} AND "+where, args[1:]...)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("evidence: read a file's record: %w", err)
	}
	key := ""
	if len(rows) == 1 && thumbnail {
		key = rows[0].ThumbnailKey()
	} else if len(rows) == 1 {
		key = rows[0].BlobKey()
	}
	if key == "" {
		return nil, nil, fault.New(fault.NotFound, "PGRST116", "there is no such file")
	}
	f, err := s.files.Open(ctx, key)
	return store.Row(rows[0]), f, err
}
