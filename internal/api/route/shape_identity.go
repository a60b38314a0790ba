package route

import (
	"encoding/json"
	"net/http"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/web"
)

// version is the only dated version of the interface; a request that names it
// or a later date gets error bodies of that form.
const version = "2024-01-01"

// asksDatedErrors reports a request that asks for the dated error form. A date that
// cannot be read counts as absent.
func asksDatedErrors(r *http.Request) bool {
	d, err := time.Parse(time.DateOnly, r.Header.Get("X-Supabase-Api-Version"))
	return err == nil && d.Format(time.DateOnly) >= version
}

// refusedTokens are the codes that the identity endpoints answer with 403
// where everything else answers 401.
var refusedTokens = map[string]bool{"bad_jwt": true, "user_not_found": true, "session_not_found": true,
	"user_banned": true}

// IdentityShape writes a fault as GoTrue does: {code, message} for dated requests,
// {code, error_code, msg} for others.
func IdentityShape(r *http.Request, e *fault.Error) web.Reply {
	status := web.Status(e.Kind)
	if e.Kind == fault.Unauthorized && refusedTokens[e.Code] {
		status = http.StatusForbidden
	}
	code, msg := accounts.WireCode(e), e.Msg
	if code == accounts.TimedOut {
		status = http.StatusGatewayTimeout
	}
	if e.Kind == fault.Internal {
		msg = "Unexpected failure, please check server logs for more information"
	}
	if _, oauth := e.Data.(identity.OAuthStyle); oauth {
		status, h := http.StatusBadRequest, http.Header{}
		if e.Kind == fault.Unauthorized {
			status = http.StatusUnauthorized
			h.Set("WWW-Authenticate", `Basic realm="service accounts"`)
		}
		return web.Reply{Status: status, Header: h, Body: map[string]string{"error": e.Code, "error_description": msg}}
	}
	body := extraMembers(e)
	h := http.Header{"X-Sb-Error-Code": {code}}
	if asksDatedErrors(r) {
		h["X-Supabase-Api-Version"] = []string{version}
		body["code"], body["message"] = code, msg
		return web.Reply{Status: status, Header: h, Body: body}
	}
	body["code"], body["error_code"], body["msg"] = status, code, msg
	if status >= 500 {
		body["error_id"] = web.RequestID(r.Context())
	}
	return web.Reply{Status: status, Header: h, Body: body}
}

// extraMembers returns the members a fault brings along: weak_password's reasons, the
// rate limit's numbers.
func extraMembers(e *fault.Error) map[string]any {
	out := map[string]any{}
	if e.Kind != fault.Limited && e.Code != "weak_password" || e.Data == nil {
		return out
	}
	b, err := json.Marshal(e.Data)
	if err == nil && json.Unmarshal(b, &out) == nil {
		return out
	}
	return map[string]any{}
}
