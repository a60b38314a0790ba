package app

import (
	_ "embed"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"holdfast/internal/web"
)

//go:embed devmail.html
var devMailHTML string

var devMailPage = template.Must(template.New("devmail").Parse(devMailHTML))

// devMail shows what a development server would have mailed: JSON for
// programs, a page for people.
func (a *App) devMail(w http.ResponseWriter, r *http.Request) {
	kept := a.sink.List(r.URL.Query().Get("to"))
	w.Header().Set("Cache-Control", "no-store")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		web.JSON(w, http.StatusOK, kept)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	if err := devMailPage.Execute(w, kept); err != nil {
		slog.Debug("mail page not delivered", "error", err)
	}
}
