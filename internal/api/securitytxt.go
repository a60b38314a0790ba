package api

import (
	"fmt"
	"net/http"
	"time"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
)

// securityValid is for how long what is told may be believed: RFC 9116 section 2.5.5 wants
// less than a year.
const securityValid = 90 * 24 * time.Hour

// SecurityContact is who answers for the security of a server: an address, mailto: or
// https:, and where the server is.
type SecurityContact struct{ Contact, URL string }

// TellSecurity answers GET /.well-known/security.txt as RFC 9116 has it, and as a path that
// is not there where the operator has named nobody.
func TellSecurity(of SecurityContact, now func() time.Time) route.Handle {
	const text = `Contact: %s
Expires: %s
Canonical: %s/.well-known/security.txt
Preferred-Languages: en
`
	return func(w http.ResponseWriter, _ *route.Call) error {
		if of.Contact == "" {
			return fault.New(fault.NotFound, "", "this server names nobody: its operator sets security_contact")
		}
		expires := now().UTC().Add(securityValid).Truncate(time.Hour).Format(time.RFC3339)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := fmt.Fprintf(w, text, of.Contact, expires, of.URL)
		return err
	}
}
