package identity

import (
	"context"
	"crypto/subtle"
	"net/url"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/identity/token"
	"holdfast/internal/seal"
)

// Verification takes the codes and links that were sent.
type Verification struct {
	*Base
	accounts    *Accounts
	addresses   *Addresses
	codes       *Codes
	invitations *Invitations
	links       *Links
	sessions    *Sessions
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
func (s *Verification) Verify(ctx context.Context, in Verify, c Client) (*Session, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.texted() {
		if err := s.accounts.phonesOn(); err != nil {
			return nil, err
		}
	}
	var g *grant
	var refused error
	err := s.write(ctx, func(tx *db.Tx) (err error) {
		g, refused = nil, nil
		t, err := s.findCode(tx, in, c.place())
		if fault.HasCode(err, "otp_expired") {
			// A wrong guess was counted; that has to commit.
			s.record(tx, event{action: "session.refused", outcome: "refused", details: map[string]any{"method": "otp", "type": in.Type}, client: c})
			refused = err
			return nil
		}
		if err != nil {
			return err
		}
		g, _, err = s.accept(tx, t, token.Method{Method: "otp"}, c)
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
	return s.sessions.issue(g)
}

func (in *Verify) check() error {
	switch {
	case in.texted() && (in.Token == "" || in.Phone == "" || in.TokenHash != ""):
		return fault.New(fault.Invalid, "validation_failed", "Verify requires a token and a phone")
	case in.texted():
		return nil
	case !knownType(in.Type):
		return fault.New(fault.Invalid, "validation_failed", "Verify requires a verification type")
	case in.TokenHash != "" && (in.Token != "" || in.Email != ""):
		return fault.New(fault.Invalid, "validation_failed", "Only the token_hash and type should be provided")
	case in.TokenHash == "" && (in.Token == "" || in.Email == ""):
		return fault.New(fault.Invalid, "validation_failed", "Verify requires either a token and an email, or a token_hash")
	}
	return nil
}

// texted reports a code that came by text message.
func (in *Verify) texted() bool { return in.Type == kindSMS || in.Type == kindPhoneChange }

// Account is the address or the number whose code is tried.
func (in *Verify) Account() string {
	if in.texted() {
		return in.Phone
	}
	return in.Email
}

// findCode returns the live code that matches, or otp_expired.
func (s *Verification) findCode(tx *db.Tx, in Verify, place string) (oneTime, error) {
	if in.TokenHash != "" {
		t, err := s.codes.codeByLink(tx, in.TokenHash)
		if err == nil && !accepts(in.Type, t.kind) {
			return t, errLink()
		}
		return t, err
	}
	canonical, addr := Canonical, in.Email
	if in.texted() {
		canonical, addr = CanonicalPhone, in.Phone
	}
	addr, err := canonical(addr)
	if err != nil {
		return oneTime{}, errCode()
	}
	ids, err := typed(tx, in.Type, addr, place)
	if err != nil {
		return oneTime{}, err
	}
	for _, id := range ids {
		t, err := codeBy(tx, "id = $1", id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return oneTime{}, err
		}
		ok, err := s.codes.matchDigits(tx, t, in.Token, place)
		if ok || err != nil {
			return t, err
		}
	}
	return oneTime{}, errCode()
}

// typed lists the codes that digits typed at a place may be: of each slot the one
// that was asked for there, else the latest of others'; and what no stranger asks
// for. So the codes of strangers do not multiply what a guess may hit.
func typed(tx *db.Tx, typ, addr, place string) (ids []string, err error) {
	others := map[string]string{} // by account and slot
	err = tx.Query("SELECT id, kind, user_id, slot, asked_from FROM one_time_tokens WHERE address = $1 ORDER BY created_at DESC NULLS LAST, id",
		[]any{addr}, func(r *db.Row) error {
			key := r.Text(2) + r.Text(3)
			switch from := r.Text(4); {
			case !accepts(typ, r.Text(1)):
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

// accept ends a code and does what it stands for, then opens a session. half
// says that an e-mail change waits for its other half.
func (s *Verification) accept(tx *db.Tx, t oneTime, how token.Method, c Client) (g *grant, half bool, err error) {
	if err := consume(tx, t); err != nil {
		return nil, false, err
	}
	if t.kind == kindInvite {
		if c.Invite, err = s.invitations.invitedBy(tx, t); err != nil {
			return nil, false, err
		}
	}
	u, half, err := s.addresses.apply(tx, t, c)
	if err != nil || half {
		return nil, half, err
	}
	g, err = s.sessions.begin(tx, u, how, c)
	return g, false, err
}

func (s *Addresses) apply(tx *db.Tx, t oneTime, c Client) (*User, bool, error) {
	u, err := locked(tx, t.user)
	if fault.Is(err, fault.NotFound) {
		return nil, false, errLink()
	}
	if err != nil {
		return nil, false, err
	}
	if u.banned(s.now()) {
		return nil, false, errBanned()
	}
	if t.kind == kindChangeCurrent || t.kind == kindChangeNew {
		half, err := s.changeAddress(tx, u, t, c)
		return u, half, err
	}
	if t.kind == kindSMS || t.kind == kindSMSSignup || t.kind == kindPhoneChange {
		return u, false, s.provePhone(tx, u, t, c)
	}
	if t.address != u.Email {
		return nil, false, errLink()
	}
	return u, false, s.confirm(tx, u, t, c)
}

// confirm marks the address as proved. What was left in an account before
// anybody proved it came from who knows whom, and goes: a password, when the
// proof is not the sign-up's own mail, and the identities of providers, but for
// the one whose sign-in asked for this proof and got it in the same browser.
func (s *Addresses) confirm(tx *db.Tx, u *User, t oneTime, c Client) error {
	if err := clearCodes(tx, u.ID); err != nil || !u.EmailConfirmedAt.IsZero() {
		return err
	}
	now, unowned := s.now(), u.ConfirmedAt.IsZero()
	u.EmailConfirmedAt, u.ConfirmedAt, u.UpdatedAt = Time{Time: now}, Time{Time: now}, Time{Time: now}
	if _, there := u.UserMetadata["email_verified"]; there {
		u.UserMetadata["email_verified"] = true
	}
	if unowned {
		if err := s.accounts.withoutProviders(tx, u, t.identity); err != nil {
			return err
		}
	}
	if unowned && t.kind != kindSignup {
		// So does a wish for a tenant, unless it came with an invitation.
		if t.kind != kindInvite {
			unwished(u.UserMetadata)
		}
		u.hash = ""
		if err := s.endSessions(tx, u.ID, ""); err != nil {
			return err
		}
	}
	tx.Queue("UPDATE users SET email_confirmed_at = $2, updated_at = $2, password_hash = $3, user_metadata = $4 WHERE id = $1",
		[]any{u.ID, now, null(u.hash), writeJSON(u.UserMetadata)}, nil)
	s.proveIdentity(tx, u)
	s.record(tx, event{user: u.ID, action: "user.confirmed", entity: "user", entityID: u.ID, client: c})
	return s.invitations.joinAsWished(tx, u, c)
}

// withoutProviders takes the identities of providers off an account that nobody
// has proved, all but keep. An account that a provider's sign-in had made is one
// that signs in by its address from then on.
func (s *Accounts) withoutProviders(tx *db.Tx, u *User, keep string) error {
	if keep == "" {
		keep = db.NoTenant // the id of none
	}
	n, err := tx.Exec("DELETE FROM identities WHERE user_id = $1 AND provider NOT IN ('email', 'phone') AND id <> $2", u.ID, keep)
	if err != nil || n == 0 {
		return err
	}
	u.Identities = slices.DeleteFunc(u.Identities, func(i Identity) bool {
		return i.Provider != "email" && i.Provider != "phone" && i.IdentityID != keep
	})
	u.derive()
	if len(u.Identities) > 0 {
		return nil
	}
	u.UserMetadata = map[string]any{}
	insertIdentity(tx, &u.signedUp().Identities[0])
	_, err = tx.Exec("UPDATE users SET user_metadata = $2 WHERE id = $1", u.ID, writeJSON(u.UserMetadata))
	return err
}

// proveIdentity brings the e-mail identity in line with the account.
func (s *Addresses) proveIdentity(tx *db.Tx, u *User) {
	for i := range u.Identities {
		id := &u.Identities[i]
		if id.Provider != "email" {
			continue
		}
		id.Email = u.Email
		id.Data["email"], id.Data["email_verified"] = u.Email, !u.EmailConfirmedAt.IsZero()
		tx.Queue("UPDATE identities SET email = $2, data = $3, updated_at = $4 WHERE id = $1", []any{id.IdentityID, null(id.Email), writeJSON(id.Data), s.now()}, nil)
	}
}

// changeAddress takes one half of an e-mail change. The address changes with the
// half that finds the other one proved: that of the new address always, that of
// the old one where it was anybody's. A half that ended unproved counts for
// nothing, or the other would decide alone.
func (s *Addresses) changeAddress(tx *db.Tx, u *User, t oneTime, c Client) (half bool, err error) {
	if u.NewEmail == "" || t.kind == kindChangeNew && t.address != u.NewEmail {
		return false, errLink()
	}
	other, address := kindChangeNew, u.NewEmail
	if t.kind == kindChangeNew {
		other, address = kindChangeCurrent, u.Email
	}
	if other == kindChangeCurrent && (u.Email == "" || u.EmailConfirmedAt.IsZero()) {
		return false, s.setAddress(tx, u, u.NewEmail, c)
	}
	_, err = codeBy(tx, "user_id = $1 AND slot = $2 AND address = $3 AND code_hash = $4 AND expires_at > $5", u.ID, other, address, proved, s.now())
	if fault.Is(err, fault.NotFound) {
		return true, s.codes.keepProof(tx, t)
	}
	if err != nil {
		return true, err
	}
	return false, s.setAddress(tx, u, u.NewEmail, c)
}

// setAddress moves an account to a proved address; every outstanding code
// dies, because codes are bound to the address.
func (s *Addresses) setAddress(tx *db.Tx, u *User, email string, c Client) error {
	if _, err := userByEmail(tx, email); !fault.Is(err, fault.NotFound) {
		if err == nil {
			err = errTaken()
		}
		return err
	}
	now, first := s.now(), u.ConfirmedAt.IsZero()
	old := u.Email
	s.becomeNamed(tx, u, c)
	u.Email, u.NewEmail, u.EmailConfirmedAt, u.ConfirmedAt, u.UpdatedAt = email, "", Time{Time: now}, Time{Time: now}, Time{Time: now}
	if _, there := u.UserMetadata["email"]; there {
		u.UserMetadata["email"], u.UserMetadata["email_verified"] = email, true
	}
	tx.Queue("UPDATE users SET email = $2, new_email = NULL, email_confirmed_at = $3, updated_at = $3, user_metadata = $4 WHERE id = $1",
		[]any{u.ID, email, now, writeJSON(u.UserMetadata)}, nil)
	tx.Queue("UPDATE members SET email = $2, updated_at = $3, version = version + 1 WHERE user_id = $1", []any{u.ID, email, now}, nil)
	s.proveIdentity(tx, u)
	s.record(tx, event{user: u.ID, action: "user.email_changed", entity: "user", entityID: u.ID, client: c})
	if old == "" {
		id := emailIdentity(u, now)
		u.Identities = append(u.Identities, id)
		insertIdentity(tx, &id)
	}
	if err := clearCodes(tx, u.ID); err != nil || !first {
		return err
	}
	return s.invitations.joinAsWished(tx, u, c)
}

func errTaken() error {
	return fault.New(fault.Unprocessable, "email_exists", "A user with this email address has already been registered")
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
// Opening a link redeems nothing, because mail scanners open links. With PKCE it leads to the target with an authorization code that
// only the browser holding the verifier can use; the code behind the link ends
// at that exchange. Without PKCE a browser gets a page whose button posts.
// Whoever shows no pages, and everybody where the implicit flow is off and no
// tokens travel in addresses, is sent to the site with the link's hash, which
// POST /verify redeems. An e-mail change is confirmed on the page with PKCE too,
// because clients forget its verifier before anybody opens the links.
func (s *Verification) OpenLink(ctx context.Context, in Open, c Client) (Landing, error) {
	// Whoever asked for the mail chose target and challenge, and need not be its reader.
	target := s.links.exactly(s.links.redirects.Target(in.Redirect))
	if in.Peek {
		return Landing{Location: target}, nil
	}
	var out Landing
	var g *grant
	err := s.write(ctx, func(tx *db.Tx) (err error) {
		out, g = Landing{}, nil
		t, err := s.codes.codeByLink(tx, in.Token)
		if err != nil {
			return err
		}
		switch {
		case in.Type == "":
			_, _, in.Type = kindFacts(t.kind)
		case !accepts(in.Type, t.kind):
			return errLink()
		}
		f, err := s.flowOfCode(tx, t)
		if err != nil {
			return err
		}
		onPage := f.challenge != "" && in.Page && (t.kind == kindChangeCurrent || t.kind == kindChangeNew)
		switch {
		case f.challenge != "" && !onPage:
			authCode, err := s.codes.issueCode(tx, f)
			out.Location = redirect.WithQuery(target, url.Values{"code": {authCode}})
			return err
		case !onPage && (!s.cfg.ImplicitFlow || !in.Post && !in.Page):
			out.Location = redirect.WithQuery(target, url.Values{"token_hash": {in.Token}, "type": {in.Type}})
			return nil
		case !in.Post:
			out.Ask = true
			return nil
		case onPage:
			out.Location, err = s.changeOnPage(tx, f, t, target, c)
			return err
		}
		if t.identity, err = s.sameBrowser(f, in); err != nil {
			return err
		}
		var half bool
		g, half, err = s.accept(tx, t, token.Method{Method: "otp"}, c)
		if half {
			out.Location = halfway(target, false)
		}
		return err
	})
	if err != nil {
		s.links.ours(err)
		return Landing{Location: s.links.failure(target, err, in.pkce())}, nil
	}
	if g == nil {
		return out, nil
	}
	sess, err := s.sessions.issue(g)
	if err != nil {
		return Landing{}, err
	}
	return Landing{Location: s.links.fragment(sess, target, in.Type)}, nil
}

func (in Open) pkce() bool { return len(in.Token) > 5 && in.Token[:5] == "pkce_" }

// changeOnPage takes a half of an e-mail change that began with a challenge. The
// whole one leads to a code for whoever still has the verifier.
func (s *Verification) changeOnPage(tx *db.Tx, f flow, t oneTime, target string, c Client) (string, error) {
	if err := consume(tx, t); err != nil {
		return "", err
	}
	_, half, err := s.addresses.apply(tx, t, c)
	if err != nil {
		return "", err
	}
	if half {
		return halfway(target, true), nil
	}
	authCode, err := s.codes.issueCode(tx, f)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec("UPDATE flow_states SET token_id = NULL WHERE id = $1", f.id)
	return redirect.WithQuery(target, url.Values{"code": {authCode}}), err
}

// flowOfCode is the flow that asked for a code, or none.
func (s *Verification) flowOfCode(tx *db.Tx, t oneTime) (flow, error) {
	if t.flow == "" {
		return flow{}, nil
	}
	f, err := flowBy(tx, "id = $1", t.flow)
	if fault.Is(err, fault.NotFound) {
		err = errLink()
	}
	return f, err
}

// sameBrowser is the identity that a flow without a challenge asked a proof for,
// in the browser that holds the flow's cookie; "" in any other.
func (s *Verification) sameBrowser(f flow, in Open) (string, error) {
	if f.browserHash == "" || in.Cookie == nil || subtle.ConstantTimeCompare([]byte(seal.Digest(in.Cookie(cookieName(f.id)))), []byte(f.browserHash)) != 1 {
		return "", nil
	}
	sec, err := s.codes.openFlow(f)
	return sec.Identity, err
}
