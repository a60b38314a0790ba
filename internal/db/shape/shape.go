// Package shape tells what a schema consists of: tables, columns and unique indexes. A
// migration notes them, so that one that somebody dropped later has a name; the number
// of a schema says nothing of it.
//
// Layer: adapters. Begin at [Engine].
package shape

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrGone says that parts of the schema are gone.
var ErrGone = errors.New("the schema is not as its migrations left it")

// Engine knows how to ask an engine for its schema.
type Engine struct {
	isNoted string   // a row when something is noted
	parts   []string // statements that list the parts, each as one text
}

// SQLite asks an embedded database. The index of a constraint has no name of its own:
// it is told by its number among those of the table.
var SQLite = Engine{`
	SELECT name
	FROM sqlite_master
	WHERE name = 'schema_shape'`, []string{`
	SELECT 'table ' || name
	FROM sqlite_master
	WHERE type = 'table'
		AND name NOT LIKE 'sqlite%'`, `
	SELECT 'column ' || part.name || '.' || held.name
	FROM sqlite_master AS part
	JOIN pragma_table_info(part.name) AS held
	WHERE part.type = 'table'
		AND part.name NOT LIKE 'sqlite%'`, `
	SELECT 'unique index ' || held.name || ' of ' || part.name
	FROM sqlite_master AS part
	JOIN pragma_index_list(part.name) AS held
	WHERE part.type = 'table'
		AND part.name NOT LIKE 'sqlite%'
		AND held."unique" = 1`,
}}

// PostgreSQL asks a database of PostgreSQL. An index that was not built to its end keeps
// nothing unique.
var PostgreSQL = Engine{`
	SELECT relname::text
	FROM pg_class
	WHERE oid = to_regclass('schema_shape')`, []string{`
	SELECT 'table ' || part.relname
	FROM pg_class AS part
	JOIN pg_namespace AS place ON place.oid = part.relnamespace
	WHERE place.nspname = 'public'
		AND part.relkind IN ('r', 'p')
		AND NOT part.relispartition`, `
	SELECT 'column ' || part.relname || '.' || held.attname
	FROM pg_class AS part
	JOIN pg_namespace AS place ON place.oid = part.relnamespace
	JOIN pg_attribute AS held ON held.attrelid = part.oid AND held.attnum > 0 AND NOT held.attisdropped
	WHERE place.nspname = 'public'
		AND part.relkind IN ('r', 'p')
		AND NOT part.relispartition`, `
	SELECT 'unique index ' || held.relname || ' of ' || part.relname
	FROM pg_index AS made
	JOIN pg_class AS held ON held.oid = made.indexrelid
	JOIN pg_class AS part ON part.oid = made.indrelid
	JOIN pg_namespace AS place ON place.oid = part.relnamespace
	WHERE place.nspname = 'public'
		AND made.indisunique
		AND made.indisvalid
		AND NOT part.relispartition`,
}}

// Statements about what is noted. Of noteSQL $1 is the digest, which is compared first
// since the parts are long, and $2 the parts.
const (
	tableSQL = `
	CREATE TABLE IF NOT EXISTS schema_shape (
		single bigint PRIMARY KEY,
		digest text NOT NULL,
		parts text NOT NULL
	)`
	digestSQL = "SELECT digest FROM schema_shape"
	partsSQL  = "SELECT parts FROM schema_shape"
	noteSQL   = `
	INSERT INTO schema_shape (single, digest, parts)
	VALUES (1, $1, $2)
	ON CONFLICT (single) DO UPDATE
	SET digest = excluded.digest,
		parts = excluded.parts`
)

// A Query calls a function with the first column of each row of a statement.
type Query func(sql string, each func(text string)) error

func (q Query) readText(sql string) (last string, err error) {
	err = q(sql, func(text string) { last = text })
	return last, err
}

func (e Engine) listParts(query Query) (parts []string, err error) {
	for _, sql := range e.parts {
		if err := query(sql, func(text string) { parts = append(parts, text) }); err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
	}
	slices.Sort(parts)
	return parts, nil
}

func digestOf(parts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:])
}

// Others are parts that no migration made: what was in the database before it became
// Holdfast's, and what its administrators added.
type Others map[string]bool

// ListOthers lists, before a migration, the parts that none before it made. Where nothing
// is noted yet, those are all that the SQL of the earlier migrations does not name.
func (e Engine) ListOthers(query Query, earlier string) (Others, error) {
	noted, err := e.readNoted(query)
	if err != nil {
		return nil, err
	}
	isOurs := func(part string) bool { return slices.Contains(noted, part) }
	if noted == nil {
		isOurs = newNames(earlier).isPartNamed
	}
	parts, err := e.listParts(query)
	if err != nil {
		return nil, err
	}
	others := Others{}
	for _, part := range parts {
		if !isOurs(part) {
			others[part] = true
		}
	}
	return others, nil
}

// readNoted returns the parts that are noted; nil when nothing is.
func (e Engine) readNoted(query Query) ([]string, error) {
	if isNoted, err := query.readText(e.isNoted); err != nil || isNoted == "" {
		return nil, err
	}
	noted, err := query.readText(partsSQL)
	if err != nil || noted == "" {
		return nil, err
	}
	return strings.Split(noted, "\n"), nil
}

// NoteShape notes the parts of a schema as a migration left it, but for those of others:
// they may take theirs away.
func (e Engine) NoteShape(query Query, run func(sql string, args ...any) error, others Others) error {
	if err := run(tableSQL); err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	parts, err := e.listParts(query)
	if err != nil {
		return err
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return others[part] })
	if err := run(noteSQL, digestOf(parts), strings.Join(parts, "\n")); err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	return nil
}

// FindGone names the parts that were noted and are gone; none when nothing was noted.
// What somebody added is none of its business. It looks twice before it names any:
// another node may have migrated between what it read first and last.
func (e Engine) FindGone(query Query) (gone []string, err error) {
	if isNoted, err := query.readText(e.isNoted); err != nil || isNoted == "" {
		return nil, err
	}
	for range 2 {
		if gone, err = e.compareNoted(query); err != nil || len(gone) == 0 {
			return nil, err
		}
	}
	return gone, nil
}

func (e Engine) compareNoted(query Query) (gone []string, err error) {
	digest, err := query.readText(digestSQL)
	if err != nil || digest == "" {
		return nil, err
	}
	parts, err := e.listParts(query)
	if err != nil || digestOf(parts) == digest {
		return nil, err // nobody added anything either
	}
	noted, err := query.readText(partsSQL)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, part := range parts {
		there[part] = true
	}
	for _, part := range strings.Split(noted, "\n") {
		if !there[part] && !isOfGoneTable(part, there) {
			gone = append(gone, part)
		}
	}
	return gone, nil
}

// isOfGoneTable reports a part whose table is gone, which is named by itself.
func isOfGoneTable(part string, there map[string]bool) bool {
	table := ""
	if column, ok := strings.CutPrefix(part, "column "); ok {
		table, _, _ = strings.Cut(column, ".")
	} else if _, of, ok := strings.Cut(part, " of "); ok {
		table = of
	}
	return table != "" && !there["table "+table]
}

// CheckWhole fails with ErrGone where parts are gone.
func (e Engine) CheckWhole(query Query) error {
	gone, err := e.FindGone(query)
	if err != nil {
		return err
	}
	return ExplainLoss(gone)
}

// mostNamed is how many parts an error names.
const mostNamed = 8

// ExplainLoss is the error that parts are gone; nil when none is.
func ExplainLoss(gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	named := strings.Join(gone[:min(len(gone), mostNamed)], ", ")
	if more := len(gone) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	are, them := "is", "it"
	if len(gone) > 1 {
		are, them = "are", "them"
	}
	return fmt.Errorf("%w: %s %s gone; put %s back, or restore the last backup", ErrGone, named, are, them)
}
