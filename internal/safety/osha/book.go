package osha

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/absence"
	"holdfast/internal/store"
)

// Books reads what forms and files are made of. Who may have which is the
// permission table's (docs/permissions.md): cases are for those
// who read osha_cases, totals for those who read osha_summaries.
type Books struct{ store *store.Store }

// NewBooks returns a reader of s.
func NewBooks(s *store.Store) *Books { return &Books{s} }

// Entry is a case with its incident, and the days that count for it.
type Entry struct {
	Case     record.OSHACase
	Incident record.Incident
	Days     absence.Tally
}

// Book is the log of an establishment for a year: its recordable cases in the
// order of their numbers, and the summary (nil while there is none).
type Book struct {
	Site    record.Site
	Year    int64
	Entries []Entry
	Summary record.OSHASummary
	Place   *time.Location
}

// Pick names a log: an establishment (UUID) and a year. One tenant's only
// establishment need not be named.
type Pick struct {
	Site string
	Year int64
}

// checkMayRead refuses a role that has no read grant on a resource.
func (b *Books) checkMayRead(a actor.Actor, resource string) error {
	r, _ := b.store.Catalog().Get(resource)
	if !query.May(r.Access.Read, a.Role) {
		return fault.New(fault.Forbidden, "42501", "permission denied for table %s", resource)
	}
	return nil
}

// Log returns the log of a year with its cases, for those who may read cases.
func (b *Books) Log(ctx context.Context, a actor.Actor, p Pick) (*Book, error) {
	if err := b.checkMayRead(a, "osha_cases"); err != nil {
		return nil, err
	}
	return b.readBook(ctx, a, p, true)
}

// Totals returns the log of a year without its cases.
func (b *Books) Totals(ctx context.Context, a actor.Actor, p Pick) (*Book, error) {
	if err := b.checkMayRead(a, "osha_summaries"); err != nil {
		return nil, err
	}
	return b.readBook(ctx, a, p, false)
}

func (b *Books) readBook(ctx context.Context, a actor.Actor, p Pick, cases bool) (*Book, error) {
	book := &Book{Year: p.Year}
	err := b.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		sites, err := record.List[record.Site](b.store.In(tx, a),
			"archived_at IS NULL AND ($2 = '' OR CAST(id AS text) = $2) ORDER BY lower(code) LIMIT 2", p.Site)
		switch {
		case err != nil:
			return err
		case len(sites) == 0:
			return fault.New(fault.NotFound, "PGRST116", "there is no such establishment").At("site_id", "unknown")
		case len(sites) > 1:
			return fault.New(fault.Invalid, "22023", "site_id must name the establishment: there are several").At("site_id", "missing")
		}
		book.Site = sites[0]
		site := book.Site.ID()
		sums, err := record.List[record.OSHASummary](b.store.In(tx, a), "site_id = $2 AND year = $3", site, p.Year)
		if err != nil {
			return err
		}
		if len(sums) == 1 {
			book.Summary = sums[0]
		}
		zone, err := tenantZone(tx, a.TenantID)
		if err != nil {
			return err
		}
		book.Place = (&background{sites: map[string]record.Site{site: book.Site}, zone: zone}).establishmentZone(site)
		if book.Summary.Status() == "open" {
			queueTotals(tx, a.TenantID, book.Summary, clockAt{b.store.Now(), book.Place})
			if err := tx.Flush(); err != nil {
				return err
			}
		}
		if !cases {
			return nil
		}
		list, err := record.List[record.OSHACase](b.store.In(tx, a),
			"site_id = $2 AND year = $3 AND recordable = 'yes' ORDER BY case_no", site, p.Year)
		if err != nil {
			return err
		}
		if book.Entries, err = b.readEntries(tx, a, list); err != nil {
			return err
		}
		return b.countBook(tx, a, book)
	})
	if err != nil {
		return nil, wrapReadError(err)
	}
	return book, nil
}

// countBook counts the days of a book's entries up to now.
func (b *Books) countBook(tx *db.Tx, a actor.Actor, book *Book) error {
	today := localtime.DateOf(b.store.Now(), book.Place).UTC()
	period := func(e Entry) (from, upTo time.Time) { return book.Injured(e), today }
	return countEntries(tx, a.TenantID, book.Entries, period)
}

func wrapReadError(err error) error {
	if fault.As(err).Kind == fault.Internal {
		return fmt.Errorf("osha: read the log: %w", err)
	}
	return err
}

func (b *Books) readEntries(tx *db.Tx, a actor.Actor, cases []record.OSHACase) ([]Entry, error) {
	ids := map[string]bool{}
	for _, c := range cases {
		addID(ids, c.IncidentID())
	}
	incidents, err := byID[record.Incident](b.store.In(tx, actor.Actor{TenantID: a.TenantID}), ids)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(cases))
	for i, c := range cases {
		out[i] = Entry{Case: c, Incident: incidents[c.IncidentID()]}
	}
	return out, nil
}

// Case returns the book of one recordable case, for those who may read cases.
func (b *Books) Case(ctx context.Context, a actor.Actor, id string) (*Book, error) {
	if err := b.checkMayRead(a, "osha_cases"); err != nil {
		return nil, err
	}
	book := &Book{}
	err := b.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		cases, err := record.List[record.OSHACase](b.store.In(tx, a), tx.DB().InUUID("id", 2), query.List([]string{id}))
		if err != nil {
			return err
		}
		if len(cases) == 0 {
			return fault.New(fault.NotFound, "PGRST116", "there is no such case")
		}
		site := cases[0].SiteID()
		sites, err := byID[record.Site](b.store.In(tx, actor.Actor{TenantID: a.TenantID}), map[string]bool{site: true})
		if err != nil {
			return err
		}
		zone, err := tenantZone(tx, a.TenantID)
		if err != nil {
			return err
		}
		book.Site, book.Year = sites[site], cases[0].Year()
		book.Place = (&background{sites: sites, zone: zone}).establishmentZone(site)
		if book.Entries, err = b.readEntries(tx, a, cases); err != nil {
			return err
		}
		return b.countBook(tx, a, book)
	})
	if err != nil {
		return nil, wrapReadError(err)
	}
	return book, nil
}

// Injured is the local day of an entry's injury, as midnight UTC.
func (b *Book) Injured(e Entry) time.Time {
	return localtime.DateOf(momentField(store.Row(e.Incident), "occurred_at"), b.Place).UTC()
}

// Time is the local time of the event as HH:MM; "" when it is unknown.
func (b *Book) Time(e Entry) string {
	switch t := e.Case.EventTime(); {
	case e.Case.TimeUnknown():
		return ""
	case t != "":
		return t
	}
	return momentField(store.Row(e.Incident), "occurred_at").In(b.Place).Format("15:04")
}

// Sum is the summary, or for a log without one the totals of its entries, with the
// days that are expected of those who are still away.
func (b *Book) Sum() record.OSHASummary {
	if b.Summary != nil {
		return b.Summary
	}
	return b.addUp(daysExpected)
}

// addUp totals the entries of a book.
func (b *Book) addUp(days func(absence.Tally) absence.Days) record.OSHASummary {
	sum := record.OSHASummary{"site_id": b.Site.ID(), "year": b.Year}
	Total(sum, b.withDays(days))
	return sum
}

// FileName is a name for a form or file of the book.
func (b *Book) FileName(form, ext string) string {
	return "osha-" + form + "-" + safety.FileWord(b.Site.Code()) + "-" + strconv.FormatInt(b.Year, 10) + ext
}
