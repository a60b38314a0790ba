package mailtemplate

import (
	"fmt"
	"strings"
)

// Locales are the languages letters are worded in, by ISO 639-1 code.
func Locales() []string { return []string{"en", "de"} }

// LocaleOf returns the language of a tag such as de-AT (RFC 5646) that letters
// are worded in, or "".
func LocaleOf(tag string) string {
	lang, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-"), "-")
	for _, l := range Locales() {
		if l == lang {
			return l
		}
	}
	return ""
}

// wording is what differs between kinds.
type wording struct{ Subject, Lead, Action, Tail string }

// language is what differs between languages.
type language struct {
	locale, open string
	wording      func(l Letter) wording
	change       func(c Change, about string) string
	ways         func(list []Way) string
	valid        func(minutes int) string
	text         string // of a text message: name, code, minutes
}

func languageOf(locale string) language {
	if locale == "de" {
		return language{"de", "Öffnen", germanWording, germanChange, germanWays, func(m int) string {
			if m > 180 {
				return "Nur begrenzte Zeit gültig."
			}
			return fmt.Sprintf("%d Minuten gültig.", m)
		}, "Ihr %s-Code ist %s. Er gilt %d Minuten."}
	}
	return language{"en", "Open", englishWording, englishChange, englishWays, func(m int) string {
		if m > 180 {
			return "Valid for a limited time."
		}
		return fmt.Sprintf("Valid for %d minutes.", m)
	}, "Your %s code is %s. It holds for %d minutes."}
}

// Text words the text message that brings a code.
func Text(locale, name, code string, minutes int) string {
	return fmt.Sprintf(languageOf(locale).text, name, code, minutes)
}

func englishWording(l Letter) wording {
	const (
		ignore = "If this was not you, ignore this mail; nothing changes."
		change = "If this was not you, change your password at once."
	)
	place := ""
	if l.Tenant != "" && l.Role != "" {
		place = " to join " + l.Tenant + " as " + l.Role
	} else if l.Tenant != "" {
		place = " to join " + l.Tenant
	}
	switch l.Kind {
	case Confirmation:
		return wording{"Confirm your address", "Please confirm that this address is yours to finish signing up.",
			"Confirm address", ignore}
	case Known:
		return wording{"You already have an account",
			"Somebody, perhaps you, tried to sign up with this address, or to move an account to it. " +
				"You already have an account: sign in, or ask for a new password if you forgot yours.", "Open the site", ignore}
	case Recovery:
		return wording{"Choose a new password", "A new password was asked for with this address.", "Choose a new password",
			ignore}
	case MagicLink:
		return wording{"Your sign-in link", "Use this link to sign in.", "Sign in", ignore}
	case Invite:
		return wording{"You have been invited", "An account was made for you" + place +
			". Accept the invitation to set it up.", "Accept invitation", ignore}
	case TenantInvite:
		return wording{"You have been invited", "You have been invited" + place +
			". Sign in with this address to accept or decline.", "See the invitation", ignore}
	case EmailChangeCurrent:
		return wording{"Confirm the change of your address", "Your account is to use " + l.Other +
			" from now on. Confirm it from this address as well.", "Confirm change", change}
	case EmailChangeNew:
		lead := "An account is to use this address instead of " + l.Other + "."
		if l.Other == "" {
			lead = "An account that has no address yet is to use this one."
		}
		return wording{"Confirm your new address", lead, "Confirm change", ignore}
	case Reauthentication:
		return wording{"Your confirmation code", "Enter this code to confirm that it is you.", "", change}
	case PasswordChanged:
		return wording{"Your password was changed",
			"The password of your account was changed and other sessions were ended." +
				optionalSentence(englishWays(l.Ways), " These still open it, too: %s."), "",
			"If this was not you, ask for a new password at once."}
	case ProtectionChanged:
		return wording{"The protection of your account was changed", "This was changed in your account: " +
			englishChange(l.Change, l.Other) + ".", "",
			"If this was not you, change your password at once and tell your administrator."}
	case SSODomain:
		return wording{"Confirm " + l.Other + " for single sign-on", "Somebody set up single sign-on for the domain " +
			l.Other + " at " + l.Site + ". If that is right, give them this code.", "",
			"Whoever enters it can decide who signs in with an address of this domain. If you expected nothing of the kind, do nothing."}
	}
	return wording{Subject: "Message from " + l.Site}
}

// optionalSentence says what else there is to say, if anything is.
func optionalSentence(what, sentence string) string {
	if what == "" {
		return ""
	}
	return fmt.Sprintf(sentence, what)
}

func germanWording(l Letter) wording {
	const (
		ignore = "Wenn Sie das nicht waren, tun Sie nichts: Es ändert sich nichts."
		change = "Wenn Sie das nicht waren, ändern Sie sofort Ihr Passwort."
	)
	place := ""
	if l.Tenant != "" && l.Role != "" {
		place = " bei " + l.Tenant + " als " + germanRole(l.Role)
	} else if l.Tenant != "" {
		place = " bei " + l.Tenant
	}
	switch l.Kind {
	case Confirmation:
		return wording{"Bitte bestätigen Sie Ihre Adresse",
			"Bitte bestätigen Sie, dass diese Adresse Ihnen gehört. Damit ist die Anmeldung abgeschlossen.",
			"Adresse bestätigen", ignore}
	case Known:
		return wording{"Sie haben schon ein Konto",
			"Jemand, vielleicht Sie selbst, wollte mit dieser Adresse ein Konto anlegen oder eines auf sie umstellen. Es gibt schon " +
				"eines: Melden Sie sich an, oder fordern Sie ein neues " +
				"Passwort an.", "Zur Anmeldung", ignore}
	case Recovery:
		return wording{"Neues Passwort wählen", "Für diese Adresse wurde ein neues Passwort angefordert.",
			"Neues Passwort wählen", ignore}
	case MagicLink:
		return wording{"Ihr Link zur Anmeldung", "Mit diesem Link melden Sie sich an.", "Anmelden", ignore}
	case Invite:
		return wording{"Sie sind eingeladen", "Für Sie wurde ein Konto" + place +
			" angelegt. Nehmen Sie die Einladung an, um es einzurichten.", "Einladung annehmen", ignore}
	case TenantInvite:
		return wording{"Sie sind eingeladen", "Sie sind zur Mitarbeit" + place +
			" eingeladen. Melden Sie sich mit dieser Adresse an, um anzunehmen oder abzulehnen.", "Einladung ansehen", ignore}
	case EmailChangeCurrent:
		return wording{"Bitte bestätigen Sie die Änderung Ihrer Adresse", "Ihr Konto soll künftig " + l.Other +
			" verwenden. Bestätigen Sie das auch von dieser Adresse aus.", "Änderung bestätigen", change}
	case EmailChangeNew:
		lead := "Ein Konto soll diese Adresse statt " + l.Other + " verwenden."
		if l.Other == "" {
			lead = "Ein Konto, das noch keine Adresse hat, soll diese verwenden."
		}
		return wording{"Bitte bestätigen Sie Ihre neue Adresse", lead, "Änderung bestätigen", ignore}
	case Reauthentication:
		return wording{"Ihr Bestätigungscode", "Geben Sie diesen Code ein, um zu bestätigen, dass Sie es sind.", "", change}
	case PasswordChanged:
		return wording{"Ihr Passwort wurde geändert",
			"Das Passwort Ihres Kontos wurde geändert, andere Sitzungen wurden beendet." +
				optionalSentence(germanWays(l.Ways), " Diese öffnen es ebenfalls noch: %s."), "",
			"Wenn Sie das nicht waren, fordern Sie sofort ein neues Passwort an."}
	case ProtectionChanged:
		return wording{"Der Schutz Ihres Kontos wurde geändert", "In Ihrem Konto wurde geändert: " +
			germanChange(l.Change, l.Other) + ".", "",
			"Wenn Sie das nicht waren, ändern Sie sofort Ihr Passwort und sagen Sie Ihrer Verwaltung Bescheid."}
	case SSODomain:
		return wording{"Bitte bestätigen Sie " + l.Other + " für Single Sign-on",
			"Jemand hat Single Sign-on für die Domain " + l.Other + " bei " +
				l.Site + " eingerichtet. Wenn das stimmt, geben Sie ihm diesen Code.", "",
			"Wer ihn eingibt, kann bestimmen, wer sich mit einer Adresse dieser Domain anmeldet. Wenn Sie nichts dergleichen erwarten, tun Sie nichts."}
	}
	return wording{Subject: "Nachricht von " + l.Site}
}

func germanRole(role string) string {
	names := map[string]string{"owner": "Inhaber", "admin": "Verwaltung", "manager": "Lagerleitung",
		"safety": "Arbeitsschutz", "operator": "Lagerkraft", "driver": "Fahrer", "viewer": "Leser"}
	if n := names[role]; n != "" {
		return n
	}
	return role
}
