// Package sheets prints what the records of safety say as PDF: an incident with its
// causes, actions and pictures, an inspection with its answers, the certificate of a
// training. A sheet tells its reader what the pages of the record tell, and no more.
//
// Layer: domains. Begin at [Printer].
package sheets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/pdf"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/evidence"
	"holdfast/internal/safety/photo"
	"holdfast/internal/store"
)

// Printer reads what sheets say, as the caller who asks for them may read it.
type Printer struct {
	store *store.Store
	files photo.Files
	room  *photo.DecodeSemaphore
	said  *evidence.Store
}

// NewPrinter returns a printer of the records of s, whose pictures are among files:
// they are made smaller in the room of an album, and what happened is told by said.
func NewPrinter(s *store.Store, files photo.Files, album *photo.Store, said *evidence.Store) *Printer {
	return &Printer{store: s, files: files, room: album.Decoder(), said: said}
}

// Now is the time that documents are made at.
func (p *Printer) Now() time.Time { return p.store.Now() }

// Wish is what a request asks for.
type Wish struct {
	ID       string // of the record, in lower case
	Language string // en, de or fr; "" = the tenant's
	By       Narrowed
}

// reading is one read of what is printed.
type reading struct {
	p     *Printer
	tx    *db.Tx
	a     actor.Actor
	words *words

	owner  string         // the tenant's name
	size   string         // of the paper
	zone   *time.Location // in which moments are told
	people map[string]string
	named  map[string]string // records that texts name, by id
}

// readIn runs one read for a caller, in the language that is wished or the tenant's.
func (p *Printer) readIn(ctx context.Context, a actor.Actor, w Wish, each func(*reading) error) error {
	return p.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		k := &reading{p: p, tx: tx, a: a, people: map[string]string{}, named: map[string]string{}}
		if err := k.readTenant(w.Language); err != nil {
			return err
		}
		return each(k)
	})
}

// tenantSQL selects what of a tenant stands on sheets. $1 tenant.
const tenantSQL = `
	SELECT name, country, timezone
	FROM tenants
	WHERE id = $1`

func (k *reading) readTenant(language string) error {
	tag := ""
	store.QueueLocale(k.tx, k.a.TenantID, func(said string) { tag = said })
	k.tx.Queue(tenantSQL, []any{k.a.TenantID}, func(r *db.Row) error {
		k.owner, k.size, k.zone = r.Text(0), pdf.SizeIn(r.Text(1)), localtime.Zone(r.Text(2))
		return nil
	})
	if err := k.tx.Flush(); err != nil {
		return fmt.Errorf("sheets: read the tenant: %w", err)
	}
	if language == "" {
		language = store.LanguageOf(tag)
	}
	k.words = wordsIn(language)
	return nil
}

// readPermitted reads the rows of a collection that the caller may read, whole: no field
// of them is said before maskRow has taken off what the caller does not see.
func (k *reading) readPermitted(resource, where, order string, args ...any) ([]store.Row, error) {
	r, _ := k.p.store.Catalog().Get(resource)
	policy, ok := query.ReadPolicy(k.a, r)
	if !ok {
		return nil, nil
	}
	all := append([]any{k.a.TenantID}, args...)
	where = "(" + where + ") AND " + policy.Where(k.tx.DB(), resource, &all) + " ORDER BY " + order
	rows, err := k.p.store.In(k.tx, k.a).Rows(resource, where, all[1:]...)
	if err != nil {
		return nil, fmt.Errorf("sheets: read %s: %w", resource, err)
	}
	return rows, nil
}

// readVisible reads the rows of a collection as the caller sees them.
func readVisible[T any](k *reading, resource, where, order string, args ...any) ([]T, error) {
	rows, err := k.readPermitted(resource, where, order, args...)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i] = k.maskRow(resource, rows[i])
	}
	return safety.DecodeRows[T](rows)
}

// readsAll reports that the caller reads all rows of a resource: what is not there for them is
// not there.
func (k *reading) readsAll(resource string) bool {
	r, _ := k.p.store.Catalog().Get(resource)
	policy, ok := query.ReadPolicy(k.a, r)
	return ok && policy.Shared()
}

// maskRow is a row without the fields that the caller does not see.
func (k *reading) maskRow(resource string, row store.Row) store.Row {
	r, _ := k.p.store.Catalog().Get(resource)
	seen := store.Row{}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Visible(k.a.Role) {
			seen[f.Name] = row[f.Name]
		}
	}
	return seen
}

// readPhotos reads the photos of a record that the caller may read.
func (k *reading) readPhotos(resource, where string, args ...any) ([]photoRow, error) {
	rows, err := k.readPermitted(resource, where, "id", args...)
	if err != nil {
		return nil, err
	}
	return safety.DecodeRows[photoRow](rows)
}

// isVisible reports a field that the caller sees.
func (k *reading) isVisible(resource, field string) bool {
	r, _ := k.p.store.Catalog().Get(resource)
	f, ok := r.Field(field)
	return ok && f.Visible(k.a.Role)
}

// readOne is the record of a wish; one that the caller may not read is not there.
func readOne[T any](k *reading, resource, id string) (one T, err error) {
	rows, err := readVisible[T](k, resource, "id IN {ids $2}", "id", query.List([]string{id}))
	if err != nil {
		return one, err
	}
	if len(rows) == 0 {
		return one, fault.New(fault.NotFound, "PGRST116", "there is no such record")
	}
	return rows[0], nil
}

// nameRecords learns what records of a collection are called: by their name, else by
// their code or number.
func (k *reading) nameRecords(resource string, ids []string) ([]named, error) {
	if ids = distinctIDs(ids); len(ids) == 0 {
		return nil, nil
	}
	rows, err := readVisible[named](k, resource, "id IN {ids $2}", "id", query.List(ids))
	for _, x := range rows {
		if called := cmp.Or(x.Name, x.Code, x.No, x.Asset, x.Plate); called != "" {
			k.named[x.ID] = called
		}
	}
	return rows, err
}

// nameWorkers learns what the workers are called that records stand for.
func (k *reading) nameWorkers(of []named) error {
	ids := make([]string, len(of))
	for i, x := range of {
		ids[i] = x.Worker
	}
	_, err := k.nameRecords("workers", ids)
	return err
}

// namePeople learns what accounts are called: by the name of the worker, else by the
// address, as far as the caller reads members and workers.
func (k *reading) namePeople(ids []string) error {
	if ids = distinctIDs(ids); len(ids) == 0 {
		return nil
	}
	members, err := readVisible[named](k, "members", "user_id IN {ids $2}", "id", query.List(ids))
	if err != nil {
		return err
	}
	if err := k.nameWorkers(members); err != nil {
		return err
	}
	for _, m := range members {
		k.people[m.User] = cmp.Or(k.named[m.Worker], m.Email)
	}
	return nil
}

// personOf is what an account is called, a colleague where the caller does not see who
// that is, and "" for nobody.
func (k *reading) personOf(id string) string {
	if id == "" {
		return ""
	}
	if name := k.people[id]; name != "" {
		return name
	}
	return k.words.sayText("A colleague")
}

// distinctIDs lists ids once each, without those that are empty.
func distinctIDs(ids []string) []string {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// formatMoment tells a moment in the zone of the sheet; "" for none.
func (k *reading) formatMoment(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return at.In(k.zone).Format(k.words.day + " 15:04")
}

// formatDay tells a calendar day; "" for none.
func (k *reading) formatDay(text string) string {
	on, err := localtime.ParseDate(text)
	if err != nil {
		return ""
	}
	return on.UTC().Format(k.words.day)
}

// joinSaid lists what is there of several parts.
func joinSaid(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), by)
}
