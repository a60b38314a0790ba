package accounts

import (
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// MemberChange is a membership before and after; nil where there is none.
type MemberChange struct{ Before, After store.Row }

// Member is an active membership in a tenant that is not closed: the only
// source of tenancy, for metadata is what users write themselves.
type Member struct {
	TenantID string
	Name     string
	Slug     string
	Plan     string
	Status   string // the tenant's: active or suspended
	Role     actor.Role
	WorkerID string
	ZoneIDs  []string
	Owner    string    // the goods owner of a client
	Since    time.Time // of the tenant or the membership, whichever is younger

	// Of Memberships alone: whether the tenant asks the member for a second
	// factor, and from when on where it does not do so yet.
	NeedsFactor bool
	Grace       time.Time
}

// MemberQuery reads memberships that count, in the columns of ScanMember; a
// condition follows it.
const MemberQuery = `SELECT m.tenant_id, t.name, t.slug, t.plan, t.status, m.role, m.worker_id, m.zone_ids, t.created_at, m.joined_at, m.owner_id
	FROM members m JOIN tenants t ON t.id = m.tenant_id WHERE m.status = 'active' AND t.status <> 'closed' AND `

// ScanMember reads a row of MemberQuery.
func ScanMember(r *db.Row) (Member, error) {
	m := Member{TenantID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), Plan: r.Text(3), Status: r.Text(4),
		Role: actor.Role(r.Text(5))}
	m.WorkerID, m.Since, m.Owner = r.Text(6), r.Time(8), r.Text(10)
	if m.Owner != "" {
		m.Role = actor.Client
	}
	if joined := r.Time(9); joined.After(m.Since) {
		m.Since = joined
	}
	err := json.Unmarshal([]byte(r.Text(7)), &m.ZoneIDs)
	return m, err
}

// MemberOf returns the membership a user has in a tenant, or NotFound.
func MemberOf(tx *db.Tx, userID, tenantID string) (Member, error) {
	var m Member
	err := tx.One(MemberQuery+"m.tenant_id = $1 AND m.user_id = $2", []any{tenantID, userID}, func(r *db.Row) (err error) {
		m, err = ScanMember(r)
		return err
	})
	return m, err
}

// Memberships returns every active membership of a user, oldest first.
func Memberships(tx *db.Tx, userID string) ([]Member, error) {
	var list []Member
	queueMemberships(tx, userID, func(m Member) { list = append(list, m) })
	return list, tx.Flush()
}

// queueMemberships is memberships at the next flush.
func queueMemberships(tx *db.Tx, userID string, each func(Member)) {
	tx.Queue(MemberQuery+"m.user_id = $1 ORDER BY m.joined_at NULLS LAST, m.tenant_id", []any{userID},
		func(r *db.Row) error {
			m, err := ScanMember(r)
			each(m)
			return err
		})
}

// WishedTenant reads data.tenant_id: one canonical UUID, or "".
func RequestedTenant(data map[string]any) string {
	text, _ := data[wishedTenant].(string)
	id, ok := CanonicalID(text)
	if !ok || id == db.NoTenant {
		return ""
	}
	return id
}

// CheckWishedTenant refuses a tenant_id that can be no tenant's. null, which
// takes the member away, is none.
func CheckWishedTenant(data map[string]any) error {
	if data[wishedTenant] == nil || RequestedTenant(data) != "" {
		return nil
	}
	f := fault.New(fault.Invalid, "validation_failed", "data.tenant_id must be the UUID of a tenant that you belong to")
	return f.At("data.tenant_id", "must be the UUID of a tenant")
}

// Members of a sign-up's data that say where the account is to belong.
const (
	wishedTenant = "tenant_id"
	WishedInvite = "invite_token"
)

// Unwished takes out of metadata what they wish for.
func Unwished(data map[string]any) {
	delete(data, wishedTenant)
	delete(data, WishedInvite)
}
