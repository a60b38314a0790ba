package store

import (
	"encoding/json"
	"strings"

	"holdfast/internal/db"
)

// localeSQL selects a tenant's language. $1 tenant.
const localeSQL = `
	SELECT value
	FROM settings
	WHERE tenant_id = $1
		AND section = 'general'
		AND lower(key) = 'locale'`

// QueueLocale asks for the language of a tenant, a tag such as de-AT (RFC 5646). each
// hears of it at the next flush, and of nothing where it is not said or no text.
func QueueLocale(tx *db.Tx, tenant string, each func(tag string)) {
	tx.Queue(localeSQL, []any{tenant}, func(r *db.Row) error {
		var tag string
		if json.Unmarshal([]byte(r.Text(0)), &tag) == nil {
			each(tag)
		}
		return nil
	})
}

// LanguageOf is the language of a tag, by its code of ISO 639-1: de of de-AT.
func LanguageOf(tag string) string {
	lang, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-"), "-")
	return lang
}
