package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety/sheets"
	"holdfast/internal/secrets"
	"holdfast/internal/store"
)

// Shared is a link that works.
type Shared struct {
	id, kind, hash string
	of             sheets.Wish
	sharer         actor.Actor
}

// Document is what a link leads to.
type Document struct {
	Name string // what it is saved as
	PDF  []byte
}

// refuseDead is the answer to every link that does not work, whatever the reason.
func refuseDead() error {
	return fault.New(fault.NotFound, "PGRST116", "this link does not exist or has ended")
}

func refusePassword() error {
	return fault.New(fault.Unauthorized, "wrong_password", "the password is wrong")
}

// findSQL selects a link that has not ended. $1 tenant, $2 digest of the token, $3 now, $4
// wrong passwords that close it.
const findSQL = `
	SELECT shared.id, shared.kind, shared.record_id, shared.language, shared.narrowed, shared.password_hash,
		shared.created_by
	FROM shared_documents AS shared
	JOIN tenants ON tenants.id = shared.tenant_id
	WHERE shared.tenant_id = $1
		AND shared.token_hash = $2
		AND shared.expires_at > $3
		AND shared.wrong_passwords < $4
		AND tenants.status = 'active'`

// Find is the link with a token. One that is guessed, late, revoked or closed, and one
// whose sharer left or no longer leads, is fault.NotFound.
func (s *Service) Find(ctx context.Context, token string) (*Shared, error) {
	tenant, ok := tenantOf(token)
	if !ok {
		return nil, refuseDead()
	}
	var found *Shared
	sharer, narrowed := "", ""
	err := s.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		args := []any{tenant, secrets.Digest(token), s.store.Now(), mostWrong}
		return tx.Query(findSQL, args, func(r *db.Row) error {
			found = &Shared{id: r.Text(0), kind: r.Text(1), of: sheets.Wish{ID: r.Text(2), Language: r.Text(3)},
				hash: r.Text(5)}
			narrowed, sharer = r.Text(4), r.Text(6)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("share: find the link: %w", err)
	}
	if found == nil {
		return nil, refuseDead()
	}
	if narrowed != "" {
		if err := json.Unmarshal([]byte(narrowed), &found.of.By); err != nil {
			return nil, fmt.Errorf("share: read what the list is narrowed by: %w", err)
		}
	}
	found.sharer, err = s.identity.Member(ctx, tenant, sharer)
	if fault.Is(err, fault.NotFound) || err == nil && (found.sharer.Suspended || !mayShare(found.sharer)) {
		return nil, refuseDead()
	}
	if err != nil {
		return nil, fmt.Errorf("share: read who shared it: %w", err)
	}
	return found, nil
}

// Open is the document of a link, as whoever shared it reads it now. A wrong password is
// fault.Unauthorized, and the last of ten closes the link; a document that the sharer can
// no longer print is fault.NotFound, as the link is. by says where the request came from.
func (s *Service) Open(ctx context.Context, by actor.Actor, token, password string) (*Document, error) {
	x, err := s.Find(ctx, token)
	if err != nil {
		return nil, err
	}
	by = actor.Actor{Role: actor.Service, TenantID: x.sharer.TenantID, KeyID: "shared-document:" + x.id,
		RequestID: by.RequestID, Address: by.Address}
	// It counts before it is looked at: those that are sent at once are no more than others.
	if err := s.countTry(ctx, by, x, 1); err != nil {
		return nil, err
	}
	kept := context.WithoutCancel(ctx) // a reader who leaves meanwhile leaves no try that was none
	isRight, err := s.identity.Matches(ctx, x.hash, password)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("share: %w", err), s.countTry(kept, by, x, -1))
	}
	if !isRight {
		return nil, cmp.Or(s.keepWrong(kept, by, x), refusePassword())
	}
	if err := s.countTry(kept, by, x, -1); err != nil {
		return nil, err
	}
	d, err := s.printShared(ctx, x)
	if err != nil {
		return nil, err
	}
	return d, s.keepOpened(ctx, by, x)
}

// printShared makes the document as whoever shared it reads it.
func (s *Service) printShared(ctx context.Context, x *Shared) (*Document, error) {
	for _, k := range s.printer.Kinds() {
		if k.Name != x.kind {
			continue
		}
		d, name, err := k.Print(ctx, x.sharer, x.of)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.Conflict) {
			return nil, refuseDead()
		}
		if err != nil {
			return nil, err
		}
		body, err := d.PDF(s.printer.Now())
		return &Document{name, body}, err
	}
	return nil, refuseDead()
}

// countTry counts a try as a wrong one, or takes it back when it turns out not to be.
func (s *Service) countTry(ctx context.Context, by actor.Actor, x *Shared, step int64) error {
	return s.store.DB().Write(ctx, store.Scope(by), func(tx *db.Tx) error {
		t := s.store.Unaudited().In(tx, by)
		row, err := lockLink(t, x.id)
		if err != nil {
			return err
		}
		wrong := row.WrongPasswords() + step
		if step > 0 && wrong > mostWrong {
			return refuseDead()
		}
		return t.UpdateEach(resource, []store.Row{{"id": x.id, wrongColumn: wrong}})
	})
}

// lockLink is the row of a link that nobody revoked meanwhile.
func lockLink(tx *store.Tx, id string) (record.SharedDocument, error) {
	rows, err := record.List[record.SharedDocument](tx, "id IN {ids $2} {for update}", query.List([]string{id}))
	if err != nil {
		return nil, fmt.Errorf("share: lock the link: %w", err)
	}
	if len(rows) == 0 {
		return nil, refuseDead()
	}
	return rows[0], nil
}

// keepWrong tells the audit log of a wrong password.
func (s *Service) keepWrong(ctx context.Context, by actor.Actor, x *Shared) error {
	return s.store.DB().Write(ctx, store.Scope(by), func(tx *db.Tx) error {
		s.tellAudit(tx, by, x, "shared_documents.wrong_password", "refused")
		return nil
	})
}

// keepOpened counts that the document was read, and tells the audit log.
func (s *Service) keepOpened(ctx context.Context, by actor.Actor, x *Shared) error {
	return s.store.DB().Write(ctx, store.Scope(by), func(tx *db.Tx) error {
		t := s.store.Unaudited().In(tx, by)
		row, err := lockLink(t, x.id)
		if err != nil {
			return err
		}
		s.tellAudit(tx, by, x, "shared_documents.opened", "")
		return t.UpdateEach(resource, []store.Row{{"id": x.id, openedColumn: row.Opened() + 1,
			"opened_at": query.FormatTime(s.store.Now())}})
	})
}

func (s *Service) tellAudit(tx *db.Tx, by actor.Actor, x *Shared, action, outcome string) {
	audit.Write(tx, audit.Entry{Tenant: by.TenantID, At: s.store.Now(), By: by, Action: action, Outcome: outcome,
		EntityType: resource, EntityID: x.id})
}
