package signin

import (
	"context"
	"crypto/subtle"
	"net/url"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// Verification takes the codes and links that were sent.
type Verification struct {
	*accounts.Base
	Accounts    *accounts.Store
	Addresses   *tenants.Addresses
	Codes       *codes.Store
	Invitations *tenants.Invitations
	Links       *accounts.Links
	Sessions    *sessions.Store
}

// Halfway answers the first of the two confirmations of an e-mail change.
const Halfway = "Confirmation link accepted. Please proceed to confirm link sent to the other email"

// Verify is a request to redeem a one-time code: digits with their address, or
// the hash of the link alone.
type Verify struct {
	Type, Token, Email, Phone, TokenHash string
}

// Verify redeems a code. A nil session without an error is the first half of
// an e-mail change.
func (s *Verification) Verify(ctx context.Context, in Verify, c accounts.Client) (*sessions.Session, error) {
	if err := in.checkRequest(); err != nil {
		return nil, err
	}
	if in.isTexted() {
		if err := s.Accounts.PhonesOn(); err != nil {
			return nil, err
		}
		if _, err := accounts.CanonicalPhone(in.Phone); err != nil {
			return nil, err
		}
	}
	var g *sessions.Grant
	var refused error
	err := s.Write(ctx, func(tx *db.Tx) (err error) {
		g, refused = nil, nil
		t, err := s.findCode(tx, in, c.Place())
		if fault.HasCode(err, "otp_expired") {
			// A wrong guess was counted; that has to commit.
			s.Audit(tx, accounts.Event{Action: "session.refused", Outcome: "refused",
				Details: map[string]any{"method": "otp", "type": in.Type}, Client: c})
			refused = err
			return nil
		}
		if err != nil {
			return err
		}
		g, _, err = s.Accept(tx, t, token.Method{Method: "otp"}, c)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return nil, refused
	case g == nil:
		return nil, nil
	}
	return s.Sessions.Issue(g)
}

func (in *Verify) checkRequest() error {
	switch {
	case in.isTexted() && (in.Token == "" || in.Phone == "" || in.TokenHash != ""):
		return fault.New(fault.Invalid, "validation_failed", "Verify requires a token and a phone")
	case in.isTexted():
		return nil
	case !codes.KnownType(in.Type):
		return fault.New(fault.Invalid, "validation_failed", "Verify requires a verification type")
	case in.TokenHash != "" && (in.Token != "" || in.Email != ""):
		return fault.New(fault.Invalid, "validation_failed", "Only the token_hash and type should be provided")
	case in.TokenHash == "" && (in.Token == "" || in.Email == ""):
		return fault.New(fault.Invalid, "validation_failed", "Verify requires either a token and an email, or a token_hash")
	}
	return nil
}

// isTexted reports a code that came by text message.
func (in *Verify) isTexted() bool {
	return in.Type == codes.KindSMS || in.Type == codes.KindPhoneChange
}

// Account is the address or the number whose code is tried.
func (in *Verify) Account() string {
	if in.isTexted() {
		return in.Phone
	}
	return in.Email
}

// findCode returns the live code that matches, or otp_expired.
func (s *Verification) findCode(tx *db.Tx, in Verify, place string) (codes.OneTime, error) {
	if in.TokenHash != "" {
		t, err := s.Codes.CodeByLink(tx, in.TokenHash)
		if err == nil && !codes.AcceptsCode(in.Type, t.Kind) {
			return t, codes.ErrLink()
		}
		return t, err
	}
	canonical, addr := accounts.Canonical, in.Email
	if in.isTexted() {
		canonical, addr = accounts.CanonicalPhone, in.Phone
	}
	addr, err := canonical(addr)
	if err != nil {
		return codes.OneTime{}, codes.ErrCode()
	}
	ids, err := codesTyped(tx, in.Type, addr, place)
	if err != nil {
		return codes.OneTime{}, err
	}
	for _, id := range ids {
		t, err := codes.CodeBy(tx, "id = $1", id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return codes.OneTime{}, err
		}
		ok, err := s.Codes.MatchDigits(tx, t, in.Token, place)
		if ok || err != nil {
			return t, err
		}
	}
	return codes.OneTime{}, codes.ErrCode()
}

const codesTypedSQL = `
	SELECT id, kind, user_id, slot, asked_from
	FROM one_time_tokens
	WHERE address = $1
	ORDER BY created_at DESC NULLS LAST, id`

// codesTyped lists the codes that digits typed at a place may be: of each slot the one
// that was asked for there, else the latest of others'; and what no stranger asks
// for. So the codes of strangers do not multiply what a guess may hit.
func codesTyped(tx *db.Tx, typ, addr, place string) (ids []string, err error) {
	others := map[string]string{} // by account and slot
	err = tx.Query(codesTypedSQL, []any{addr}, func(r *db.Row) error {
		key := r.Text(2) + r.Text(3)
		switch from := r.Text(4); {
		case !codes.AcceptsCode(typ, r.Text(1)):
		case from == "" || from == place:
			ids = append(ids, r.Text(0))
			if from != "" {
				others[key] = ""
			}
		default:
			if _, there := others[key]; !there {
				others[key] = r.Text(0)
			}
		}
		return nil
	})
	for _, id := range others {
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Accept ends a code and does what it stands for, then opens a session. half
// says that an e-mail change waits for its other half.
func (s *Verification) Accept(
	tx *db.Tx, t codes.OneTime, how token.Method, c accounts.Client,
) (g *sessions.Grant, half bool, err error) {
	if err := codes.Consume(tx, t); err != nil {
		return nil, false, err
	}
	if t.Kind == codes.KindInvite {
		if c.Invite, err = s.Invitations.InvitedBy(tx, t); err != nil {
			return nil, false, err
		}
	}
	u, half, err := s.Addresses.Apply(tx, t, c)
	if err != nil || half {
		return nil, half, err
	}
	g, err = s.Sessions.Begin(tx, u, how, c)
	return g, false, err
}

// Landing is where an opened link leads.
type Landing struct {
	Location string // 303 to here
	Ask      bool   // or a page with one button that posts the link back

	// A cookie by which the page knows the browser again, where CookieName is set.
	CookieName, Browser string
	MaxAge              time.Duration
}

// Open is a mailed link on its way through a browser.
type Open struct {
	Token, Type, Redirect string
	Post                  bool // the page's button, which redeems the link
	Page                  bool // the caller shows pages: a browser, or a scanner acting as one
	Peek                  bool // HEAD: say where, change nothing
	Cookie                func(name string) string
}

// OpenLink answers GET and POST /verify with a link's token.
//
// Opening a link redeems nothing, because mail scanners open links. With PKCE it leads to the target with an
// authorization code that
// only the browser holding the verifier can use; the code behind the link ends
// at that exchange. Without PKCE a browser gets a page whose button posts.
// Whoever shows no pages, and everybody where the implicit flow is off and no
// tokens travel in addresses, is sent to the site with the link's hash, which
// POST /verify redeems. So is everybody whom the link leads to the console, which
// asks for the press of a button itself, in any browser. An e-mail change is confirmed on the page with PKCE too,
// because clients forget its verifier before anybody opens the links.
func (s *Verification) OpenLink(ctx context.Context, in Open, c accounts.Client) (Landing, error) {
	// Whoever asked for the mail chose target and challenge, and need not be its reader.
	target := s.Links.Exactly(s.Links.Redirects.Target(in.Redirect))
	if in.Peek {
		return Landing{Location: target}, nil
	}
	var out Landing
	var g *sessions.Grant
	err := s.Write(ctx, func(tx *db.Tx) (err error) {
		out, g = Landing{}, nil
		t, err := s.Codes.CodeByLink(tx, in.Token)
		if err != nil {
			return err
		}
		switch {
		case in.Type == "":
			_, _, in.Type = codes.KindFacts(t.Kind)
		case !codes.AcceptsCode(in.Type, t.Kind):
			return codes.ErrLink()
		}
		f, err := s.flowOfCode(tx, t)
		if err != nil {
			return err
		}
		onPage := f.Challenge != "" && in.Page && (t.Kind == codes.KindChangeCurrent || t.Kind == codes.KindChangeNew)
		switch {
		case f.Challenge != "" && !onPage:
			authCode, err := s.Codes.IssueCode(tx, f)
			out.Location = redirect.WithQuery(target, url.Values{"code": {authCode}})
			return err
		case !onPage && (!s.Config.ImplicitFlow || !in.Post && !in.Page || s.Links.IsConsole(target)):
			out.Location = redirect.WithQuery(target, url.Values{"token_hash": {in.Token}, "type": {in.Type}})
			return nil
		case !in.Post:
			out.Ask = true
			return nil
		case onPage:
			out.Location, err = s.changeOnPage(tx, f, t, target, c)
			return err
		}
		if t.Identity, err = s.sameBrowser(f, in); err != nil {
			return err
		}
		var half bool
		g, half, err = s.Accept(tx, t, token.Method{Method: "otp"}, c)
		if half {
			out.Location = halfwayURL(target, false)
		}
		return err
	})
	if err != nil {
		s.Links.Ours(err)
		return Landing{Location: s.Links.Failure(target, err, in.isPKCE())}, nil
	}
	if g == nil {
		return out, nil
	}
	sess, err := s.Sessions.Issue(g)
	if err != nil {
		return Landing{}, err
	}
	return Landing{Location: Fragment(s.Links, sess, target, in.Type)}, nil
}

func (in Open) isPKCE() bool { return len(in.Token) > 5 && in.Token[:5] == "pkce_" }

// changeOnPage takes a half of an e-mail change that began with a challenge. The
// whole one leads to a code for whoever still has the verifier.
func (s *Verification) changeOnPage(
	tx *db.Tx, f codes.Flow, t codes.OneTime, target string, c accounts.Client,
) (string, error) {
	if err := codes.Consume(tx, t); err != nil {
		return "", err
	}
	_, half, err := s.Addresses.Apply(tx, t, c)
	if err != nil {
		return "", err
	}
	if half {
		return halfwayURL(target, true), nil
	}
	authCode, err := s.Codes.IssueCode(tx, f)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec("UPDATE flow_states SET token_id = NULL WHERE id = $1", f.ID)
	return redirect.WithQuery(target, url.Values{"code": {authCode}}), err
}

// flowOfCode is the flow that asked for a code, or none.
func (s *Verification) flowOfCode(tx *db.Tx, t codes.OneTime) (codes.Flow, error) {
	if t.Flow == "" {
		return codes.Flow{}, nil
	}
	f, err := codes.FlowBy(tx, "id = $1", t.Flow)
	if fault.Is(err, fault.NotFound) {
		err = codes.ErrLink()
	}
	return f, err
}

// sameBrowser is the identity that a flow without a challenge asked a proof for,
// in the browser that holds the flow's cookie; "" in any other.
func (s *Verification) sameBrowser(f codes.Flow, in Open) (string, error) {
	if f.BrowserHash == "" || in.Cookie == nil ||
		subtle.ConstantTimeCompare([]byte(secrets.Digest(in.Cookie(codes.CookieName(f.ID)))), []byte(f.BrowserHash)) != 1 {
		return "", nil
	}
	sec, err := s.Codes.OpenFlow(f)
	return sec.Identity, err
}
