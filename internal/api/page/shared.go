package page

import (
	"bytes"
	"fmt"
	"html/template"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"holdfast/internal/access"
	"holdfast/internal/fault"
	"holdfast/internal/safety/share"
	"holdfast/internal/secrets"
	"holdfast/internal/web"
)

// Shared serves the page of a link to a document: it asks for the password, and answers
// with the document.
type Shared struct {
	gate   *access.Gate
	links  *share.Service
	page   *template.Template
	style  template.CSS
	policy string
}

// NewShared returns the page of shared documents.
func NewShared(g *access.Gate, links *share.Service) (*Shared, error) {
	css, err := files.ReadFile("report.css")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	t, err := template.ParseFS(files, "shared.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	policy := "default-src 'none'; style-src " + hashSource(css) +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	return &Shared{gate: g, links: links, page: t, style: template.CSS(css), policy: policy}, nil
}

// sharedView is what the page shows: the form, or why there is none.
type sharedView struct {
	T       sharedTexts
	Style   template.CSS
	HasForm bool
	Message string
}

// passwordBytes is how large a sent password may be.
const passwordBytes = 4 << 10

// ServeHTTP answers GET with the form for the password, and POST with the document.
func (p *Shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := sharedView{T: sharedTextsFor(r), Style: p.style, HasForm: true}
	d, err := p.answerLink(w, r)
	if err == nil && d != nil {
		sendShared(w, d)
		return
	}
	status := http.StatusOK
	if err != nil {
		status = v.explainError(w, r, err)
	}
	if err := p.showForm(w, status, v); err != nil {
		slog.Error("page not shown", "request_id", web.RequestID(r.Context()), "error", err)
	}
}

// answerLink is the document of a link, and nil for who has not sent the password. What
// the limits count a link by is not its token: they are kept where others may read them.
func (p *Shared) answerLink(w http.ResponseWriter, r *http.Request) (*share.Document, error) {
	token, use := r.PathValue("token"), access.LookAtForm
	place := "shared:" + secrets.Digest(token)
	if r.Method == http.MethodPost {
		use = access.FollowUp
	}
	if err := p.gate.TakeForm(w, r, place, use); err != nil {
		return nil, err
	}
	if r.Method != http.MethodPost {
		_, err := p.links.Find(r.Context(), token)
		return nil, err
	}
	if err := p.gate.CheckGuesses(r, place); err != nil {
		return nil, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, passwordBytes)
	if err := r.ParseForm(); err != nil {
		return nil, fault.New(fault.Invalid, "22023", "the form cannot be read")
	}
	d, err := p.links.Open(r.Context(), senderOf(r), token, r.PostForm.Get("password"))
	if fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.NotFound) {
		p.gate.CountGuess(r, place)
	}
	return d, err
}

// explainError puts into words why there is no document, and says the status of the page. A
// link that does not work has no form, whatever the reason.
func (v *sharedView) explainError(w http.ResponseWriter, r *http.Request, err error) int {
	f := fault.As(err)
	sayRetryAfter(w, f)
	switch f.Kind {
	case fault.NotFound:
		v.HasForm, v.Message = false, v.T.Gone
	case fault.Unauthorized:
		v.Message = v.T.Wrong
		return http.StatusForbidden // 401 asks a browser for credentials of its own
	case fault.Limited:
		v.Message = v.T.TooOften
	default:
		v.Message = v.T.Failed
	}
	if pageStatus(f) >= 500 {
		slog.Error("request failed", "request_id", web.RequestID(r.Context()), "status", pageStatus(f),
			"error", err.Error())
	}
	return pageStatus(f)
}

// keepPrivate keeps what a link shows out of caches and search engines.
func keepPrivate(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex, nofollow")
}

// showForm writes the page. It is complete or an error.
func (p *Shared) showForm(w http.ResponseWriter, status int, v sharedView) error {
	var b bytes.Buffer
	if err := p.page.Execute(&b, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	h := w.Header()
	keepPrivate(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.T.Lang)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Vary", "Accept-Language")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// sendShared answers with a document.
func sendShared(w http.ResponseWriter, d *share.Document) {
	h := w.Header()
	keepPrivate(h)
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Name}))
	h.Set("Content-Length", strconv.Itoa(len(d.PDF)))
	_, _ = w.Write(d.PDF) // whoever went away needs no answer
}
