// Package share lends a document of safety to somebody without an account: an auditor or
// insurer holds a link and a password, which admit to that document and to nothing else. A
// screen in a hall holds a link to figures without a person.
//
// Layer: domains. Begin at [New].
package share

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/sheets"
	"holdfast/internal/secrets"
	"holdfast/internal/store"
)

// resource is the collection of links.
const resource = "shared_documents"

// Columns of a link.
const (
	wrongColumn  = "wrong_passwords"
	openedColumn = "opened"
	idColumn     = "id"
	endColumn    = "expires_at"
)

// Bounds of a link.
const (
	DefaultDays  = 7
	MostDays     = 90
	mostWrong    = 10 // passwords, after which a link is closed for good
	secretLength = 32 // bytes that cannot be guessed
)

// Identity is what links need to know of accounts.
type Identity struct {
	// Member is an active member of a tenant as its requests would be made; fault.NotFound for
	// one who left, or whose account is banned or gone.
	Member func(ctx context.Context, tenant, user string) (actor.Actor, error)
	// CheckPassword refuses a new password that is too short, too weak, or of these words.
	CheckPassword func(password string, words []string) error
	// Hash hashes a password to keep, and Matches compares one with what is kept.
	Hash    func(ctx context.Context, password string) (string, error)
	Matches func(ctx context.Context, hash, password string) (bool, error)
}

// Service makes links and answers those who hold one.
type Service struct {
	store    *store.Store
	printer  *sheets.Printer
	identity Identity
}

// New returns a service that lends what p prints.
func New(s *store.Store, p *sheets.Printer, of Identity) *Service { return &Service{s, p, of} }

// Wish is what is asked of a new link.
type Wish struct {
	Kind      sheets.Kind
	Of        sheets.Wish
	ExpiresAt string // RFC 3339; "" = after Days
	Days      *int   // nil = DefaultDays
	Password  string
}

// Link is a new link. The token is told here, and never again.
type Link struct {
	ID, Token, ExpiresAt string
}

// mayShare reports who lends documents: a person who leads, and no key.
func mayShare(a actor.Actor) bool {
	return a.UserID != "" && a.KeyID == "" && slices.Contains(actor.Leaders, a.Role)
}

// MakeLink makes a link to a document that the caller can print now: what cannot be printed
// is refused as the document itself is. Roles that do not lead, and keys, are
// fault.Forbidden.
func (s *Service) MakeLink(ctx context.Context, a actor.Actor, w Wish) (*Link, error) {
	if !mayShare(a) {
		return nil, fault.New(fault.Forbidden, "42501", "documents are shared by owners, administrators, managers "+
			"and safety officers, signed in as themselves: your role is %s", a.Role)
	}
	until, err := s.readEnd(w)
	if err != nil {
		return nil, err
	}
	if w.Password == "" {
		return nil, fault.New(fault.Invalid, "22023",
			"a link has a password: give one, and tell it on another way than the link").
			At("password", "is missing")
	}
	if err := s.identity.CheckPassword(w.Password, nil); err != nil {
		return nil, fault.As(err).At("password", "is too weak")
	}
	_, name, err := w.Kind.Print(ctx, a, w.Of)
	if err != nil {
		return nil, err
	}
	hash, err := s.identity.Hash(ctx, w.Password)
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	token := newToken(a.TenantID)
	row := record.SharedDocument{idColumn: db.NewID(), "kind": w.Kind.Name, "record_id": db.Null(w.Of.ID), "name": name,
		"language": db.Null(w.Of.Language), endColumn: query.FormatTime(until), "token_hash": secrets.Digest(token),
		"password_hash": hash}
	if !w.Kind.IsOfRecord() {
		narrowed, err := json.Marshal(w.Of.By)
		if err != nil {
			return nil, fmt.Errorf("share: %w", err)
		}
		row.SetNarrowed(string(narrowed))
	}
	err = s.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		_, err := record.Insert(s.store.In(tx, a), []record.SharedDocument{row})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Link{row.ID(), token, row.ExpiresAt()}, nil
}

// readEnd is the moment at which a new link ends.
func (s *Service) readEnd(w Wish) (time.Time, error) {
	now := s.store.Now()
	if w.ExpiresAt == "" {
		days := DefaultDays
		if w.Days != nil {
			days = *w.Days
		}
		if days < 1 || days > MostDays {
			return now, safety.RefuseField("expires_in_days", "is 1 to %d", MostDays)
		}
		return now.AddDate(0, 0, days), nil
	}
	if w.Days != nil {
		return now, safety.RefuseField("expires_in_days", "stands beside expires_at: give one of them")
	}
	at, err := time.Parse(time.RFC3339Nano, w.ExpiresAt)
	if err != nil {
		return now, safety.RefuseField("expires_at", "is no moment: 2006-01-02T15:04:05Z")
	}
	if !at.After(now) || at.After(now.AddDate(0, 0, MostDays)) {
		return now, safety.RefuseField("expires_at", "lies within %d days from now", MostDays)
	}
	return at, nil
}

// newToken is 16 bytes of tenant and 32 random ones: the tenant is found without looking
// beyond it, the rest cannot be guessed.
func newToken(tenant string) string {
	id := uuid.MustParse(tenant)
	secret := make([]byte, secretLength)
	rand.Read(secret) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(append(id[:], secret...))
}

// tokenLength is of the text of a token.
const tokenLength = (16 + secretLength) * 8 / 6

// tenantOf is the tenant that a token belongs to.
func tenantOf(token string) (string, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 16+secretLength || len(token) != tokenLength { // the decoder passes over line breaks
		return "", false
	}
	id, err := uuid.FromBytes(raw[:16])
	return id.String(), err == nil
}
