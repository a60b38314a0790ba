// Package letter words the mails of the identity service, as text and as HTML.
package letter

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
	ProtectionChanged  Kind = "protection_changed"   // notice: factor, passkey, recovery codes, identity
)

// Letter is what a mail says. Link and Code may be empty; Valid is how long
// they work.
type Letter struct {
	Kind   Kind
	To     string
	Site   string // the site's address, shown as the sender's name
	Link   string
	Code   string
	Valid  time.Duration
	Tenant string // name of the tenant, for invitations
	Role   string
	Other  string // the other address of an e-mail change; what was changed
}

//go:embed letter.txt letter.html
var files embed.FS

var (
	plain = template.Must(template.ParseFS(files, "letter.txt"))
	rich  = htmltemplate.Must(htmltemplate.ParseFS(files, "letter.html"))
)

// wording is what differs between kinds.
type wording struct{ Subject, Lead, Action, Tail string }

func (l Letter) wording() wording {
	const ignore = "If this was not you, ignore this mail; nothing changes."
	switch l.Kind {
	case Confirmation:
		return wording{"Confirm your address", "Please confirm that this address is yours to finish signing up.", "Confirm address", ignore}
	case Known:
		return wording{"You already have an account", "Somebody, perhaps you, tried to sign up with this address. You already have an account: sign in, or ask for a new password if you forgot yours.", "Open the site", ignore}
	case Recovery:
		return wording{"Choose a new password", "A new password was asked for with this address.", "Choose a new password", ignore}
	case MagicLink:
		return wording{"Your sign-in link", "Use this link to sign in.", "Sign in", ignore}
	case Invite:
		return wording{"You have been invited", "An account was made for you" + l.place() + ". Accept the invitation to set it up.", "Accept invitation", ignore}
	case TenantInvite:
		return wording{"You have been invited", "You have been invited" + l.place() + ". Sign in with this address to join.", "Sign in", ignore}
	case EmailChangeCurrent:
		return wording{"Confirm the change of your address", "Your account is to use " + l.Other + " from now on. Confirm it from this address as well.", "Confirm change", "If this was not you, change your password at once."}
	case EmailChangeNew:
		return wording{"Confirm your new address", "An account is to use this address instead of " + l.Other + ".", "Confirm change", ignore}
	case Reauthentication:
		return wording{"Your confirmation code", "Enter this code to confirm that it is you.", "", "If this was not you, change your password at once."}
	case PasswordChanged:
		return wording{"Your password was changed", "The password of your account was changed and other sessions were ended.", "", "If this was not you, ask for a new password at once."}
	case ProtectionChanged:
		return wording{"The protection of your account was changed", "This was changed in your account: " + l.Other + ".", "", "If this was not you, change your password at once and tell your administrator."}
	}
	return wording{Subject: "Message from " + l.Site}
}

func (l Letter) place() string {
	switch {
	case l.Tenant != "" && l.Role != "":
		return " to join " + l.Tenant + " as " + l.Role
	case l.Tenant != "":
		return " to join " + l.Tenant
	}
	return ""
}

// Message renders the letter.
func (l Letter) Message() (mail.Message, error) {
	w := l.wording()
	data := struct {
		wording
		Letter
		Minutes int
	}{w, l, int(l.Valid.Minutes())}
	var text, html strings.Builder
	if err := plain.Execute(&text, data); err != nil {
		return mail.Message{}, fmt.Errorf("letter: %s: %w", l.Kind, err)
	}
	if err := rich.Execute(&html, data); err != nil {
		return mail.Message{}, fmt.Errorf("letter: %s: %w", l.Kind, err)
	}
	return mail.Message{To: l.To, Subject: w.Subject, Text: text.String(), HTML: html.String(), Kind: string(l.Kind)}, nil
}
