package report

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/secrets"
	"holdfast/internal/store"
)

// What a follow-up code lets somebody do.
const (
	followTime   = 90 * 24 * time.Hour // the code of a report works so long after its end
	longestWords = 2000                // characters of one addition
	mostWords    = 20                  // additions to one report
)

// symbols are those of Crockford's base 32, in which nothing looks like anything else
// (https://www.crockford.com/base32.html).
const symbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// codeLength is in symbols of 5 bits: 100 bits.
const codeLength = 20

// formCode is the follow-up code of a form. It is made of the form's own random number and
// kept nowhere: the same form sent twice has the same code, and its receipt is the same.
func (f *Form) formCode() string {
	sum := sha256.Sum256([]byte("follow-up code\x00" + f.joinedAnswers()))
	code := make([]byte, codeLength)
	for i := range code {
		code[i] = symbols[sum[i]&31]
	}
	return string(code)
}

// GroupCode writes a code as people copy it: in fives.
func GroupCode(code string) string {
	var groups []string
	for ; len(code) > 5; code = code[5:] {
		groups = append(groups, code[:5])
	}
	return strings.Join(append(groups, code), "-")
}

var misread = strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")

// readCode is a typed code as it was made, or "" when it is none.
func readCode(typed string) string {
	code := misread.Replace(strings.ToUpper(typed))
	if len(code) != codeLength || strings.Trim(code, symbols) != "" {
		return ""
	}
	return code
}

// Progress is what a reporter learns of a report: no name and no word that somebody wrote. A
// report that is void as a duplicate has the state and the actions of the one it goes on with,
// and nothing else of that: its number is of somebody else's report.
type Progress struct {
	Number      string
	State       string // of the incident
	IsElsewhere bool   // state and actions are those of the report it is a duplicate of
	Open        int64  // actions that are not done
	Done        int64  // actions that are done

	incident string
}

func refuseCode() error {
	return fault.New(fault.NotFound, "PGRST116", "no report has this code")
}

// followSQL selects the incident with a follow-up code, and those that it is a duplicate of,
// in order. $1 tenant, $2 digest of the code, $3 since when an ended one counts as alive.
// A void incident alone goes on as another. Past 50, which only a circle has, it stops.
const followSQL = `
	WITH RECURSIVE followed (id, incident_no, status, duplicate_of, ended_at, hops) AS (
		SELECT id, incident_no, status, duplicate_of, COALESCE(closed_at, updated_at), 0
		FROM incidents
		WHERE tenant_id = $1
			AND follow_hash = $2
		UNION ALL
		SELECT original.id, original.incident_no, original.status, original.duplicate_of,
			COALESCE(original.closed_at, original.updated_at), followed.hops + 1
		FROM followed
		JOIN incidents AS original ON original.tenant_id = $1
			AND original.id = followed.duplicate_of
		WHERE followed.status = 'void'
			AND followed.hops < 50
	)
	SELECT id, incident_no, status, duplicate_of,
		CASE WHEN status NOT IN ('closed', 'void') OR ended_at > $3 THEN 1 ELSE 0 END
	FROM followed
	ORDER BY hops`

// A followed is a report on the way from the one with a code to the one that is worked on.
type followed struct {
	id, number, state string
	isPassedOn        bool // void as a duplicate
	isAlive           bool // it goes on, or ended less than followTime ago
}

// readFollowed reads the way of a report; it is empty for a code that no report has.
func readFollowed(tx *db.Tx, args []any) (way []followed, err error) {
	err = tx.Query(followSQL, args, func(r *db.Row) error {
		x := followed{id: r.Text(0), number: r.Text(1), state: r.Text(2), isAlive: r.Int(4) == 1}
		x.isPassedOn = x.state == "void" && !r.Null(3)
		way = append(way, x)
		return nil
	})
	return way, err
}

// Follow is what became of the report with a code, or fault.NotFound: no code, unknown,
// another tenant's, or of a report that ended more than followTime ago, as did the one that
// it is a duplicate of.
func (d *Service) Follow(ctx context.Context, p *Place, typed string) (*Progress, error) {
	code := readCode(typed)
	if code == "" {
		return nil, refuseCode()
	}
	var found *Progress
	err := d.store.DB().Read(ctx, db.Scope{Tenant: p.tenantID}, func(tx *db.Tx) error {
		way, err := readFollowed(tx, []any{p.tenantID, secrets.Digest(code), d.store.Now().Add(-followTime)})
		if err != nil || len(way) == 0 {
			return err
		}
		own, last := way[0], way[len(way)-1]
		if last.isPassedOn { // a circle of duplicates: nobody works on any of them
			last = own
		}
		if !own.isAlive && !last.isAlive {
			return nil
		}
		found = &Progress{incident: own.id, Number: own.number, State: last.state, IsElsewhere: last.id != own.id}
		return found.countActions(tx, p.tenantID, last.id)
	})
	if err != nil {
		return nil, fmt.Errorf("report: follow up: %w", err)
	}
	if found == nil {
		return nil, refuseCode()
	}
	return found, nil
}

// countActions counts the actions of the incident that is worked on.
func (f *Progress) countActions(tx *db.Tx, tenant, incident string) error {
	return tx.Query(`
		SELECT COALESCE(SUM(CASE WHEN status IN ('open', 'in_progress') THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN status IN ('done', 'verified') THEN 1 ELSE 0 END), 0)
		FROM actions
		WHERE tenant_id = $1
			AND incident_id = $2`, []any{tenant, incident}, func(r *db.Row) error {
		f.Open, f.Done = r.Int(0), r.Int(1)
		return nil
	})
}

// AddWords adds words to the report with a code and is what became of it. The words are a
// comment of the incident that says they are the reporter's; the same words twice are one.
// Faults name the field words.
func (d *Service) AddWords(ctx context.Context, a actor.Actor, p *Place, typed, words string) (*Progress, error) {
	found, err := d.Follow(ctx, p, typed)
	if err != nil {
		return nil, err
	}
	words = strings.TrimSpace(plainText(words))
	if n := utf8.RuneCountInString(words); n == 0 || n > longestWords {
		return found, safety.RefuseField("words", "has 1 to %d characters", longestWords)
	}
	a = linkActor(a, p)
	err = d.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		said, err := readAdditions(tx, p.tenantID, found.incident)
		if err != nil || said[words] {
			return err
		}
		if len(said) >= mostWords {
			return safety.RefuseField("words", "are not added: the report has %d additions", mostWords)
		}
		row := record.Comment{"incident_id": found.incident, "text": words, "from_reporter": true}
		_, err = record.Insert(d.store.In(tx, a), []record.Comment{row})
		return err
	})
	return found, err
}

// readAdditions are the words that the reporter of an incident added. The incident's row is
// the lock: additions at once cannot pass their bound.
func readAdditions(tx *db.Tx, tenant, incident string) (map[string]bool, error) {
	said := map[string]bool{}
	tx.Queue(`
		SELECT id
		FROM incidents
		WHERE tenant_id = $1
			AND id = $2
		{for update}`, []any{tenant, incident}, func(*db.Row) error { return nil })
	tx.Queue(`
		SELECT text
		FROM comments
		WHERE tenant_id = $1
			AND incident_id = $2
			AND from_reporter`, []any{tenant, incident}, func(r *db.Row) error {
		said[r.Text(0)] = true
		return nil
	})
	return said, tx.Flush()
}

// linkActor is who writes for somebody without an account.
func linkActor(a actor.Actor, p *Place) actor.Actor {
	return actor.Actor{Role: actor.Service, TenantID: p.tenantID, KeyID: "report-link:" + p.link,
		RequestID: a.RequestID, Address: a.Address}
}
