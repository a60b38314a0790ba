package page

import (
	"net/http"

	"golang.org/x/text/language"
)

// sharedTexts are the words of the page of a shared document.
type sharedTexts struct{ Lang, Title, Lead, Password, Open, Wrong, TooOften, Failed, Gone string }

// sharedWritten are the texts in the order of the languages of matcher.
var sharedWritten = [...]sharedTexts{
	{"en", "Shared document", "Somebody shared a document with you. The password comes from the same person.",
		"Password", "Open the document (PDF)", "The password is wrong. After ten wrong ones the link is closed.",
		"Too many tries: wait a minute and try again.", "The document could not be made. Try again later.",
		"This link does not exist or has ended. Ask the person you have it from for a new one."},
	{"de", "Geteiltes Dokument", "Jemand hat ein Dokument mit Ihnen geteilt. Das Passwort kommt von derselben Person.",
		"Passwort", "Dokument öffnen (PDF)", "Das Passwort ist falsch. Nach zehn falschen ist der Link geschlossen.",
		"Zu viele Versuche: Warten Sie eine Minute.",
		"Das Dokument ließ sich nicht erstellen. Versuchen Sie es später.",
		"Diesen Link gibt es nicht, oder er ist abgelaufen. Bitten Sie die Person, von der er kommt, um einen neuen."},
	{"fr", "Document partagé", "Quelqu’un a partagé un document avec vous. La même personne a le mot de passe.",
		"Mot de passe", "Ouvrir le document (PDF)", "Le mot de passe est faux. Après dix erreurs, le lien est fermé.",
		"Trop d’essais : attendez une minute.", "Le document n’a pas pu être établi. Réessayez plus tard.",
		"Ce lien n’existe pas ou n’est plus valable. Demandez-en un nouveau à la personne qui vous l’a donné."},
}

// sharedTextsFor is the texts of the language that a request asks for.
func sharedTextsFor(r *http.Request) sharedTexts {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		tags = nil
	}
	_, i, _ := matcher.Match(tags...)
	return sharedWritten[i]
}
