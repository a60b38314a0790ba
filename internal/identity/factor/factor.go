// Package factor keeps second factors: authenticator apps, texted codes, security
// keys and recovery codes, the questions put to them, and how often an answer may be
// wrong. It works inside its caller's transaction and knows no session but by
// its id.
//
// Layer: domains. Begin at [Keeper].
package factor

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/totp"
	"holdfast/internal/secrets"
)

// Kinds and states of factors, as the wire names them.
const (
	TOTP       = "totp"
	Phone      = "phone"
	WebAuthn   = "webauthn"
	Verified   = "verified"
	Unverified = "unverified"
)

// Max is how many factors an account may have.
const Max = 10

// unprovedLife is how long a factor waits for its first answer: no shorter than a
// question to it does.
func (k *Keeper) unprovedLife() time.Duration { return max(5*time.Minute, k.Life) }

// Factor is one second factor as supabase-js reads it.
type Factor struct {
	ID               string          `json:"id"`
	FriendlyName     string          `json:"friendly_name,omitempty"`
	Kind             string          `json:"factor_type"`
	Status           string          `json:"status"`
	Phone            string          `json:"phone,omitempty"`
	CreatedAt        gotruetime.Time `json:"created_at"`
	UpdatedAt        gotruetime.Time `json:"updated_at"`
	LastChallengedAt gotruetime.Time `json:"last_challenged_at,omitzero"`

	UserID     string `json:"-"`
	sealed     []byte
	lastStep   int64
	credential string
	passedFrom Places
}

// Owner is the account a factor belongs to, and the session at work.
type Owner struct {
	UserID, SessionID string
	Email             string
	From              string // the group of addresses that the session is in, as web.AddressKey names it
}

func (o Owner) passkeyPerson(known ...string) passkey.Person {
	name := o.Email
	if name == "" {
		name = o.UserID
	}
	return passkey.Person{ID: o.UserID, Name: name, Known: known}
}

// Keeper does the work; safe for concurrent use.
type Keeper struct {
	Keys   secrets.Keys
	Now    func() time.Time
	Life   time.Duration    // of a question
	Web    *passkey.Relying // nil = no security keys
	Issuer string           // shown by authenticator apps when the client names none
	Texts  Texts
	Apps   Apps

	SameAddress bool // an answer comes from where the question was asked from
}

// Apps says what authenticator apps may not do any more.
type Apps struct{ NoEnrol, NoVerify bool }

const columns = "id, user_id, friendly_name, kind, status, phone, secret, last_step, credential, last_challenged_at, created_at, updated_at, passed_from"

func scanFactor(r *db.Row) Factor {
	at := func(i int) gotruetime.Time { return gotruetime.Time{Time: r.Time(i)} }
	f := Factor{ID: r.Text(0), UserID: r.Text(1), FriendlyName: r.Text(2), Kind: r.Text(3), Status: r.Text(4),
		Phone: r.Text(5), sealed: r.Bytes(6), lastStep: r.Int(7),
		credential: r.Text(8), LastChallengedAt: at(9), CreatedAt: at(10), UpdatedAt: at(11)}
	f.passedFrom = ReadPlaces(r.Text(12))
	return f
}

// Queue reads the factors that where names, a text of the caller's own, in order
// of enrolment, with the caller's next flush.
func Queue(tx *db.Tx, where string, args []any, each func(Factor)) {
	tx.Queue(db.FillWords(`
		SELECT {columns}
		FROM mfa_factors
		WHERE {where}
		ORDER BY created_at NULLS LAST, id`, "{columns}", columns, "{where}", where), args,
		func(r *db.Row) error {
			each(scanFactor(r))
			return nil
		})
}

// List returns the factors of an account in order of enrolment.
func List(tx *db.Tx, userID string) ([]Factor, error) {
	list := []Factor{}
	Queue(tx, "user_id = $1", []any{userID}, func(f Factor) { list = append(list, f) })
	return list, tx.Flush()
}

// On reports a verified factor in the list: whether the account is protected.
func On(list []Factor) bool {
	for _, f := range list {
		if f.Status == Verified {
			return true
		}
	}
	return false
}

// isCanonicalID keeps text that is no id away from the engine's uuid type.
func isCanonicalID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

func errNoFactor() error {
	return fault.New(fault.NotFound, "mfa_factor_not_found", "Factor not found")
}

// Find returns a live factor of an account: one not yet verified lives for
// unprovedLife.
func (k *Keeper) Find(tx *db.Tx, userID, id string) (Factor, error) {
	var f Factor
	if !isCanonicalID(id) {
		return f, errNoFactor()
	}
	err := tx.One(db.FillWords(`
		SELECT {columns}
		FROM mfa_factors
		WHERE id = $1
			AND user_id = $2
		{for update}`, "{columns}", columns),
		[]any{id, userID}, func(r *db.Row) error {
			f = scanFactor(r)
			return nil
		})
	if fault.Is(err, fault.NotFound) || err == nil && f.Status == Unverified &&
		!k.Now().Before(f.CreatedAt.Add(k.unprovedLife())) {
		return f, errNoFactor()
	}
	return f, err
}

// Enrol asks for a new factor.
type Enrol struct {
	Kind, FriendlyName string
	Issuer             string // of an app
	Phone              string // of texted codes: digits with the country code first
}

// Enrolled is a new factor and, for an app, what it is set up with.
type Enrolled struct {
	ID           string     `json:"id"`
	Kind         string     `json:"type"`
	FriendlyName string     `json:"friendly_name,omitempty"`
	Phone        string     `json:"phone,omitempty"`
	TOTP         *TOTPSetup `json:"totp,omitempty"`
}

// TOTPSetup is what an authenticator app is told: the same secret three times.
type TOTPSetup struct {
	QRCode string `json:"qr_code"` // SVG text
	Secret string `json:"secret"`  // base32
	URI    string `json:"uri"`     // otpauth:
}

func (k *Keeper) checkEnrolment(e *Enrol) error {
	switch e.Kind {
	case TOTP:
		if k.Apps.NoEnrol {
			return fault.New(fault.Unprocessable, "mfa_totp_enroll_not_enabled", "MFA enroll is disabled for TOTP")
		}
	case WebAuthn:
		if k.Web == nil {
			return fault.New(fault.Unprocessable, "mfa_webauthn_enroll_not_enabled", "MFA enroll is disabled for WebAuthn")
		}
	case Phone:
		if !k.Texts.Enrol {
			return fault.New(fault.Unprocessable, "mfa_phone_enroll_not_enabled", "MFA enroll is disabled for Phone")
		}
	default:
		return fault.New(fault.Invalid, "validation_failed", "factor_type needs to be totp, phone, or webauthn")
	}
	e.FriendlyName = strings.TrimSpace(e.FriendlyName)
	return checkName(e.FriendlyName)
}

func checkName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > 100 || strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f
	}) {
		return fault.New(fault.Invalid, "validation_failed",
			"friendly_name: use at most 100 characters and no control characters")
	}
	return nil
}

const enrolSQL = `
	INSERT INTO mfa_factors (id, user_id, friendly_name, kind, status, phone, secret, created_at, updated_at)
	VALUES ($1, $2, $3, $4, 'unverified', $5, $6, $7, $7)`

// Enrol makes an unverified factor. Others that were never verified in time
// make room.
func (k *Keeper) Enrol(tx *db.Tx, o Owner, e Enrol) (Enrolled, error) {
	if err := k.checkEnrolment(&e); err != nil {
		return Enrolled{}, err
	}
	now := k.Now()
	tx.Queue(`
		DELETE FROM mfa_factors
		WHERE user_id = $1
			AND status = 'unverified'
			AND created_at <= $2`,
		[]any{o.UserID, now.Add(-k.unprovedLife())}, nil)
	list, err := List(tx, o.UserID)
	if err != nil {
		return Enrolled{}, err
	}
	if e.Kind == Phone {
		if list, err = roomFor(tx, list, e.Phone); err != nil {
			return Enrolled{}, err
		}
	}
	if len(list) >= Max {
		return Enrolled{}, fault.New(fault.Unprocessable, "too_many_enrolled_mfa_factors",
			"Maximum number of verified factors reached, unenroll to continue")
	}
	if err := checkUniqueName(list, "", e.FriendlyName); err != nil {
		return Enrolled{}, err
	}
	out := Enrolled{ID: db.NewID(), Kind: e.Kind, FriendlyName: e.FriendlyName}
	if e.Kind == Phone {
		out.Phone = e.Phone
	}
	var sealed any
	if e.Kind == TOTP {
		secret := totp.NewSecret()
		if out.TOTP, err = k.setupTOTP(secret, e.Issuer, o); err != nil {
			return Enrolled{}, err
		}
		sealed = k.Keys.Close(secrets.FactorSecret, []byte(secret), out.ID)
	}
	_, err = tx.Exec(enrolSQL, out.ID, o.UserID, db.Null(e.FriendlyName), e.Kind, db.Null(out.Phone), sealed, now)
	return out, err
}

func checkUniqueName(list []Factor, except, name string) error {
	for _, f := range list {
		if name != "" && f.FriendlyName == name && f.ID != except {
			return fault.New(fault.Unprocessable, "mfa_factor_name_conflict",
				"A factor with the friendly name %q for this user already exists", name)
		}
	}
	return nil
}

func (k *Keeper) setupTOTP(secret totp.Secret, issuer string, o Owner) (*TOTPSetup, error) {
	if issuer == "" {
		issuer = k.Issuer
	}
	if len(issuer) > 100 || !utf8.ValidString(issuer) || strings.ContainsRune(issuer, ':') &&
		strings.Contains(issuer, "://") {
		return nil, fault.New(fault.Invalid, "validation_failed", "issuer: use a name of at most 100 characters")
	}
	account := o.Email
	if account == "" {
		account = o.UserID
	}
	uri := secret.URI(issuer, account)
	svg, err := totp.QR(uri)
	if err != nil {
		return nil, err
	}
	return &TOTPSetup{QRCode: svg, Secret: string(secret), URI: uri}, nil
}

// Rename sets the friendly name of a factor.
func (k *Keeper) Rename(tx *db.Tx, f Factor, name string) (Factor, error) {
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return f, err
	}
	list, err := List(tx, f.UserID)
	if err == nil {
		err = checkUniqueName(list, f.ID, name)
	}
	if err != nil {
		return f, err
	}
	f.FriendlyName, f.UpdatedAt = name, gotruetime.Time{Time: k.Now()}
	_, err = tx.Exec(`
		UPDATE mfa_factors
		SET friendly_name = $2, updated_at = $3
		WHERE id = $1`, f.ID, db.Null(name),
		k.Now())
	return f, err
}

// Remove deletes a factor, its challenges and, when it was the last verified
// one, the recovery codes that stood in for it.
func (k *Keeper) Remove(tx *db.Tx, f Factor) error {
	dropFactor(tx, f.ID)
	list, err := List(tx, f.UserID)
	if err != nil || On(list) {
		return err
	}
	dropCodes(tx, f.UserID)
	return tx.Flush()
}

// dropFactor deletes a factor and what was asked of it.
func dropFactor(tx *db.Tx, id string) {
	dropChallenges(tx, id)
	tx.Queue("DELETE FROM mfa_factors WHERE id = $1", []any{id}, nil)
}

func dropChallenges(tx *db.Tx, factor string) {
	tx.Queue("DELETE FROM challenges WHERE factor_id = $1", []any{factor}, nil)
}

// Forget deletes all an account has here.
func Forget(tx *db.Tx, userID string) {
	for _, table := range []string{"challenges", "mfa_factors", "recovery_codes", "mfa_attempts"} {
		tx.Queue(db.FillWords(`
			DELETE FROM {table}
			WHERE user_id = $1`, "{table}", table), []any{userID}, nil)
	}
}

// Challenge is a question as the client sees it.
type Challenge struct {
	ID        string         `json:"id"`
	Kind      string         `json:"type"`
	ExpiresAt int64          `json:"expires_at"` // Unix seconds
	WebAuthn  *WebAuthnOffer `json:"webauthn,omitempty"`
	Digits    string         `json:"-"` // the code to text to the factor's number
}

// WebAuthnOffer is what the browser's navigator.credentials is called with.
type WebAuthnOffer struct {
	Type    string `json:"type"` // create or request
	Options struct {
		PublicKey json.RawMessage `json:"publicKey"`
	} `json:"credential_options"`
}
