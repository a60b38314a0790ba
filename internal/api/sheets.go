package api

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/safety/share"
	"holdfast/internal/safety/sheets"
	"holdfast/internal/web"
)

// Sheets serves what the records of safety say as PDF, and lends it to others.
type Sheets struct {
	printer *sheets.Printer
	links   *share.Service
	url     string
}

// NewSheets returns the face of a printer, whose documents links lend under url.
func NewSheets(p *sheets.Printer, links *share.Service, url string) *Sheets {
	return &Sheets{p, links, url}
}

// listNarrowings are the parameters that narrow a list of actions.
func listNarrowings() map[string]string {
	return map[string]string{"who": "string", "late": "boolean", "site": "string", "level": "string",
		"person": "string"}
}

// Routes lists what is served.
func (s *Sheets) Routes() (list []route.Route) {
	for _, k := range s.printer.Kinds() {
		query, says := map[string]string{}, ""
		if !k.IsOfRecord() {
			query = listNarrowings()
			says = ", " + strconv.Itoa(sheets.MostActions) + " at most (who=mine; late; site: id of the incident's; " +
				"level of control or none; person: account or none)"
		}
		shared := maps.Clone(query)
		query[languageAsked] = "string"
		list = append(list,
			route.Route{Method: "GET", Pattern: k.Under + "/" + k.File, Handle: s.serveSheet(k),
				Media: "application/pdf", Query: query,
				Doc: k.Doc + says + " (language: en, de or fr; the tenant's when absent)"},
			route.Route{Method: "POST", Pattern: k.Under + "/share", Handle: s.shareSheet(k), Query: shared,
				Status: http.StatusCreated, Out: sharedLink{}, Body: map[string]string{"expires_at": "string",
					"expires_in_days": "integer", "password": "string", "language": "string"},
				Doc: "A link and a password by which somebody without an account reads the document, 90 days at most"})
	}
	for i := range list {
		list[i].Tag, list[i].Who = "sheets", route.TenantMember
	}
	return list
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

// readWish reads which sheet a request is about, but for its language.
func readWish(c *route.Call, k sheets.Kind) (w sheets.Wish, err error) {
	if !k.IsOfRecord() {
		w.By, err = readNarrowed(c.Query)
		return w, err
	}
	w.ID, err = readID(c)
	return w, err
}

// serveSheet answers with a sheet.
func (s *Sheets) serveSheet(k sheets.Kind) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		wish, err := readWish(c, k)
		if err != nil {
			return err
		}
		if wish.Language, err = readLanguage(c.Query[languageAsked]); err != nil {
			return err
		}
		d, name, err := k.Print(c.Context(), c.Actor, wish)
		if err != nil {
			return err
		}
		return s.sendSheet(w, d, name)
	}
}

// shareIn asks for a link.
type shareIn struct {
	ExpiresAt string `json:"expires_at"`
	Days      *int   `json:"expires_in_days"`
	Password  string `json:"password"`
	Language  string `json:"language"`
}

// sharedLink is a new link; its address is told here and never again.
type sharedLink struct {
	ID        string `json:"id" format:"uuid" doc:"Of shared_documents; deleting it makes the link useless."`
	URL       string `json:"url" format:"uri" doc:"Address of the page, told this once."`
	ExpiresAt string `json:"expires_at" format:"date-time" doc:"From then on the link is useless."`
}

// shareBytes is how large the body of a new link may be.
const shareBytes = 16 << 10

// shareSheet makes a link to a sheet.
func (s *Sheets) shareSheet(k sheets.Kind) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		wish, err := readWish(c, k)
		if err != nil {
			return err
		}
		var in shareIn
		if err := web.DecodeExact(c.Request, shareBytes, &in); err != nil {
			return err
		}
		if in.Language != "" {
			if wish.Language, err = readLanguage([]string{in.Language}); err != nil {
				return err
			}
		}
		made, err := s.links.MakeLink(c.Context(), c.Actor, share.Wish{Kind: k, Of: wish, ExpiresAt: in.ExpiresAt,
			Days: in.Days, Password: in.Password})
		if err != nil {
			return err
		}
		w.Header().Set("Cache-Control", "no-store")
		link := strings.TrimSuffix(s.url, "/") + "/shared/" + made.Token
		return web.JSON(w, http.StatusCreated, sharedLink{made.ID, link, made.ExpiresAt})
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
