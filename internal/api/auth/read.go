package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"holdfast/internal/api/route"
	"holdfast/internal/identity/accounts"
	"mime"
	"net/http"
	"net/url"
	"reflect"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/web"
)

// maxBody is the largest request body, in bytes.
const maxBody = 1 << 20

var objectType = reflect.TypeFor[map[string]any]()

// object is a JSON object kept as its author wrote it: numbers are not turned
// into floats on their way through.
type object map[string]any

// UnmarshalJSON takes an object or null.
func (o *object) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return &json.UnmarshalTypeError{Value: "another value", Type: objectType}
	}
	*o = m
	return nil
}

// withMember is the object with one more member.
func (o object) withMember(name, value string) object {
	out := object{name: value}
	for k, v := range o {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// pkce are the challenge's members of a body.
type pkce struct {
	Challenge string `json:"code_challenge"`
	Method    string `json:"code_challenge_method"`
}

func (p pkce) pkcePair() identity.PKCE {
	return identity.PKCE{Challenge: p.Challenge, Method: p.Method}
}

// decodeExact is decodeBody for the endpoints that GoTrue has not: there a member
// that is not known is refused.
func decodeExact(c *route.Call, v any) error {
	if err := web.DecodeExact(c.Request, maxBody, v); err != nil {
		return nameBodyFault(err)
	}
	return nil
}

// decodeBody decodes the request into v; an absent body leaves v alone, unknown
// members are ignored as GoTrue ignores them.
func decodeBody(c *route.Call, v any) error {
	err := web.Decode(c.Request, maxBody, v)
	if err == nil {
		return nil
	}
	return nameBodyFault(err)
}

// nameBodyFault gives a body's fault the code clients know.
func nameBodyFault(err error) error {
	f := fault.As(err)
	if f.Kind != fault.Invalid {
		return err
	}
	out := *f
	out.Code = "bad_json"
	if len(f.Fields) > 0 {
		out.Code = "validation_failed"
	}
	return &out
}

// isForm reports a form-encoded body.
func isForm(r *http.Request) bool {
	mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && mt == "application/x-www-form-urlencoded"
}

// readForm reads a form-encoded body.
func readForm(w http.ResponseWriter, c *route.Call) (url.Values, error) {
	b, err := web.ReadBody(w, c.Request, maxBody)
	if err != nil {
		return nil, nameBodyFault(err)
	}
	v, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "validation_failed", "The form cannot be read")
	}
	return v, nil
}

// redirectTarget resolves where a browser is to land: query, body, header, Referer,
// in this order, each only if allowed.
func (a *API) redirectTarget(c *route.Call, inBody string) string {
	return a.svc.Links.Target(c.URL.Query().Get("redirect_to"), inBody, c.Header.Get("Redirect_to"),
		c.Header.Get("Redirect-To"), c.Referer())
}

// countAttempt charges an attempt to the address and, when it names one, the account:
// an address or a telephone number.
func (a *API) countAttempt(w http.ResponseWriter, c *route.Call, named string) error {
	return a.countAs(w, c, named, access.Attempt{})
}

// A knower reports whether an account knows an address.
type knower = func(ctx context.Context, account, address string) (bool, error)

// countAs is count for an attempt that is more than a guess at a password; more,
// where it is given, knows the caller by another thing than his sign-ins.
func (a *API) countAs(w http.ResponseWriter, c *route.Call, named string, t access.Attempt, more ...knower) error {
	if a.opt.Windows.Limit == nil {
		return nil
	}
	t.Address, t.Account, t.Many = web.ClientAddress(c.Request), accounts.Counted(named), c.Exempt
	t.Known = func() bool {
		for _, knows := range append(more, a.svc.Post.Known) {
			if known, err := knows(c.Context(), t.Account, t.Address); err == nil && known {
				return true
			}
		}
		return false
	}
	return a.opt.Windows.Limit(w, t)
}

// countSecret charges an attempt with something that nobody can guess.
func (a *API) countSecret(w http.ResponseWriter, c *route.Call) error {
	if a.opt.Windows.Limit == nil {
		return nil
	}
	return a.opt.Windows.Limit(w, access.Attempt{Address: web.ClientAddress(c.Request), Many: c.Exempt, Secret: true})
}

// showFullWindow says what is left of nothing that counts: all.
func (a *API) showFullWindow(w http.ResponseWriter, c *route.Call) error {
	if a.opt.Windows.Session == nil {
		return nil
	}
	return a.opt.Windows.Session(w, c.Request, actor.Actor{Role: actor.Service})
}

// countFoundAccount counts an attempt at the account that it turned out to be: one that is
// named in two ways has no room for twice as many. invite is the token of an
// invitation that the sign-in takes up.
func (a *API) countFoundAccount(w http.ResponseWriter, c *route.Call, named, invite string) identity.Client {
	client := c.Client()
	client.Invite = invite
	if a.opt.Windows.Limit == nil {
		return client
	}
	client.Found = func(userID string, known bool) error {
		if userID == "" {
			userID = accounts.Counted(named)
		}
		if userID == "" {
			return nil // what can be nobody's name
		}
		return a.opt.Windows.Limit(w, access.Attempt{Address: client.Address, Account: accountID + userID,
			Known: func() bool { return known }, Found: true, Many: c.Exempt})
	}
	return client
}

// accountID begins the name under which attempts at an account are counted that was
// looked up.
const accountID = "user:"

// countVisit charges a navigation to the address, by one of the options Visit and
// Depart.
func countVisit(w http.ResponseWriter, c *route.Call, take func(http.ResponseWriter, *http.Request) error) error {
	if take == nil {
		return nil
	}
	return take(w, c.Request)
}

// countOwn charges an attempt at the caller's own password or second factor to the
// address and to the account: who has somebody's session must not guess on it.
func (a *API) countOwn(w http.ResponseWriter, c *route.Call) error {
	if a.opt.Windows.Limit == nil {
		return nil
	}
	return a.opt.Windows.Limit(w, access.Attempt{Address: web.ClientAddress(c.Request), Account: accountID +
		c.Actor.UserID, Session: true})
}

// captcha is the answer to a captcha as supabase-js sends it.
type captcha struct {
	Meta struct {
		Answer string `json:"captcha_token"`
	} `json:"gotrue_meta_security"`
}

// askMail counts a request for a mail or a text and then asks whether a person makes it.
func (a *API) askMail(w http.ResponseWriter, c *route.Call, account string, solved captcha) error {
	if err := a.countAs(w, c, account, access.Attempt{Mail: true}); err != nil {
		return err
	}
	return a.svc.SolvedCaptcha(c.Context(), solved.Meta.Answer, c.Client())
}

// countAndCheckCaptcha counts an attempt and then asks whether a person makes it.
func (a *API) countAndCheckCaptcha(w http.ResponseWriter, c *route.Call, account string, solved captcha) error {
	if err := a.countAttempt(w, c, account); err != nil {
		return err
	}
	return a.svc.SolvedCaptcha(c.Context(), solved.Meta.Answer, c.Client())
}
