package mailtemplate

import (
	"fmt"
	"strings"
)

// Way is what opens an account beside its password. Name is what its owner calls
// it, or a provider's name in the configuration; it may be empty.
type Way struct {
	Kind WayKind
	Name string
}

// WayKind is a kind of way.
type WayKind string

// Kinds of ways into an account.
const (
	ByPasskey  WayKind = "passkey"
	ByApp      WayKind = "totp"     // an app that shows codes (RFC 6238)
	ByKey      WayKind = "webauthn" // a security key as second factor
	ByPhone    WayKind = "phone"    // codes by text message
	ByProvider WayKind = "provider" // another provider's sign-in
)

// providers are the names of providers as people know them, where a capital
// letter alone does not make one of the configuration's name.
var providers = map[string]string{"azure": "Microsoft", "github": "GitHub", "gitlab": "GitLab",
	"linkedin_oidc": "LinkedIn", "slack_oidc": "Slack"}

// providerName words the name of a provider; one of an organisation's own has none.
func providerName(name, organisation string) string {
	if known := providers[name]; known != "" {
		return known
	} else if name == "" || strings.HasPrefix(name, "sso:") {
		return organisation
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func englishWays(ways []Way) string {
	return inWords(ways, "your organisation", `"%s"`, map[WayKind]string{ByPasskey: "the passkey",
		ByApp: "the authenticator app",
		ByKey: "the security key", ByPhone: "codes by text message", ByProvider: "sign-in with"})
}

func germanWays(ways []Way) string {
	return inWords(ways, "Ihrer Organisation", "„%s“", map[WayKind]string{ByPasskey: "der Passkey",
		ByApp: "die Authenticator-App",
		ByKey: "der Sicherheitsschlüssel", ByPhone: "Codes per SMS", ByProvider: "die Anmeldung mit"})
}

// inWords lists ways: the word of each kind, and the name that its owner gave it.
func inWords(ways []Way, organisation, quoted string, words map[WayKind]string) string {
	list := make([]string, len(ways))
	for i, w := range ways {
		list[i] = words[w.Kind]
		if w.Kind == ByProvider {
			list[i] += " " + providerName(w.Name, organisation)
		} else if w.Name != "" {
			list[i] += " " + fmt.Sprintf(quoted, w.Name)
		}
	}
	return strings.Join(list, ", ")
}
