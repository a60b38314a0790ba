package route

import (
	"net/http"
	"strconv"

	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// SCIMType is the type of every answer under /scim/v2 (RFC 7644 section 3.1).
const SCIMType = "application/scim+json; charset=utf-8"

// scimError is the schema of an error (RFC 7644 section 3.12).
const scimError = "urn:ietf:params:scim:api:messages:2.0:Error"

// scimKinds are the values of scimType (RFC 7644 section 3.12).
var scimKinds = map[string]bool{"invalidFilter": true, "invalidValue": true, "invalidPath": true, "invalidSyntax": true,
	"noTarget": true, "uniqueness": true, "mutability": true}

// SCIMShape writes a fault as RFC 7644 section 3.12 says.
func SCIMShape(r *http.Request, e *fault.Error) web.Reply {
	status, msg := web.Status(e.Kind), e.Msg
	if e.Kind == fault.Internal {
		msg = "Unexpected failure"
	}
	body := map[string]any{"schemas": []string{scimError}, "status": strconv.Itoa(status), "detail": msg}
	if scimKinds[e.Code] {
		body["scimType"] = e.Code
	}
	return web.Reply{Status: status, Header: http.Header{"Content-Type": {SCIMType}}, Body: body}
}
