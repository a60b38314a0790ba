package mailtemplate

// Change is what a ProtectionChanged letter tells of. The letter's Other
// names the provider or the address that some are about.
type Change string

// Changes of what protects an account.
const (
	FactorAdded    Change = "factor_added"
	FactorRemoved  Change = "factor_removed"
	CodesMade      Change = "codes_made"
	CodeTried      Change = "code_tried"
	PasskeyAdded   Change = "passkey_added"
	PasskeyRemoved Change = "passkey_removed"
	Linked         Change = "linked"          // Other is the provider
	Unlinked       Change = "unlinked"        // Other is the provider
	OwnershipGiven Change = "ownership_given" // Other is the new owner's address
	OwnershipTaken Change = "ownership_taken" // Other is the former owner's address
)

func englishChange(c Change, what string) string {
	switch c {
	case FactorAdded:
		return "a second factor was added"
	case FactorRemoved:
		return "a second factor was removed"
	case CodesMade:
		return "recovery codes were made"
	case CodeTried:
		return "a recovery code was tried"
	case PasskeyAdded:
		return "a passkey was added"
	case PasskeyRemoved:
		return "a passkey was removed"
	case Linked:
		return "sign-in with " + providerName(what, "your organisation") + " was linked"
	case Unlinked:
		return "sign-in with " + providerName(what, "your organisation") + " was removed"
	case OwnershipGiven:
		return "you handed the tenant on to " + what
	case OwnershipTaken:
		return what + " made you the owner of the tenant"
	}
	return ""
}

func germanChange(c Change, what string) string {
	switch c {
	case FactorAdded:
		return "ein zweiter Faktor wurde hinzugefügt"
	case FactorRemoved:
		return "ein zweiter Faktor wurde entfernt"
	case CodesMade:
		return "Wiederherstellungscodes wurden erstellt"
	case CodeTried:
		return "ein Wiederherstellungscode wurde versucht"
	case PasskeyAdded:
		return "ein Passkey wurde hinzugefügt"
	case PasskeyRemoved:
		return "ein Passkey wurde entfernt"
	case Linked:
		return "die Anmeldung mit " + providerName(what, "Ihrer Organisation") + " wurde verknüpft"
	case Unlinked:
		return "die Anmeldung mit " + providerName(what, "Ihrer Organisation") + " wurde entfernt"
	case OwnershipGiven:
		return "Sie haben den Mandanten an " + what + " übergeben"
	case OwnershipTaken:
		return what + " hat Sie zum Inhaber des Mandanten gemacht"
	}
	return ""
}
