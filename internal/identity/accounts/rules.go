package accounts

import (
	"encoding/json"
	"strconv"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// Keys of a tenant's settings in section "security" that this package obeys.
const (
	SettingMFA      = "mfa_required"         // none, administrators, everyone; absent: administrators, after mfaGrace
	SettingSelf     = "mfa_self"             // require (absent), ignore: a factor that a member enrolled himself
	SettingIdle     = "session_idle_minutes" // 5 ... 43200: without a refresh
	SettingAbsolute = "session_max_hours"    // 1 ... 8760: since the sign-in
	SettingSingle   = "single_session"       // true: a new sign-in ends the others

	SettingLocale = "locale" // section "general": language of mails, see package letter
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

// Rules are what a tenant asks of its members' sessions.
type Rules struct {
	mfa            string // "" = the tenant does not say
	selfIgnored    bool
	idle, absolute time.Duration
	Single         bool
}

// RulesQuery reads the security settings of tenant $1, for Rules.Add.
const RulesQuery = `
	SELECT lower(key), value
	FROM settings
	WHERE tenant_id = $1
		AND section = 'security'`

// Add reads one setting. CheckSettings refused what cannot be obeyed before it
// was stored; should there be such a demand all the same, it is made of
// everyone.
func (ru *Rules) Add(r *db.Row) error {
	if !ru.Set(r.Text(0), r.Text(1)) && r.Text(0) == SettingMFA {
		ru.mfa = mfaEveryone
	}
	return nil
}

// Set takes a setting over; false = it does not say what may be said.
func (ru *Rules) Set(key, value string) bool {
	switch key {
	case SettingMFA:
		var v string
		if json.Unmarshal([]byte(value), &v) != nil || v != mfaNone && v != mfaAdministrators && v != mfaEveryone {
			return false
		}
		ru.mfa = v
	case SettingSelf:
		var v string
		if json.Unmarshal([]byte(value), &v) != nil || v != selfRequire && v != selfIgnore {
			return false
		}
		ru.selfIgnored = v == selfIgnore
	case SettingIdle:
		n, ok := whole(value, 5, 43200)
		ru.idle = time.Duration(n) * time.Minute
		return ok
	case SettingAbsolute:
		n, ok := whole(value, 1, 8760)
		ru.absolute = time.Duration(n) * time.Hour
		return ok
	case SettingSingle:
		return json.Unmarshal([]byte(value), &ru.Single) == nil && (value == "true" || value == "false")
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

// RulesOf reads a tenant's rules; no tenant has none.
func RulesOf(tx *db.Tx, tenantID string) (Rules, error) {
	var ru Rules
	if tenantID == "" {
		return ru, nil
	}
	return ru, tx.Query(RulesQuery, []any{tenantID}, ru.Add)
}

// Demands reports whether a role needs a second factor by what the tenant says.
func (ru Rules) Demands(role actor.Role) bool {
	return ru.mfa == mfaEveryone || ru.mfa == mfaAdministrators && Administrates(role)
}

// Grace is when a member needs a second factor because the tenant does not say
// that he does not: zero for who never does.
func (ru Rules) Grace(m Member) time.Time {
	if ru.mfa != "" || !Administrates(m.Role) || m.Since.IsZero() {
		return time.Time{}
	}
	return m.Since.Add(mfaGrace)
}

// Administrates reports a role that administers its tenant.
func Administrates(role actor.Role) bool { return role == actor.Owner || role == actor.Admin }

// Over reports a session that the rules have ended: too old, or too long
// without a refresh.
func (ru Rules) Over(created, refreshed, now time.Time) bool {
	last := created
	if refreshed.After(last) {
		last = refreshed
	}
	return ru.absolute > 0 && now.Sub(created) >= ru.absolute || ru.idle > 0 && now.Sub(last) > ru.idle
}

// TokenLife shortens an access token so that it does not outlive an idle
// session.
func (ru Rules) TokenLife(ttl time.Duration) time.Duration {
	if ru.idle > 0 && ru.idle < ttl {
		return ru.idle
	}
	return ttl
}
