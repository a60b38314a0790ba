// Package page serves what a browser shows without a script: the public report
// page, and the codes that lead to it.
//
// Layer: endpoints. Begin at [NewReports].
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"golang.org/x/text/language"

	"holdfast/internal/fault"
	"holdfast/internal/web"
)

//go:embed report.html report.css
var files embed.FS

// matcher chooses among the languages of the pages, English first.
var matcher = language.NewMatcher([]language.Tag{language.English, language.German})

// textsFor is the texts of the language that a request asks for.
func textsFor(r *http.Request) texts {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		tags = nil
	}
	if _, i, _ := matcher.Match(tags...); i == 1 {
		return germanTexts()
	}
	return englishTexts()
}

// look is a template with the style that its policy allows.
type look struct {
	page   *template.Template
	style  template.CSS
	policy string
}

func newLook() (*look, error) {
	css, err := files.ReadFile("report.css")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	t, err := template.ParseFS(files, "report.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	sum := sha256.Sum256(css)
	return &look{page: t, style: template.CSS(css), policy: "default-src 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}, nil
}

// showPage writes a page. It is complete or an error.
func (l *look) showPage(w http.ResponseWriter, status int, data view) error {
	data.Style = l.style
	var b bytes.Buffer
	if err := l.page.Execute(&b, data); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", data.T.Lang)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Content-Security-Policy", l.policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Vary", "Accept-Language")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// view is what the template shows: a form, a thank-you, or why neither.
type view struct {
	T        texts
	Style    template.CSS
	Place    string
	Tenant   string
	State    string // form, thanks, refused
	Number   string
	Message  string
	Once     string
	Kind     string
	Severity string
	What     string
	When     string
	Name     string
	Wrong    map[string]string
}

// explainFault turns a fault into the words of the page.
func explainFault(t texts, f *fault.Error) string {
	switch f.Kind {
	case fault.NotFound:
		return t.Gone
	case fault.Limited:
		return t.TooOften
	case fault.TooLarge:
		return t.PhotoLarge
	case fault.Unsupported:
		return t.PhotoKind
	case fault.Invalid:
		return t.Incomplete
	}
	return t.Failed
}

// pageStatus of a fault's page.
func pageStatus(f *fault.Error) int { return web.Status(f.Kind) }
