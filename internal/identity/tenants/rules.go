package tenants

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/store"
)

// settingHelp says what a security setting may be.
var settingHelp = map[string]string{
	accounts.SettingMFA:      `"none", "administrators" or "everyone"`,
	accounts.SettingSelf:     `"require" or "ignore"`,
	accounts.SettingIdle:     "a whole number of minutes from 5 to 43200",
	accounts.SettingAbsolute: "a whole number of hours from 1 to 8760",
	accounts.SettingSingle:   "true or false",
	accounts.SettingLocale:   `"en" or "de"`,
}

// CheckSettings refuses a security setting that could not be obeyed, and makes
// a changed one hold at once. It runs before settings are stored; keys it does
// not know are none of its business.
func (s *Store) CheckSettings(tx *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if accounts.ChangedText(c, "section") == "security" || c.Before.Text("section") == "security" {
			if err := s.Proofs.Admit(tx.Actor); err != nil {
				return err
			}
		}
		key := strings.ToLower(accounts.ChangedText(c, "key"))
		help, known := settingHelp[key]
		if !known {
			continue
		}
		tenant := accounts.ChangedText(c, "tenant_id")
		tx.After(func() { s.ForgetTenant(tenant) })
		if c.Op == store.Delete {
			continue
		}
		if key == accounts.SettingLocale {
			if err := checkLocale(c); err != nil {
				return err
			}
			continue
		}
		var ru accounts.Rules
		if accounts.ChangedText(c, "section") != "security" {
			return fault.New(fault.Unprocessable, "22023", "setting %s belongs into section security", key)
		}
		if !ru.Set(key, jsonText(c.After["value"])) {
			return fault.New(fault.Unprocessable, "22023", "setting %s must be %s", key, help)
		}
	}
	return nil
}

func checkLocale(c store.Change) error {
	var v string
	if accounts.ChangedText(c, "section") == "general" &&
		json.Unmarshal([]byte(jsonText(c.After["value"])), &v) == nil && slices.Contains(mailtemplate.Locales(), v) {
		return nil
	}
	return fault.New(fault.Unprocessable, "22023", "setting locale must be %s, in section general",
		settingHelp[accounts.SettingLocale])
}

// jsonText is a JSON field of a row as text without blanks.
func jsonText(v any) string {
	raw, _ := v.(json.RawMessage)
	if text, ok := v.(string); ok {
		raw = json.RawMessage(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}
