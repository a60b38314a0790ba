package identity

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
	"holdfast/internal/store"
)

// Keys of a tenant's settings in section "security" that this package obeys.
const (
	settingMFA      = "mfa_required"         // none, administrators, everyone; absent: administrators, after mfaGrace
	settingSelf     = "mfa_self"             // require (absent), ignore: a factor that a member enrolled himself
	settingIdle     = "session_idle_minutes" // 5 ... 43200: without a refresh
	settingAbsolute = "session_max_hours"    // 1 ... 8760: since the sign-in
	settingSingle   = "single_session"       // true: a new sign-in ends the others

	settingLocale = "locale" // section "general": language of mails, see package letter
)

// Values of mfa_required.
const (
	mfaNone           = "none"
	mfaAdministrators = "administrators"
	mfaEveryone       = "everyone"
)

// Values of mfa_self.
const (
	selfRequire = "require"
	selfIgnore  = "ignore"
)

// mfaGrace is how long an administrator of a tenant that does not say
// mfa_required works without a second factor: from the beginning of the tenant,
// or of the membership where that is later.
const mfaGrace = 7 * 24 * time.Hour

// rules are what a tenant asks of its members' sessions.
type rules struct {
	mfa            string // "" = the tenant does not say
	selfIgnored    bool
	idle, absolute time.Duration
	single         bool
}

const rulesQuery = "SELECT lower(key), value FROM settings WHERE tenant_id = $1 AND section = 'security'"

// add reads one setting. CheckSettings refused what cannot be obeyed before it
// was stored; should there be such a demand all the same, it is made of
// everyone.
func (ru *rules) add(r *db.Row) error {
	if !ru.set(r.Text(0), r.Text(1)) && r.Text(0) == settingMFA {
		ru.mfa = mfaEveryone
	}
	return nil
}

func (ru *rules) set(key, value string) bool {
	switch key {
	case settingMFA:
		var v string
		if json.Unmarshal([]byte(value), &v) != nil || v != mfaNone && v != mfaAdministrators && v != mfaEveryone {
			return false
		}
		ru.mfa = v
	case settingSelf:
		var v string
		if json.Unmarshal([]byte(value), &v) != nil || v != selfRequire && v != selfIgnore {
			return false
		}
		ru.selfIgnored = v == selfIgnore
	case settingIdle:
		n, ok := whole(value, 5, 43200)
		ru.idle = time.Duration(n) * time.Minute
		return ok
	case settingAbsolute:
		n, ok := whole(value, 1, 8760)
		ru.absolute = time.Duration(n) * time.Hour
		return ok
	case settingSingle:
		return json.Unmarshal([]byte(value), &ru.single) == nil && (value == "true" || value == "false")
	}
	return true
}

func whole(value string, low, high int) (int, bool) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, false
	}
	return n, true
}

// rulesOf reads a tenant's rules; no tenant has none.
func rulesOf(tx *db.Tx, tenantID string) (rules, error) {
	var ru rules
	if tenantID == "" {
		return ru, nil
	}
	return ru, tx.Query(rulesQuery, []any{tenantID}, ru.add)
}

// demands reports whether a role needs a second factor by what the tenant says.
func (ru rules) demands(role actor.Role) bool {
	return ru.mfa == mfaEveryone || ru.mfa == mfaAdministrators && administrates(role)
}

// grace is when a member needs a second factor because the tenant does not say
// that he does not: zero for who never does.
func (ru rules) grace(m Member) time.Time {
	if ru.mfa != "" || !administrates(m.Role) || m.Since.IsZero() {
		return time.Time{}
	}
	return m.Since.Add(mfaGrace)
}

func administrates(role actor.Role) bool { return role == actor.Owner || role == actor.Admin }

// over reports a session that the rules have ended: too old, or too long
// without a refresh.
func (ru rules) over(created, refreshed, now time.Time) bool {
	last := created
	if refreshed.After(last) {
		last = refreshed
	}
	return ru.absolute > 0 && now.Sub(created) >= ru.absolute || ru.idle > 0 && now.Sub(last) > ru.idle
}

// tokenLife shortens an access token so that it does not outlive an idle
// session.
func (ru rules) tokenLife(ttl time.Duration) time.Duration {
	if ru.idle > 0 && ru.idle < ttl {
		return ru.idle
	}
	return ttl
}

// settingHelp says what a security setting may be.
var settingHelp = map[string]string{
	settingMFA:      `"none", "administrators" or "everyone"`,
	settingSelf:     `"require" or "ignore"`,
	settingIdle:     "a whole number of minutes from 5 to 43200",
	settingAbsolute: "a whole number of hours from 1 to 8760",
	settingSingle:   "true or false",
	settingLocale:   `"en" or "de"`,
}

// CheckSettings refuses a security setting that could not be obeyed, and makes
// a changed one hold at once. It runs before settings are stored; keys it does
// not know are none of its business.
func (s *Tenants) CheckSettings(tx *db.Tx, a actor.Actor, _ *store.Store, changes []store.Change) error {
	for _, c := range changes {
		if text(c, "section") == "security" || field(c.Before, "section") == "security" {
			if err := s.proofs.Admit(a); err != nil {
				return err
			}
		}
		key := strings.ToLower(text(c, "key"))
		help, known := settingHelp[key]
		if !known {
			continue
		}
		tenant := text(c, "tenant_id")
		tx.After(func() { s.ForgetTenant(tenant) })
		if c.Op == store.Delete {
			continue
		}
		if key == settingLocale {
			if err := checkLocale(c); err != nil {
				return err
			}
			continue
		}
		var ru rules
		if text(c, "section") != "security" {
			return fault.New(fault.Unprocessable, "22023", "setting %s belongs into section security", key)
		}
		if !ru.set(key, jsonText(c.After["value"])) {
			return fault.New(fault.Unprocessable, "22023", "setting %s must be %s", key, help)
		}
	}
	return nil
}

func checkLocale(c store.Change) error {
	var v string
	if text(c, "section") == "general" && json.Unmarshal([]byte(jsonText(c.After["value"])), &v) == nil && slices.Contains(letter.Locales(), v) {
		return nil
	}
	return fault.New(fault.Unprocessable, "22023", "setting locale must be %s, in section general", settingHelp[settingLocale])
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
