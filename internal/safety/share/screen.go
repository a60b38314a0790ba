package share

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/mingroup"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/sheets"
	"holdfast/internal/secrets"
	"holdfast/internal/store"
)

// screenResource is the collection of screens.
const screenResource = "wall_screens"

// Bounds of a screen.
const (
	DefaultScreenDays = 90
	MostScreenDays    = 366
	longestScreenName = 80
	seenEvery         = 15 * time.Minute // a screen asks twice a minute
	boardTTL          = 15 * time.Second
)

// Screens makes links to boards of a hall, and answers the screens that hold one.
type Screens struct {
	store  *store.Store
	boards cache.Memo[Board] // by screen: whoever has its link asks as often as they like
}

// NewScreens returns the screens of s.
func NewScreens(s *store.Store) *Screens { return &Screens{store: s} }

// ScreenWish is what is asked of a new screen.
type ScreenWish struct {
	Name, SiteID, CourseID, Language string
	Days                             *int // nil = DefaultScreenDays
}

// MakeScreen makes a screen. Roles that do not administer, and keys, are fault.Forbidden.
func (s *Screens) MakeScreen(ctx context.Context, a actor.Actor, w ScreenWish) (*Link, error) {
	if a.UserID == "" || a.KeyID != "" || a.Role != actor.Owner && a.Role != actor.Admin {
		return nil, fault.New(fault.Forbidden, "42501",
			"screens are made by owners and administrators, signed in as themselves: your role is %s", a.Role)
	}
	name, days := strings.TrimSpace(w.Name), DefaultScreenDays
	if w.Days != nil {
		days = *w.Days
	}
	switch {
	case name == "" || len([]rune(name)) > longestScreenName:
		return nil, safety.RefuseField("name", "is 1 to %d characters", longestScreenName)
	case days < 1 || days > MostScreenDays:
		return nil, safety.RefuseField("expires_in_days", "is 1 to %d", MostScreenDays)
	case w.Language != "" && !slices.Contains(sheets.KnownLanguages(), w.Language):
		return nil, safety.RefuseField("language", "is one of %s", strings.Join(sheets.KnownLanguages(), ", "))
	}
	token := newToken(a.TenantID)
	row := store.Row{idColumn: db.NewID(), "name": name, "site_id": db.Null(w.SiteID),
		"first_aid_course_id": db.Null(w.CourseID), "language": db.Null(w.Language),
		endColumn: query.FormatTime(s.store.Now().AddDate(0, 0, days)), "token_hash": secrets.Digest(token)}
	err := s.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		t := s.store.In(tx, a)
		if err := checkThere(t, w); err != nil {
			return err
		}
		_, err := t.InsertRows(screenResource, []store.Row{row})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Link{row.Text(idColumn), token, row.Text(endColumn)}, nil
}

// thereSQL says whether a site and a course are the tenant's. $1 tenant, $2 site, $3
// course, each empty where none is named.
const thereSQL = `
	SELECT
		CASE WHEN $2 = '' OR EXISTS (
			SELECT 1
			FROM sites
			WHERE tenant_id = $1
				AND CAST(id AS text) = $2
		) THEN 1 ELSE 0 END,
		CASE WHEN $3 = '' OR EXISTS (
			SELECT 1
			FROM courses
			WHERE tenant_id = $1
				AND CAST(id AS text) = $3
		) THEN 1 ELSE 0 END`

// checkThere refuses a site or a course of another tenant, which look like missing ones.
func checkThere(tx *store.Tx, w ScreenWish) error {
	hasSite, hasCourse := false, false
	args := []any{tx.TenantID, strings.ToLower(w.SiteID), strings.ToLower(w.CourseID)}
	err := tx.Query(thereSQL, args, func(r *db.Row) error {
		hasSite, hasCourse = r.Int(0) == 1, r.Int(1) == 1
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("share: look for the site and the course: %w", err)
	case !hasSite:
		return safety.RefuseField("site_id", "there is no such site")
	case !hasCourse:
		return safety.RefuseField("first_aid_course_id", "there is no such course")
	}
	return nil
}

// Board is what a hall's screen shows: figures, and nothing of a person.
type Board struct {
	Name     string `json:"name" doc:"Of the screen."`
	Site     string `json:"site" doc:"Code and name of the site; empty for all sites."`
	Language string `json:"language" doc:"en, de or fr; empty: the browser's."`
	At       string `json:"at" format:"date-time" doc:"When the figures were counted."`
	TimeZone string `json:"timezone" doc:"In which the day is."`

	OrdersToday int64 `json:"orders_today" doc:"Outbound orders and transfers promised for today."`
	OrdersDone  int64 `json:"orders_done" doc:"Those that are completed."`
	OrdersLate  int64 `json:"orders_late" doc:"Open ones that were promised for before now."`
	Hazards     int64 `json:"hazards_open" doc:"Hazards reported that are not closed."`
	NewHazards  int64 `json:"hazards_today" doc:"Those that were reported today."`
	// OnShift is nil where the people are few enough to be told apart; FirstAiders there, too,
	// and where nobody said which certificate makes one.
	OnShift     *int64 `json:"people_on_shift" doc:"People whose shift runs; null where people_withheld."`
	FirstAiders *int64 `json:"first_aiders_on_shift" doc:"Those with a valid certificate; null: no course or withheld."`
	IsWithheld  bool   `json:"people_withheld" doc:"Somebody's shift runs, but fewer people's than min_group."`
}

// screen is a link that works.
type screen struct {
	id, tenant, siteID, courseID string
	openedAt                     time.Time
	zone                         *time.Location
	board                        *Board
}

// screenSQL selects a screen whose link has not ended. $1 tenant, $2 digest of the token,
// $3 now.
const screenSQL = `
	SELECT screen.id, screen.name, screen.site_id, screen.first_aid_course_id, screen.language, screen.opened_at,
		coalesce(site.code || ' ' || site.name, ''), coalesce(site.timezone, tenants.timezone)
	FROM wall_screens AS screen
	JOIN tenants ON tenants.id = screen.tenant_id
	LEFT JOIN sites AS site ON site.tenant_id = $1 AND site.id = screen.site_id
	WHERE screen.tenant_id = $1
		AND screen.token_hash = $2
		AND screen.expires_at > $3
		AND tenants.status = 'active'`

// ReadBoard is the board of a screen as it is now, or was a few seconds ago. A token that is
// guessed, late, revoked or of a suspended tenant is fault.NotFound, and nothing tells which.
func (s *Screens) ReadBoard(ctx context.Context, by actor.Actor, token string) (*Board, error) {
	tenant, ok := tenantOf(token)
	if !ok {
		return nil, refuseDead()
	}
	now := s.store.Now().UTC()
	var found *screen
	err := s.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		err := tx.Query(screenSQL, []any{tenant, secrets.Digest(token), now}, func(r *db.Row) error {
			found = &screen{id: r.Text(0), tenant: tenant, siteID: r.Text(2), courseID: r.Text(3),
				zone: localtime.Zone(r.Text(7)), board: &Board{Name: r.Text(1), Language: r.Text(4), Site: r.Text(6),
					At: query.FormatTime(now), TimeZone: r.Text(7)}}
			if !r.Null(5) {
				found.openedAt = r.Time(5)
			}
			return nil
		})
		if err != nil || found == nil {
			return err
		}
		if kept, ok := s.boards.Get(found.id, now); ok {
			found.board = &kept
			return nil
		}
		found.queueBoard(tx, now)
		if err := tx.Flush(); err != nil {
			return err
		}
		s.boards.Put(found.id, *found.board, now.Add(boardTTL))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("share: read a board: %w", err)
	}
	if found == nil {
		return nil, refuseDead()
	}
	if now.Sub(found.openedAt) >= seenEvery {
		// A hall needs its board while the database takes no writes.
		if err := s.keepShown(ctx, by, found, now); err != nil {
			if fault.As(err).Kind == fault.NotFound {
				return nil, err
			}
			slog.Warn("when a screen was shown could not be kept; the board is shown",
				"screen", found.id, "error", err)
		}
	}
	return found.board, nil
}

// boardOrdersSQL counts orders that go out. Completed ones are a part of their own: an index
// finds those of the day, and those of all the years before are not read. $1 tenant, $2 and
// $3 the day, $4 now, $5 site, empty for all.
const boardOrdersSQL = `
	SELECT COUNT(*) FILTER (WHERE promised_at >= $2),
		COUNT(*) FILTER (WHERE promised_at >= $2 AND status = 'completed'),
		COUNT(*) FILTER (WHERE promised_at < $4 AND status <> 'completed')
	FROM (
		SELECT status, promised_at
		FROM orders
		WHERE tenant_id = $1
			AND type IN ('outbound', 'transfer')
			AND status IN ('confirmed', 'in_progress', 'on_hold')
			AND promised_at < $3
			AND ($5 = '' OR CAST(site_id AS text) = $5)
		UNION ALL
		SELECT status, promised_at
		FROM orders
		WHERE tenant_id = $1
			AND type IN ('outbound', 'transfer')
			AND status = 'completed'
			AND promised_at >= $2
			AND promised_at < $3
			AND ($5 = '' OR CAST(site_id AS text) = $5)
	) AS due`

// boardHazardsSQL counts hazards that nobody has closed: of the site that the report
// names, else of its zone. $1 tenant, $2 the day's first moment, $3 site, empty for all.
const boardHazardsSQL = `
	SELECT COUNT(*), COUNT(*) FILTER (WHERE incident.reported_at >= $2)
	FROM incidents AS incident
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = incident.zone_id
	WHERE incident.tenant_id = $1
		AND incident.kind = 'hazard'
		AND incident.status IN ('reported', 'triaged', 'investigating', 'action_pending')
		AND ($3 = '' OR CAST(coalesce(incident.site_id, zone.site_id) AS text) = $3)`

// boardPeopleSQL counts the people whose shift runs, and those among them who hold a valid
// certificate of a course. A shift is at the site of its zone, else of its worker. $1
// tenant, $2 now, $3 the earliest start of a shift that may still run, $4 site, empty for
// all, $5 course, $6 today.
const boardPeopleSQL = `
	SELECT COUNT(DISTINCT shift.worker_id), COUNT(DISTINCT certificate.worker_id)
	FROM shifts AS shift
	JOIN workers AS worker ON worker.tenant_id = $1 AND worker.id = shift.worker_id
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = shift.zone_id
	LEFT JOIN training_assignments AS certificate ON certificate.tenant_id = $1
		AND certificate.worker_id = shift.worker_id
		AND CAST(certificate.course_id AS text) = $5
		AND certificate.status = 'completed'
		AND (certificate.expires_on IS NULL OR certificate.expires_on >= $6)
	WHERE shift.tenant_id = $1
		AND shift.started_at <= $2
		AND shift.started_at > $3
		AND (shift.ended_at IS NULL OR shift.ended_at > $2)
		AND ($4 = '' OR CAST(coalesce(zone.site_id, worker.site_id) AS text) = $4)`

// longestShift is after how long a shift that nobody has ended is taken for forgotten.
const longestShift = 24 * time.Hour

// queueBoard asks for the figures of a board.
func (s *screen) queueBoard(tx *db.Tx, now time.Time) {
	from, until := localtime.Day(now, s.zone)
	b, least := s.board, mingroup.Queue(tx, s.tenant)
	tx.Queue(boardOrdersSQL, []any{s.tenant, from, until, now, s.siteID}, func(r *db.Row) error {
		b.OrdersToday, b.OrdersDone, b.OrdersLate = r.Int(0), r.Int(1), r.Int(2)
		return nil
	})
	tx.Queue(boardHazardsSQL, []any{s.tenant, from, s.siteID}, func(r *db.Row) error {
		b.Hazards, b.NewHazards = r.Int(0), r.Int(1)
		return nil
	})
	today := localtime.DateOf(now, s.zone).String()
	args := []any{s.tenant, now, now.Add(-longestShift), s.siteID, s.courseID, today}
	tx.Queue(boardPeopleSQL, args, func(r *db.Row) error {
		people, aiders := r.Int(0), r.Int(1)
		if people > 0 && !least.Shows(people) {
			b.IsWithheld = true
			return nil
		}
		b.OnShift = &people
		if s.courseID != "" {
			b.FirstAiders = &aiders
		}
		return nil
	})
}

// keepShown keeps when a screen was shown, and tells the audit log of the first time.
func (s *Screens) keepShown(ctx context.Context, by actor.Actor, x *screen, now time.Time) error {
	by = actor.Actor{Role: actor.Service, TenantID: x.tenant, KeyID: "wall-screen:" + x.id,
		RequestID: by.RequestID, Address: by.Address}
	return s.store.DB().Write(ctx, store.Scope(by), func(tx *db.Tx) error {
		t := s.store.Unaudited().In(tx, by)
		rows, err := t.Rows(screenResource, "id IN {ids $2} {for update}", query.List([]string{x.id}))
		if err != nil {
			return fmt.Errorf("share: lock the screen: %w", err)
		}
		if len(rows) == 0 {
			return refuseDead()
		}
		if x.openedAt.IsZero() {
			audit.Write(tx, audit.Entry{Tenant: by.TenantID, At: now, By: by, Action: "wall_screens.opened",
				EntityType: screenResource, EntityID: x.id})
		}
		return t.UpdateEach(screenResource, []store.Row{{idColumn: x.id, "opened_at": query.FormatTime(now)}})
	})
}
