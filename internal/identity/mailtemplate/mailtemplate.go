// Package mailtemplate words the mails of the identity service, as text and as HTML,
// in the languages of Locales, or as a tenant worded them.
//
// Layer: domains. Begin at [Letter].
package mailtemplate

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"text/template"
	"time"

	"holdfast/internal/mail"
)

// Kind is what a letter is for; it becomes mail.Message.Kind.
type Kind string

// Kinds of letters.
const (
	Confirmation       Kind = "confirmation"         // new account: prove the address
	Known              Kind = "known"                // sign-up with an address that has an account
	Recovery           Kind = "recovery"             // forgotten password
	MagicLink          Kind = "magic_link"           // sign in without a password
	Invite             Kind = "invite"               // an account was made for you
	TenantInvite       Kind = "tenant_invite"        // join a tenant with the account you have
	EmailChangeCurrent Kind = "email_change_current" // to the old address
	EmailChangeNew     Kind = "email_change_new"     // to the new address
	Reauthentication   Kind = "reauthentication"     // a code before a sensitive change
	PasswordChanged    Kind = "password_changed"     // notice
	ProtectionChanged  Kind = "protection_changed"   // notice: a Change
	SSODomain          Kind = "sso_domain"           // to the postmaster of a domain: a code for who claims it
)

// Kinds lists every kind of letter.
func Kinds() []Kind {
	return []Kind{Confirmation, Known, Recovery, MagicLink, Invite, TenantInvite, EmailChangeCurrent, EmailChangeNew,
		Reauthentication, PasswordChanged, ProtectionChanged, SSODomain}
}

// Ours reports a kind that no tenant words: it warns somebody outside of the
// tenant that asks.
func (k Kind) Ours() bool { return k == SSODomain }

// Letter is what a mail says. Link and Code may be empty; Valid is how long
// they work.
type Letter struct {
	Kind     Kind
	To       string
	User     string // id of the account it is about; "" = nobody's
	TenantID string // the tenant that sends it; "" = the account's
	Locale   string // one of Locales; anything else is English
	Site     string // the site's address, shown as the sender's name
	Link     string
	Code     string
	Valid    time.Duration
	Tenant   string // name of the tenant, for invitations
	Role     string
	Other    string // the other address of an e-mail change, or what a Change is about; a domain
	Change   Change // of ProtectionChanged
	Ways     []Way  // of PasswordChanged: what else opens the account
}

// slots are what a template may say.
type slots struct {
	Link, Code, Minutes, Tenant, Role, Other, Site, Email string
}

func (l Letter) slotValues() slots {
	s := slots{Link: l.Link, Code: l.Code, Tenant: l.Tenant, Role: l.Role, Other: l.Other, Site: l.Site, Email: l.To}
	switch lang := languageOf(l.Locale); l.Kind {
	case ProtectionChanged:
		s.Other = lang.change(l.Change, l.Other)
	case PasswordChanged:
		s.Other = lang.ways(l.Ways)
	}
	if m := int(l.Valid.Minutes()); m > 0 {
		s.Minutes = fmt.Sprint(m)
	}
	return s
}

//go:embed letter.txt letter.html
var files embed.FS

var (
	plain = template.Must(template.ParseFS(files, "letter.txt"))
	rich  = htmltemplate.Must(htmltemplate.ParseFS(files, "letter.html"))
)

// Message renders the letter in our own words.
func (l Letter) Message() (mail.Message, error) {
	lang := languageOf(l.Locale)
	words := lang.wording(l)
	data := struct {
		wording
		slots
		Locale, Open, Valid string
	}{wording: words, slots: l.slotValues(), Locale: lang.locale, Open: lang.open}
	if l.Valid > 0 && (l.Link != "" || l.Code != "") {
		data.Valid = lang.valid(int(l.Valid.Minutes()))
	}
	var text, html strings.Builder
	if err := plain.Execute(&text, data); err != nil {
		return mail.Message{}, fmt.Errorf("letter: %s: %w", l.Kind, err)
	}
	if err := rich.Execute(&html, data); err != nil {
		return mail.Message{}, fmt.Errorf("letter: %s: %w", l.Kind, err)
	}
	return mail.Message{To: l.To, Subject: words.Subject, Text: text.String(), HTML: html.String(), Kind: string(l.Kind)},
		nil
}
