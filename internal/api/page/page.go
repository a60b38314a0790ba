// Package page serves the public pages: the form of a report, which needs no script, and
// with one asks a question a screen, that of a shared document, and that of a
// hall's screen.
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
	"holdfast/internal/safety/report"
	"holdfast/internal/web"
)

//go:embed report.html report.css report.js shared.html wall.html wall.css wall.js
var files embed.FS

// matcher chooses among the languages of the pages in the order of written, English first.
var matcher = language.NewMatcher([]language.Tag{language.English, language.German, language.French})

// textsFor is the texts of the language that a request asks for.
func textsFor(r *http.Request) texts {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		tags = nil
	}
	_, i, _ := matcher.Match(tags...)
	return written[i]()
}

// look is a template with the one style and the one script that its policy allows.
type look struct {
	page   *template.Template
	style  template.CSS
	script template.JS
	policy string
}

func newLook() (*look, error) {
	css, err := files.ReadFile("report.css")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	script, err := files.ReadFile("report.js")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	t, err := template.ParseFS(files, "report.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return &look{page: t, style: template.CSS(css), script: template.JS(script),
		policy: "default-src 'none'; style-src " + hashSource(css) + "; script-src " + hashSource(script) +
			"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}, nil
}

// hashSource is the word of a policy that admits one inline text and no other (CSP 3, 2.3.1).
func hashSource(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// showPage writes a page. It is complete or an error.
func (l *look) showPage(w http.ResponseWriter, status int, data view) error {
	data.Style, data.Script = l.style, l.script
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
	T         texts
	Heading   string // of the page
	Style     template.CSS
	Script    template.JS
	Place     string
	Tenant    string
	State     string // form, thanks, code, progress, refused
	Number    string
	Token     string // of the link
	Code      string // of the follow-up
	Progress  *report.Progress
	Standing  string // what the state of the report means
	Words     string
	Message   string
	Once      string
	Kind      string
	Severity  string
	AsksWhere bool
	Where     string
	What      string
	When      string
	Name      string
	Wrong     map[string]string
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
