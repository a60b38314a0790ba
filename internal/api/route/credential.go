package route

import (
	"net/http"
	"strings"

	"holdfast/internal/identity"
	"holdfast/internal/web"
)

// Credential reads what a request shows of itself: headers only, never the
// address bar.
func Credential(r *http.Request) identity.Credential {
	c := identity.Credential{APIKey: r.Header.Get("Apikey"), Address: web.ClientAddress(r), UserAgent: r.UserAgent(),
		Origin:       r.Header.Get("Origin"),
		SecFetchSite: r.Header.Get("Sec-Fetch-Site"), Cookie: r.Header.Get("Cookie") != "",
		RequestID: web.RequestID(r.Context())}
	if h := r.Header.Get("Authorization"); len(h) > 7 && strings.EqualFold(h[:7], "bearer ") {
		c.Bearer = strings.TrimSpace(h[7:])
	}
	return c
}
