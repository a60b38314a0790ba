package db

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/localtime"
)

// The dialect: every place where the two engines need different text.

// ForUpdate locks the rows a SELECT returns until the transaction ends. SQLite has one writer,
// so nothing needs locking there. On PostgreSQL the lock leaves room for the key-share locks that
// foreign keys take: with a full FOR UPDATE two inserts that point to one row deadlock.
func (d *DB) ForUpdate() string {
	if d.kind == PostgreSQL {
		return " FOR NO KEY UPDATE"
	}
	return ""
}

// SkipLocked locks the rows a SELECT returns and passes over locked ones.
func (d *DB) SkipLocked() string {
	if d.kind == PostgreSQL {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// InText is a condition: col is one of the strings in the JSON array text
// bound to parameter n. One text for any number of values, so that prepared
// statements are found again.
func (d *DB) InText(col string, n int) string {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("%s IN (SELECT value FROM json_array_elements_text(CAST($%d AS json)))", col, n)
	}
	return fmt.Sprintf("%s IN (SELECT value FROM json_each($%d))", col, n)
}

// InKey is InText for a text, or an expression, that an index begins with behind
// the tenant: it is looked up in order, without a join. Without such an index it
// compares every row with every string.
func (d *DB) InKey(col string, n int) string {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("%s = ANY(ARRAY(SELECT value FROM json_array_elements_text(CAST($%d AS json))))", col, n)
	}
	return d.InText(col, n)
}

// Probed is what a statement reads from, and one of its conditions, for the rows of
// a table whose text column is one of the strings in the JSON array bound to
// parameter n. An index has to begin with the tenant, which is $1, and the column:
// each string is looked up by itself, whatever the planner knows of the table. A plan
// that PostgreSQL made while the table was empty reads all of the tenant's rows and
// compares each with every string.
func (d *DB) Probed(table, col string, n int) (from, where string) {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("json_array_elements_text(CAST($%d AS json)) probed(value) CROSS JOIN LATERAL "+
				"(SELECT * FROM %s WHERE tenant_id = $1 AND %s = probed.value OFFSET 0) %[2]s", n, table, col), col +
				" = probed.value"
	}
	return table, d.InText(col, n)
}

// InUUID is InText for a uuid column; the comparison can use its index.
func (d *DB) InUUID(col string, n int) string {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("%s = ANY(ARRAY(SELECT CAST(value AS uuid) FROM json_array_elements_text(CAST($%d AS json))))",
			col, n)
	}
	return fmt.Sprintf("%s IN (SELECT value FROM json_each($%d))", col, n)
}

// UUID reads an id out of a text expression.
func (d *DB) UUID(expr string) string {
	if d.kind == PostgreSQL {
		return "CAST(" + expr + " AS uuid)"
	}
	return expr
}

// InInt is InText for a bigint column and a JSON array of integers.
func (d *DB) InInt(col string, n int) string {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("%s = ANY(ARRAY(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST($%d AS json))))",
			col, n)
	}
	return fmt.Sprintf("%s IN (SELECT value FROM json_each($%d))", col, n)
}

// InTime is InText for a timestamptz column.
func (d *DB) InTime(col string, n int) string {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("%s = ANY(ARRAY(SELECT CAST(value AS timestamptz) FROM json_array_elements_text(CAST($%d AS json))))", col, n)
	}
	return fmt.Sprintf("%s IN (SELECT value FROM json_each($%d))", col, n)
}

// Elements is a FROM item: the elements of a text expression that holds a JSON
// array of strings, as alias.value.
func (d *DB) Elements(expr, alias string) string {
	if d.kind == PostgreSQL {
		return fmt.Sprintf("json_array_elements_text(CAST(%s AS json)) %s(value)", expr, alias)
	}
	return fmt.Sprintf("json_each(%s) %s", expr, alias)
}

// MatchRegex is a condition: col matches the regular expression in parameter
// n. The caller has checked the expression with RE2 syntax.
func (d *DB) MatchRegex(col string, n int, ignoreCase bool) string {
	switch {
	case d.kind == PostgreSQL && ignoreCase:
		return fmt.Sprintf("%s ~* $%d", col, n)
	case d.kind == PostgreSQL:
		return fmt.Sprintf("%s ~ $%d", col, n)
	case ignoreCase:
		return fmt.Sprintf("%s REGEXP ('(?i)' || $%d)", col, n)
	}
	return fmt.Sprintf("%s REGEXP $%d", col, n)
}

// Day is the UTC calendar day of a timestamptz expression, as YYYY-MM-DD.
func (d *DB) Day(expr string) string {
	if d.kind == PostgreSQL {
		return "to_char(" + expr + " AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
	}
	return "substr(" + expr + ", 1, 10)"
}

// LocalDay is the calendar day that a place shows at a timestamptz expression, as
// YYYY-MM-DD, by the place's offsets from UTC.
func (d *DB) LocalDay(expr string, offsets []localtime.Offset) string {
	if len(offsets) == 1 {
		return d.shiftedDay(expr, offsets[0].Ahead)
	}
	var text strings.Builder
	text.WriteString("CASE")
	for _, offset := range offsets {
		day := d.shiftedDay(expr, offset.Ahead)
		if offset.Until.IsZero() {
			text.WriteString(" ELSE " + day)
			continue
		}
		text.WriteString(" WHEN " + expr + " < " + d.momentLiteral(offset.Until) + " THEN " + day)
	}
	return text.String() + " END"
}

// shiftedDay is the UTC day of an expression that is set forward. SQLite rounds fractions of
// a second, which would carry the last of a day into the next: they are cut off before.
func (d *DB) shiftedDay(expr string, ahead time.Duration) string {
	seconds := int64(ahead / time.Second)
	switch {
	case seconds == 0:
		return d.Day(expr)
	case d.kind == PostgreSQL:
		return d.Day(fmt.Sprintf("(%s + INTERVAL '%d seconds')", expr, seconds))
	default:
		return fmt.Sprintf("date(substr(%s, 1, 19), '%+d seconds')", expr, seconds)
	}
}

func (d *DB) momentLiteral(at time.Time) string {
	text := "'" + at.UTC().Format(TimeLayout) + "'"
	if d.kind == PostgreSQL {
		return "CAST(" + text + " AS timestamptz)"
	}
	return text
}

// Hour is the UTC hour of a timestamptz expression, as YYYY-MM-DDTHH.
func (d *DB) Hour(expr string) string {
	if d.kind == PostgreSQL {
		return "to_char(" + expr + " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24')"
	}
	return "substr(" + expr + ", 1, 13)"
}

// JSONPath reads path out of a text column that holds JSON; asText unquotes
// strings. An index reads an array alone and a key an object alone. What is an
// object or an array comes as it stands there: jsonb would sort its members and
// put blanks between them.
func (d *DB) JSONPath(col string, path []Arrow, asText bool) string {
	e := d.legibleJSON(col)
	if d.kind == PostgreSQL {
		e = "CAST(" + e + " AS json)"
	}
	for i, s := range path {
		op := "->"
		if asText && i == len(path)-1 {
			op = "->>"
		}
		e = "(" + e + " " + op + " " + d.arrowStep(s) + ")"
	}
	return e
}

// JSONNumber is what a JSON value is worth that is a number, else null.
func (d *DB) JSONNumber(json string) string {
	if d.kind == PostgreSQL {
		return "CASE WHEN json_typeof(" + json + ") = 'number' THEN CAST(CAST(" + json + " AS text) AS double precision) END"
	}
	return "CASE WHEN json_type(" + json + ") IN ('integer', 'real') THEN CAST(" + json + " AS REAL) END"
}

// JSONContains is a condition: the JSON text left holds right, as jsonb's @>
// has it.
func (d *DB) JSONContains(left, right string) string {
	if d.kind == PostgreSQL {
		return "CAST(" + d.legibleJSON(left) + " AS jsonb) @> CAST(" + d.legibleJSON(right) + " AS jsonb)"
	}
	return "json_contains(" + left + ", " + right + ")"
}

// noCharacter finds an escape that stands for no character, behind an even run
// of backslashes: half of a surrogate pair without the other, and NUL.
const noCharacter = `((?<!\\)(?:\\\\)*)\\u(?:0000|[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|` +
	`[dD][c-fC-F][0-9a-fA-F]{2}(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))`

// legibleJSON is a JSON text whose escapes both engines can read as characters. No
// write brings others; where a row has them all the same (put there by other
// means), they read as U+FFFD, and PostgreSQL refuses no statement over the
// column. Texts without escapes by number, nearly all, are not looked through.
func (d *DB) legibleJSON(json string) string {
	if d.kind == PostgreSQL {
		return `CASE WHEN strpos(` + json + `, '\u') = 0 THEN ` + json + ` ELSE regexp_replace(` + json + `, '` +
			noCharacter + `', '\1\\ufffd', 'g') END`
	}
	return `CASE WHEN instr(` + json + `, '\u') = 0 THEN ` + json + ` ELSE json_legible(` + json + `) END`
}

// CounterSlot is the slot a counter delta is written to. On SQLite deltas add
// up in one row; on PostgreSQL each is a row of its own, so that writers of
// one tenant do not queue on a row lock (Fold adds them up later).
func (d *DB) CounterSlot() string {
	if d.kind == PostgreSQL {
		return uuid.NewString()
	}
	return NoTenant
}

// LockNames has other transactions that lock one of the names, of the same kind, wait until this
// one ends: for what has no row of its own. Names are locked in the order given, which has to be
// the same everywhere. SQLite has one writer, so nothing needs locking there.
func (t *Tx) LockNames(kind string, names []string) error {
	if t.db.kind != PostgreSQL {
		return nil
	}
	for _, name := range names {
		_, err := t.Exec("SELECT pg_advisory_xact_lock(hashtext(CAST($1 AS text)), hashtext(CAST($2 AS text)))",
			kind, name)
		if err != nil {
			return err
		}
	}
	return nil
}
