package config

import (
	"fmt"
	"os"
	"strings"
)

// Provider is one OAuth or OpenID Connect provider.
type Provider struct {
	Name, ClientID, Secret string
	Issuer                 string // may be empty for those whose name says it
	Domains                string // e-mail domains it is trusted for, comma separated; empty = all
	TeamID, KeyID          string // Apple's
	PrivateKeyFile         string // PEM; Apple's client secrets are signed with it
}

// providerParts are the settings of a provider, as their names end. A name
// that ends another stands before it.
var providerParts = []struct {
	name   string
	secret bool
	of     func(*Provider) *string
}{
	{"client_id", false, func(p *Provider) *string { return &p.ClientID }},
	{"secret", true, func(p *Provider) *string { return &p.Secret }},
	{"issuer", false, func(p *Provider) *string { return &p.Issuer }},
	{"domains", false, func(p *Provider) *string { return &p.Domains }},
	{"team_id", false, func(p *Provider) *string { return &p.TeamID }},
	{"key_id", false, func(p *Provider) *string { return &p.KeyID }},
	{"private_key_file", false, func(p *Provider) *string { return &p.PrivateKeyFile }},
}

// providerSetting takes a name such as oauth_apple_team_id apart.
func providerSetting(name string) (provider, part string, ok bool) {
	rest, ok := strings.CutPrefix(name, "oauth_")
	if !ok {
		return "", "", false
	}
	if p, found := strings.CutSuffix(rest, "_client_secret"); found && p != "" {
		return p, "secret", true // as its fellow, _client_id, makes one write it
	}
	for _, part := range providerParts {
		if p, found := strings.CutSuffix(rest, "_"+part.name); found && p != "" {
			return p, part.name, true
		}
	}
	return "", "", false
}

func (p *Provider) partByName(name string) *string {
	for _, part := range providerParts {
		if part.name == name {
			return part.of(p)
		}
	}
	return new(string)
}

// checkProvider completes a provider: a key in a file becomes its secret.
func (p *Provider) checkProvider() error {
	upper := strings.ToUpper(p.Name)
	if p.ClientID == "" {
		return fmt.Errorf("config: provider %s needs HOLDFAST_OAUTH_%s_CLIENT_ID", p.Name, upper)
	}
	if p.PrivateKeyFile == "" {
		if p.TeamID != "" || p.KeyID != "" {
			return fmt.Errorf("config: provider %s: HOLDFAST_OAUTH_%s_TEAM_ID, _KEY_ID and _PRIVATE_KEY_FILE go together",
				p.Name, upper)
		}
		return nil
	}
	if p.TeamID == "" || p.KeyID == "" || p.Secret != "" {
		return fmt.Errorf("config: provider %s: HOLDFAST_OAUTH_%s_PRIVATE_KEY_FILE goes with _TEAM_ID and _KEY_ID, and in place of _SECRET", p.Name, upper)
	}
	b, err := os.ReadFile(p.PrivateKeyFile)
	if err != nil {
		return fmt.Errorf("config: HOLDFAST_OAUTH_%s_PRIVATE_KEY_FILE: %w", upper, err)
	}
	p.Secret = string(b)
	return nil
}

// dumpTo lists a provider's settings that are set.
func (p Provider) dumpTo(b *strings.Builder) {
	for _, part := range providerParts {
		v := *part.of(&p)
		if v == "" || part.secret && p.PrivateKeyFile != "" {
			continue
		}
		if part.secret {
			v = "(set)"
		}
		fmt.Fprintf(b, "oauth_%s_%s = %s\n", p.Name, part.name, v)
	}
}
