package admin

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
)

// The first administrator is made by a link that the server prints when it
// starts. Its token needs no row: it is a time and a keyed hash of it, and it
// ends with its time or with the first administrator, whichever comes first.

// setupLife is how long a set-up link holds.
const setupLife = 30 * time.Minute

// setupMAC is how many bytes of a token vouch for the time before them.
const setupMAC = 24

// FirstSetupLink returns the address of the page that makes the first
// administrator, good for half an hour. The token stands behind the #, which
// browsers send to no server.
func (s *Administration) FirstSetupLink() string {
	return s.Config.Console() + "#setup=" + s.setupToken(s.Now().Add(setupLife))
}

func (s *Administration) setupToken(until time.Time) string {
	moment := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	sum := s.Secrets.Sum("setup", string(moment))[:setupMAC]
	return base64.RawURLEncoding.EncodeToString(append(moment, sum...))
}

// setupStands reports a token of setupToken whose time is not over.
func (s *Administration) setupStands(token string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 8+setupMAC {
		return false
	}
	until := time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)
	return hmac.Equal([]byte(s.setupToken(until)), []byte(token)) && s.Now().Before(until)
}

// HasAdministrator reports whether any tenant has an active owner or
// administrator. Once there was one, the database is not asked again.
func (s *Administration) HasAdministrator(ctx context.Context) (bool, error) {
	if s.administered.Load() {
		return true, nil
	}
	found := false
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		found, err = hasAdministrator(tx)
		return err
	})
	if found {
		s.administered.Store(true)
	}
	return found, err
}

const administratorSQL = `
	SELECT 1
	FROM members AS member
	JOIN users AS account ON account.id = member.user_id
	WHERE member.role IN ('owner', 'admin')
		AND member.status = 'active'
		AND account.deleted_at IS NULL
	LIMIT 1`

func hasAdministrator(tx *db.Tx) (found bool, err error) {
	err = tx.Query(administratorSQL, nil, func(*db.Row) error {
		found = true
		return nil
	})
	return found, err
}

// FirstSetup asks for the first administrator and the organisation.
type FirstSetup struct {
	Token, Organisation, Email, Password string
}

// SetUp makes the first administrator, an owner, and the organisation. A token
// that is forged, late or used is setup_link_invalid: it counts as used as soon
// as there is an administrator, however that one was made.
func (s *Administration) SetUp(ctx context.Context, in FirstSetup) error {
	if !s.setupStands(in.Token) {
		return errSetupLink()
	}
	if has, err := s.HasAdministrator(ctx); err != nil || has {
		return orElse(err, errSetupLink())
	}
	addr, err := accounts.Canonical(in.Email)
	if err != nil {
		return err
	}
	if err := s.checkAccount(ctx, in.Password, addr, in.Organisation); err != nil {
		return err
	}
	hash, err := s.Passwords.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return err
	}
	_, err = s.enrol(ctx, enrolment{email: addr, hash: hash, role: actor.Owner, tenant: in.Organisation,
		find: s.Tenants.FindOrMake, first: true})
	return err
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func errSetupLink() error {
	return fault.New(fault.Forbidden, "setup_link_invalid",
		"The set-up link was used before or is too old; `holdfast admin setup-link` prints a new one")
}
