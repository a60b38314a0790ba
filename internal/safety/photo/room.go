package photo

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// Room is how many bytes the photos and files of a tenant take, and may take.
type Room struct{ used, most int64 }

// QueueRoom queues reading a tenant's room, which is there after the next flush.
func (al *Store) QueueRoom(tx *db.Tx, tenant string) *Room {
	const quotaSQL = `
		SELECT photo_quota
		FROM tenants
		WHERE id = $1
			AND photo_quota IS NOT NULL`
	room := &Room{most: al.quota}
	for _, table := range [...]string{"incident_photos", "checklist_photos", "files"} {
		tx.Queue(db.FillWords(`
			SELECT CAST(COALESCE(SUM(size), 0) AS bigint)
			FROM {table}
			WHERE tenant_id = $1`, "{table}", table), []any{tenant},
			func(r *db.Row) error {
				room.used += r.Int(0)
				return nil
			})
	}
	tx.Queue(quotaSQL, []any{tenant}, func(r *db.Row) error {
		room.most = r.Int(0) << 20
		return nil
	})
	return room
}

// Check refuses size bytes more than there is room for, with fault.TooLarge; field
// is the part of the form that they came in.
func (r *Room) Check(size int64, field string) error {
	if r.used+size <= r.most {
		return nil
	}
	return fault.New(fault.TooLarge, CodeFull,
		"the photos and files of this tenant take %d MB, which is the most: delete some", r.most>>20).
		At(field, "no room")
}

// Decoder returns what makes pictures fit to be kept, a few at a time for all.
func (al *Store) Decoder() *DecodeSemaphore { return al.room }
