package page

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
)

// Wall serves the page of a hall's screen. It is the same for all: its script asks for the
// board with the token that stands behind the number sign of the address.
type Wall struct {
	body   []byte
	policy string
}

// NewWall returns the page of screens.
func NewWall() (*Wall, error) {
	css, err := files.ReadFile("wall.css")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	script, err := files.ReadFile("wall.js")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	t, err := template.ParseFS(files, "wall.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	shown := struct {
		Style  template.CSS
		Script template.JS
	}{template.CSS(css), template.JS(script)}
	if err := t.Execute(&b, shown); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return &Wall{body: b.Bytes(), policy: "default-src 'none'; style-src " + hashSource(css) + "; script-src " +
		hashSource(script) + "; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"}, nil
}

// ServeHTTP answers with the page.
func (p *Wall) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	keepPrivate(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(p.body)))
	h.Set("Content-Security-Policy", p.policy)
	_, _ = w.Write(p.body) // whoever went away needs no answer
}
