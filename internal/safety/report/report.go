// Package report takes reports of what is unsafe from people without
// an account: they hold a link, usually a QR code on the wall, that names the
// place and admits to nothing else.
//
// Layer: domains. Begin at [New].
package report

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/photo"
	"holdfast/internal/secrets"
	"holdfast/internal/store"
)

// Setting switches a tenant's public report pages on: true in section safety.
// Without it they are off.
const Setting = "public_reports"

// Effects gives links their token and checks the setting.
func Effects() store.Effects {
	return store.Effects{Before: map[string]store.Effect{"report_links": fillLinks, "settings": checkSetting}}
}

func fillLinks(_ *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.ReportLink](changes) {
		if c.Op != store.Insert {
			continue
		}
		tenant := c.After.TenantID()
		token, err := newToken(tenant)
		if err != nil {
			return err
		}
		c.After.SetToken(token)
	}
	return nil
}

func checkSetting(_ *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.Setting](changes) {
		key := c.After.Key()
		value := c.After.Value()
		if c.Op != store.Delete && strings.EqualFold(key, Setting) && string(value) != "true" && string(value) != "false" {
			return fault.New(fault.Unprocessable, "22023", "setting %s must be true or false", Setting).At("value", "must be true or false")
		}
	}
	return nil
}

// newToken makes a link's token.
func newToken(tenant string) (string, error) {
	secret := make([]byte, 16)
	rand.Read(secret) // never fails (crypto/rand)
	if token := Token(tenant, secret); token != "" {
		return token, nil
	}
	return "", fmt.Errorf("report: %q is no tenant", tenant)
}

// Token is 16 bytes of tenant and the secret, of 16 random ones: the tenant is
// found without looking beyond it, the rest cannot be guessed. It is "" for a
// tenant that is no UUID.
func Token(tenant string, secret []byte) string {
	id, err := uuid.Parse(tenant)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(id[:], secret...))
}

// tenantOf is the tenant a token belongs to.
func tenantOf(token string) (string, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 32 || len(token) != 43 { // the decoder passes over line breaks
		return "", false
	}
	id, err := uuid.FromBytes(raw[:16])
	return id.String(), err == nil
}

// Service takes reports.
type Service struct {
	store *store.Store
	album *photo.Store
}

// New returns a desk.
func New(s *store.Store, a *photo.Store) *Service { return &Service{s, a} }

// Form is what a report says. Once is the form's own number: the same form with
// the same words sent twice is one report.
type Form struct {
	Once     string    // 32 hexadecimal digits
	Kind     string    // one of kinds
	Severity string    // what could have happened, of an injury what did: low, medium, high, critical
	Where    string    // code of a zone, or words for it; not asked when the link names the zone
	What     string    // at most 5,000 characters
	When     string    // local, 2006-01-02T15:04; now when empty
	Name     string    // empty = anonymous
	Photo    io.Reader // nil = none

	WhereSaid string // the page's word before a place that is no zone's code
}

// NewOnce makes a form's number.
func NewOnce() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

const clock = "2006-01-02T15:04"

// kinds are what the page asks about; the other kinds are told apart by an officer.
var kinds = strings.Fields("near_miss hazard injury property_damage environmental")

// injuryKind is the kind of which it is asked how bad it is, not how bad it could have been.
const injuryKind = "injury"

// bounds of what is typed.
const (
	longestWhere = 200
	longest      = 5000
	longestName  = 100
	titleLength  = 80
	oldest       = 366 * 24 * time.Hour
)

// checkForm reads the form; each refused field is named, all at once.
func (f *Form) checkForm(p *Place, now time.Time) (at time.Time, err error) {
	e := fault.New(fault.Invalid, safety.CodeReport, "the report is not complete")
	f.What, f.Name, f.Where = strings.TrimSpace(plainText(f.What)), onOneLine(f.Name), onOneLine(f.Where)
	if raw, err := hex.DecodeString(f.Once); err != nil || len(raw) != 16 {
		e.At("once", "open the page anew")
	}
	if !slices.Contains(kinds, f.Kind) {
		e.At("kind", "choose one")
	}
	switch f.Severity {
	case "low", "medium", "high", "critical":
	default:
		e.At("severity", "choose one")
	}
	switch n := utf8.RuneCountInString(f.What); {
	case n < 3:
		e.At("what", "say what happened")
	case n > longest:
		e.At("what", "at most %d characters", longest)
	}
	if utf8.RuneCountInString(f.Where) > longestWhere {
		e.At("where", "at most %d characters", longestWhere)
	}
	if utf8.RuneCountInString(f.Name) > longestName {
		e.At("name", "at most %d characters", longestName)
	}
	at = now
	if f.When != "" {
		t, perr := time.ParseInLocation(clock, f.When, p.Location)
		switch {
		case perr != nil:
			e.At("when", "not a date and time")
		case t.After(now.Add(5 * time.Minute)):
			e.At("when", "lies in the future")
		case now.Sub(t) > oldest:
			e.At("when", "lies more than a year back")
		}
		if at = t; t.After(now) {
			at = now
		}
	}
	if len(e.Fields) > 0 {
		return at, e
	}
	return at, nil
}

// onOneLine is a text without line breaks and without spaces around or beside others.
func onOneLine(s string) string { return strings.Join(strings.Fields(plainText(s)), " ") }

// plainText takes out what is no text: broken UTF-8 and control characters.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// Receipt is what whoever reported keeps of it.
type Receipt struct {
	Number string // of the incident
	Code   string // of the follow-up: kept nowhere else, and told once
}

// Submit writes the report as an incident and returns its receipt. The same form
// sent again gets the same. Faults name the fields (once, kind,
// severity, where, what, when, name, photo).
func (d *Service) Submit(ctx context.Context, a actor.Actor, p *Place, f *Form) (Receipt, error) {
	no, err := d.submitForm(ctx, a, p, f)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{no, f.formCode()}, nil
}

func (d *Service) submitForm(ctx context.Context, a actor.Actor, p *Place, f *Form) (string, error) {
	now := d.store.Now()
	at, err := f.checkForm(p, now)
	if err != nil {
		return "", err
	}
	a = linkActor(a, p)
	if no, err := d.findSent(ctx, p, f); err != nil || no != "" {
		return no, err
	}
	row, err := d.incidentOf(ctx, p, f, at)
	if err != nil {
		return "", err
	}
	var kept *photo.Kept
	if f.Photo != nil {
		if kept, err = d.album.Develop(ctx, f.Photo); err != nil {
			return "", err
		}
	}
	no, err := d.writeIncident(ctx, a, row, kept)
	if kept != nil && fault.HasCode(err, photo.CodeFull) { // the report counts for more than its photo
		d.album.Discard(ctx, kept, err)
		kept = nil
		no, err = d.writeIncident(ctx, a, row, nil)
	}
	if err == nil {
		return no, nil
	}
	if kept != nil {
		d.album.Discard(ctx, kept, err)
	}
	if fault.HasCode(err, "23505") { // sent twice at once: the other one was first
		if no, again := d.findSent(ctx, p, f); again == nil && no != "" {
			return no, nil
		}
	}
	return "", err
}

// formReference marks the incident of a form. Who goes back, writes something else and
// sends again makes another report.
func (f *Form) formReference() string {
	sum := sha256.Sum256([]byte(f.joinedAnswers()))
	return "report:" + hex.EncodeToString(sum[:16])
}

func (f *Form) joinedAnswers() string {
	return strings.Join([]string{f.Once, f.Kind, f.Severity, f.When, f.Name, f.What, f.Where}, "\x00")
}

// findSent is the number of the incident that this form has become.
func (d *Service) findSent(ctx context.Context, p *Place, f *Form) (no string, err error) {
	err = d.store.DB().Read(ctx, db.Scope{Tenant: p.tenantID}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT incident_no
			FROM incidents
			WHERE tenant_id = $1
				AND external_ref = $2`, []any{p.tenantID, f.formReference()}, func(r *db.Row) error {
			no = r.Text(0)
			return nil
		})
	})
	if err != nil {
		return "", fmt.Errorf("report: look for the form: %w", err)
	}
	return no, nil
}

// incidentOf is the incident that a report makes. How bad something could have been is no
// severity: that is the least, but for an injury, of which the page asks how bad it is.
func (d *Service) incidentOf(ctx context.Context, p *Place, f *Form, at time.Time) (record.Incident, error) {
	zone, err := d.findZone(ctx, p, f.Where)
	if err != nil {
		return nil, err
	}
	severity, potential, said := "low", db.Null(f.Severity), f.What
	if f.Kind == injuryKind {
		severity, potential = f.Severity, nil
	}
	if f.Where != "" && zone == nil {
		said += "\n\n" + f.WhereSaid + ": " + f.Where
	}
	return record.Incident{"kind": f.Kind, "severity": severity, "potential_severity": potential,
		"title":       shortTitle(f.What),
		"description": said, "occurred_at": query.FormatTime(at), "occurred_tz": p.Location.String(), "site_id": p.site,
		"zone_id": zone, "anonymous": f.Name == "", "reporter_name": db.Null(f.Name),
		"external_ref": f.formReference(), "follow_hash": secrets.Digest(f.formCode())}, nil
}

// writeIncident writes the incident of a report with its photo, if it has one.
func (d *Service) writeIncident(
	ctx context.Context, a actor.Actor, row record.Incident, kept *photo.Kept,
) (
	no string, err error,
) {
	err = d.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		rows, err := record.Insert(d.store.In(tx, a), []record.Incident{row})
		if err != nil {
			return err
		}
		no = rows[0].IncidentNo()
		if kept == nil {
			return nil
		}
		id := rows[0].ID()
		of, _ := photo.OwnerOf("incidents", id)
		_, err = d.album.AddTx(tx, a, of, "", kept)
		return err
	})
	return no, err
}

// shortTitle is the beginning of a text, up to a word's end, on one line.
func shortTitle(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= titleLength {
		return s
	}
	s = string([]rune(s)[:titleLength])
	if i := strings.LastIndexByte(s, ' '); i > titleLength/2 {
		s = s[:i]
	}
	return s + "…"
}

// Rotate gives a link a new token; codes printed before no longer work.
func (d *Service) Rotate(ctx context.Context, a actor.Actor, id string) (store.Row, error) {
	var row store.Row
	err := d.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		r, err := d.linksResource(a, true)
		if err != nil {
			return err
		}
		token, err := newToken(a.TenantID)
		if err != nil {
			return err
		}
		changes, err := d.store.In(tx, a).ChangeRows(r.Name, []string{id}, store.Row{"token": token, "rotated_at": query.FormatTime(d.store.Now())})
		if err == nil && len(changes) == 0 {
			return fault.New(fault.NotFound, "PGRST116", "there is no such link")
		}
		if err == nil {
			row = changes[0].After
		}
		return err
	})
	return row, err
}

// Link returns a link's record, to those who may read links.
func (d *Service) Link(ctx context.Context, a actor.Actor, id string) (store.Row, error) {
	r, err := d.linksResource(a, false)
	if err != nil {
		return nil, err
	}
	var rows []store.Row
	err = d.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		rows, err = d.store.In(tx, a).Rows(r.Name, "id IN {ids $2}", query.List([]string{id}))
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("report: read the link: %w", err)
	case len(rows) == 0:
		return nil, fault.New(fault.NotFound, "PGRST116", "there is no such link")
	}
	return rows[0], nil
}
