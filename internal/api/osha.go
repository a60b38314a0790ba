package api

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/safety/osha"
)

// Forms serves the statutory forms and files of injuries and illnesses.
type Forms struct {
	books *osha.Books
}

// NewForms returns the face of b.
func NewForms(b *osha.Books) *Forms { return &Forms{b} }

// file is an answer that a browser saves.
type file struct {
	name, mediaType string
	body            []byte
}

// bookRequest is what a request asks a form for.
type bookRequest struct {
	osha.Pick
	caseID string
	redact bool
}

// Routes lists what is served. Every file taken is noted in the audit log.
func (f *Forms) Routes() []route.Route {
	book := func(path, doc string, make func(r *http.Request, a actor.Actor, in bookRequest) (*file, error)) route.Route {
		media := "text/csv"
		if strings.HasSuffix(path, ".pdf") {
			media = "application/pdf"
		}
		return route.Route{Method: "GET", Pattern: path, Who: route.TenantMember, Handle: f.serveForm(path, make),
			Media: media, Tag: "forms", Doc: doc,
			Query: map[string]string{"site_id": "string", "year": "integer", "case_id": "string", "redact": "boolean"}}
	}
	return []route.Route{
		book("/v1/osha/300.pdf", "OSHA form 300, the log of a year and establishment (site_id, year; redact=true withholds names)", f.form300),
		book("/v1/osha/300a.pdf", "OSHA form 300A, the annual summary (site_id, year)", f.form300A),
		book("/v1/osha/301.pdf", "OSHA form 301, the report of one case (case_id) or of a year's (site_id, year; redact=true)", f.form301),
		book("/v1/osha/ita-300a.csv",
			"300A data for OSHA's Injury Tracking Application (site_id, year); refused while a rule of the submission is broken",
			f.summaryData),
		book("/v1/osha/ita-cases.csv", "300/301 case data for OSHA's Injury Tracking Application (site_id, year)",
			f.caseData),
		book("/v1/eu/accidents.csv", "Accidents with more than three days of absence, 89/391/EEC art. 9(1)(c) (year, site_id)", f.accidentsFile),
		book("/v1/eu/esaw.csv", "Accidents with four days of absence or more for ESAW, without names (year, site_id)",
			f.esawFile),
	}
}

func (f *Forms) serveForm(
	path string, make func(r *http.Request, a actor.Actor, in bookRequest) (*file, error),
) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		r, a := c.Request, c.Actor
		in, err := readBook(c.Query)
		if err != nil {
			return err
		}
		if in.Year == 0 {
			if in.Year, err = f.books.ThisYear(r.Context(), a); err != nil {
				return err
			}
		}
		out, err := make(r, a, in)
		if err != nil {
			return err
		}
		if err := f.books.Audit(r.Context(), a, path, in.Pick); err != nil {
			return err
		}
		return out.sendFile(w)
	}
}

func readBook(q map[string][]string) (in bookRequest, err error) {
	for _, name := range [...]string{"site_id", "year", "case_id", "redact"} {
		if len(q[name]) > 1 {
			return in, fault.New(fault.Invalid, "22023", "%s may be given once", name).At(name, "repeated")
		}
	}
	for name, into := range map[string]*string{"site_id": &in.Site, "case_id": &in.caseID} {
		if len(q[name]) == 0 {
			continue
		}
		id, err := uuid.Parse(q[name][0])
		if err != nil || len(q[name][0]) != 36 {
			return in, fault.New(fault.Invalid, "22P02", "%s is not a UUID", name).At(name, "not a UUID")
		}
		*into = id.String()
	}
	if len(q["year"]) == 1 {
		in.Year, err = strconv.ParseInt(q["year"][0], 10, 64)
		if err != nil || in.Year < 2002 || in.Year > 2100 {
			return in, fault.New(fault.Invalid, "22023", "year must be a whole number from 2002 to 2100").At("year",
				"not a year from 2002 to 2100")
		}
	}
	if len(q["redact"]) == 1 {
		if in.redact, err = strconv.ParseBool(q["redact"][0]); err != nil {
			return in, fault.New(fault.Invalid, "22023", "redact must be true or false").At("redact", "not true or false")
		}
	}
	return in, nil
}

func (f *file) sendFile(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	h.Set("Content-Length", strconv.Itoa(len(f.body)))
	h.Set("Cache-Control", "no-store")
	_, err := w.Write(f.body)
	return err
}

func pdfFile(name string, body []byte, err error) (*file, error) {
	return &file{name, "application/pdf", body}, err
}

// sheetFile writes a sheet as it stands: OSHA's upload takes each text as it was
// written, lists for people come guarded.
func sheetFile(name string, s *osha.Sheet, err error) (*file, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	rows := append([][]string{s.Header}, s.Rows...)
	for _, row := range rows {
		if err := out.Write(row); err != nil {
			return nil, fmt.Errorf("api: write %s: %w", name, err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return nil, fmt.Errorf("api: write %s: %w", name, err)
	}
	return &file{name, "text/csv; charset=utf-8", b.Bytes()}, nil
}

func (f *Forms) readBook(r *http.Request, a actor.Actor, in bookRequest) (*osha.Book, error) {
	book, err := f.books.Log(r.Context(), a, in.Pick)
	if err == nil && in.redact {
		book.Redact()
	}
	return book, err
}

func (f *Forms) form300(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	book, err := f.readBook(r, a, in)
	if err != nil {
		return nil, err
	}
	body, err := book.Form300()
	return pdfFile(book.FileName("300", ".pdf"), body, err)
}

// form300A serves totals: whoever reads summaries may have it.
func (f *Forms) form300A(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	book, err := f.books.Totals(r.Context(), a, in.Pick)
	if err != nil {
		return nil, err
	}
	if book.Summary == nil {
		return nil, fault.New(fault.NotFound, "PGRST116",
			"there is no summary of %d for this establishment: make one in osha_summaries", in.Year)
	}
	body, err := book.Form300A()
	return pdfFile(book.FileName("300a", ".pdf"), body, err)
}

func (f *Forms) form301(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	var book *osha.Book
	var err error
	if in.caseID != "" {
		book, err = f.books.Case(r.Context(), a, in.caseID)
	} else {
		book, err = f.books.Log(r.Context(), a, in.Pick)
	}
	switch {
	case err != nil:
		return nil, err
	case len(book.Entries) == 0:
		return nil, fault.New(fault.NotFound, "PGRST116", "the log of %d has no recordable cases", in.Year)
	case in.redact:
		book.Redact()
	}
	body, err := book.Form301()
	return pdfFile(book.FileName("301", ".pdf"), body, err)
}

func (f *Forms) summaryData(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	book, err := f.books.Totals(r.Context(), a, in.Pick)
	if err != nil {
		return nil, err
	}
	s, err := book.SummarySheet()
	return sheetFile(book.FileName("ita-300a", ".csv"), s, err)
}

func (f *Forms) caseData(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	book, err := f.books.Log(r.Context(), a, in.Pick)
	if err != nil {
		return nil, err
	}
	s, err := book.CaseSheet()
	return sheetFile(book.FileName("ita-cases", ".csv"), s, err)
}

func (f *Forms) accidentsFile(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	s, err := f.books.Accidents(r.Context(), a, in.Pick)
	return sheetFile(fmt.Sprintf("eu-accidents-%d.csv", in.Year), s, err)
}

func (f *Forms) esawFile(r *http.Request, a actor.Actor, in bookRequest) (*file, error) {
	s, err := f.books.ESAW(r.Context(), a, in.Pick)
	return sheetFile(fmt.Sprintf("esaw-%d.csv", in.Year), s, err)
}
