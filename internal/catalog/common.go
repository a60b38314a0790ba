package catalog

import (
	"slices"
	"strings"

	"holdfast/internal/actor"
)

// withCommon adds the fields every record has.
func withCommon(r *Resource) []Field {
	fs := []Field{{Name: "id", Type: UUID, Required: true, Fixed: true, Doc: "UUIDv7, made by the server when absent."}}
	if !r.Root {
		fs = append([]Field{{Name: "tenant_id", Type: UUID, Required: true, Fixed: true,
			Doc: "The tenant the record belongs to; filled by the server."}}, fs...)
	}
	fs = append(fs, r.Fields...)
	maskMakers(fs, makerReaders(r))
	maskCosts(r, fs)
	if r.Bare {
		return fs
	}
	if r.Archives {
		fs = append(fs, Field{Name: "archived_at", Type: Time, Doc: "When the record was retired; null while in use."})
	}
	return append(fs,
		Field{Name: "created_at", Type: Time, Required: true, ReadOnly: true},
		Field{Name: "updated_at", Type: Time, Required: true, ReadOnly: true},
		Field{Name: "created_by", Type: UUID, ReadOnly: true, Readers: makerReaders(r),
			Doc: "User who made the record; null for keys and jobs."},
		Field{Name: "version", Type: Int, Required: true, ReadOnly: true, Default: "1",
			Doc: "Rises by one with every change."},
	)
}

// maskMakers gives the columns that name who did something with a record (who
// answered, picked, counted, approved) the readers of who made it, where they have
// none of their own: a list of them by moment is a record of a person's work.
func maskMakers(fields []Field, readers []actor.Role) {
	for i := range fields {
		f := &fields[i]
		if f.Type == UUID && f.ReadOnly && strings.HasSuffix(f.Name, "_by") && len(f.Readers) == 0 {
			f.Readers = readers
		}
	}
}

// maskCosts gives columns of cost and value their readers: whoever carries the goods need
// not know what they are worth. A client sees those of the client's own goods, where a
// client sees rows.
func maskCosts(r *Resource, fields []Field) {
	readers := costReaders()
	if _, shown := Find(r.Access.Read, actor.Client); shown {
		readers = append(readers, actor.Client)
	}
	for i := range fields {
		if f := &fields[i]; f.Cost && len(f.Readers) == 0 {
			f.Readers = readers
		}
	}
}

// makerReaders are the roles that see who made a record, the readers of
// incidents.reported_by unless the resource says otherwise. Where a column that
// names the person has readers of its own, the maker is mostly that person and
// has the same ones.
func makerReaders(r *Resource) []actor.Role {
	if len(r.Makers) > 0 {
		return r.Makers
	}
	for i := range r.Fields {
		if f := &r.Fields[i]; len(f.Readers) > 0 && slices.Contains(r.Own, f.Name) {
			return f.Readers
		}
	}
	return leaders
}

// Masked stands in the audit log for a value of a field with Readers.
const Masked = "[masked]"
