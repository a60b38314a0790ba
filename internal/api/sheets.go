package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/safety/sheets"
)

// Sheets serves what the records of safety say as PDF.
type Sheets struct{ printer *sheets.Printer }

// NewSheets returns the face of a printer.
func NewSheets(p *sheets.Printer) *Sheets { return &Sheets{p} }

// Routes lists what is served.
func (s *Sheets) Routes() []route.Route {
	sheet := func(path, doc string, of printSheet) route.Route {
		return route.Route{Method: "GET", Pattern: path, Who: route.TenantMember, Handle: s.serveSheet(of), Tag: "sheets",
			Media: "application/pdf", Query: map[string]string{languageAsked: "string"}, Doc: doc}
	}
	return []route.Route{
		sheet("/v1/incidents/{id}/incident.pdf", "An incident as PDF, as far as the caller reads it: facts, causes, "+
			"actions, photos and what was said (language: en, de or fr; the tenant's when absent)", s.printer.Incident),
		sheet("/v1/checklist-runs/{id}/inspection.pdf", "An inspection as PDF, as far as the caller reads it: result, what "+
			"failed, questions with answers, notes and photos (language: en, de or fr; the tenant's when absent)",
			s.printer.Inspection),
	}
}

// languageAsked is the parameter that asks for a language.
const languageAsked = "language"

// printSheet makes the sheet of a record, and says what it is saved as.
type printSheet func(context.Context, actor.Actor, sheets.Wish) (*sheets.Document, string, error)

// serveSheet answers with the sheet of a record.
func (s *Sheets) serveSheet(of printSheet) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		id, err := readID(c)
		if err != nil {
			return err
		}
		language, err := readLanguage(c.Query[languageAsked])
		if err != nil {
			return err
		}
		d, name, err := of(c.Context(), c.Actor, sheets.Wish{ID: id, Language: language})
		if err != nil {
			return err
		}
		body, err := d.PDF(s.printer.Now())
		if err != nil {
			return err
		}
		return (&file{name, "application/pdf", body}).sendFile(w)
	}
}

func readLanguage(given []string) (string, error) {
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || !slices.Contains(sheets.Languages(), given[0]) {
		return "", fault.New(fault.Invalid, "22023", "language must be one of %s, given once",
			strings.Join(sheets.Languages(), ", ")).At(languageAsked, "not one of them")
	}
	return given[0], nil
}
