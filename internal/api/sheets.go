package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
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
			"actions, photos and what was said (language: en, de or fr; the tenant's when absent)", s.printer.PrintIncident),
		sheet("/v1/checklist-runs/{id}/inspection.pdf", "An inspection as PDF, as far as the caller reads it: result, what "+
			"failed, questions with answers, notes and photos (language: en, de or fr; the tenant's when absent)",
			s.printer.PrintInspection),
		sheet("/v1/training-assignments/{id}/certificate.pdf", "The certificate of a training as PDF, as far as the caller "+
			"reads it: holder, course, days, who vouches for it; 409 where it is not passed or over (language: en, de or fr; "+
			"the tenant's when absent)", s.printer.PrintCertificate),
		{Method: "GET", Pattern: "/v1/actions/actions.pdf", Who: route.TenantMember, Handle: s.serveActions, Tag: "sheets",
			Media: "application/pdf", Query: map[string]string{languageAsked: "string", "who": "string", "late": "boolean",
				"site": "string", "level": "string", "person": "string"},
			Doc: "The actions of the board as PDF, " + strconv.Itoa(sheets.MostActions) + " at most (who=mine; late; site: id " +
				"of the incident's; level of control or none; person: account or none; language)"},
	}
}

// serveActions answers with a list of actions.
func (s *Sheets) serveActions(w http.ResponseWriter, c *route.Call) error {
	language, err := readLanguage(c.Query[languageAsked])
	if err != nil {
		return err
	}
	by, err := readNarrowed(c.Query)
	if err != nil {
		return err
	}
	d, name, err := s.printer.PrintActions(c.Context(), c.Actor, sheets.Wish{Language: language}, by)
	if err != nil {
		return err
	}
	return s.sendSheet(w, d, name)
}

func (s *Sheets) sendSheet(w http.ResponseWriter, d *sheets.Document, name string) error {
	body, err := d.PDF(s.printer.Now())
	if err != nil {
		return err
	}
	return (&file{name, "application/pdf", body}).sendFile(w)
}

// readNarrowed reads what a list of actions is narrowed by.
func readNarrowed(q map[string][]string) (by sheets.Narrowed, err error) {
	allowed := map[string]struct {
		put  func(v string)
		is   func(v string) bool
		says string
	}{
		"who": {func(v string) { by.Mine = v != "" }, func(v string) bool { return v == "mine" }, "mine"},
		"late": {func(v string) { by.Late = v != "" && v != "false" }, func(v string) bool {
			return v == "1" || v == "true" || v == "false"
		}, "true or false"},
		"site":   {func(v string) { by.Site = strings.ToLower(v) }, functions.IsUUID, "an id"},
		"level":  {func(v string) { by.Level = v }, isLevel, "a level of control, or none"},
		"person": {func(v string) { by.Person = strings.ToLower(v) }, isPerson, "the id of an account, or none"},
	}
	for name, one := range allowed {
		if len(q[name]) == 0 || len(q[name]) == 1 && q[name][0] == "" {
			continue
		}
		if len(q[name]) > 1 || !one.is(q[name][0]) {
			return by, fault.New(fault.Invalid, "22023", "%s must be %s, given once", name, one.says).At(name, "is not")
		}
		one.put(q[name][0])
	}
	return by, nil
}

func isPerson(v string) bool { return v == sheets.None || functions.IsUUID(v) }

func isLevel(v string) bool { return v == sheets.None || slices.Contains(sheets.ControlLevels(), v) }

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
		return s.sendSheet(w, d, name)
	}
}

func readLanguage(given []string) (string, error) {
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || !slices.Contains(sheets.KnownLanguages(), given[0]) {
		return "", fault.New(fault.Invalid, "22023", "language must be one of %s, given once",
			strings.Join(sheets.KnownLanguages(), ", ")).At(languageAsked, "not one of them")
	}
	return given[0], nil
}
