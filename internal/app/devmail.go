package app

import (
	_ "embed"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"holdfast/internal/mail"
	"holdfast/internal/web"
)

//go:embed devmail.html
var devMailHTML string

var devMailPage = template.Must(template.New("devmail").Parse(devMailHTML))

// devMail shows a developer the mails that this server kept instead of sending.
type devMail struct {
	sink      *mail.Sink
	publicURL string
}

// showMails answers what a development server would have mailed: JSON for
// programs, a page for people.
func (m devMail) showMails(w http.ResponseWriter, r *http.Request) {
	// Recovery links are in here: no other site's script may read them, neither
	// by CORS nor by a name that resolves to this machine.
	for _, h := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers"} {
		w.Header().Del(h)
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != m.publicURL || !m.ownHost(r.Host) {
		web.JSON(w, http.StatusForbidden,
			map[string]string{"error": "kept mails are shown to this machine only", "details": "open " + m.publicURL +
				"/dev/mail"})
		return
	}
	kept := m.sink.List(r.URL.Query().Get("to"))
	w.Header().Set("Cache-Control", "no-store")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		web.JSON(w, http.StatusOK, kept)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	if err := devMailPage.Execute(w, kept); err != nil {
		slog.Debug("mail page not delivered", "error", err)
	}
}

// ownHost reports whether a Host header names this machine or the public URL.
func (m devMail) ownHost(host string) bool {
	if u, err := url.Parse(m.publicURL); err == nil && u.Host == host {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || err == nil && ip.IsLoopback()
}
