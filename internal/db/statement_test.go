package db_test

import (
	"context"
	"strings"
	"testing"

	"holdfast/internal/db"
)

// A statement of several lines with words in braces reads on both engines what
// the same statement with the engine's own text reads.
func TestStatementWords(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ids := `["0190b000-0000-7000-8000-000000000001","0190b000-0000-7000-8000-000000000002"]`
		tenant := db.Scope{All: true}
		for sql, args := range map[string][]any{
			"\n\tSELECT id\n\tFROM zones\n\tWHERE tenant_id IN {ids $1}\n\tORDER BY id\n\t{for update}": {ids},
			"SELECT id FROM zones WHERE code IN {texts $1} {skip locked}":                               {`["A"]`},
			"SELECT id FROM zones WHERE lower(code) IN {keys $1}":                                       {`["a"]`},
			"SELECT id FROM zones WHERE version IN {ints $1}":                                           {`[1, 2]`},
			"SELECT id FROM zones WHERE created_at IN {times $1}":                                       {`["2026-01-01T00:00:00.000000Z"]`},
			"SELECT {day created_at}, {hour created_at} FROM zones":                                     nil,
			"SELECT e.value FROM {elements $1 AS e} WHERE e.value = 'A'":                                {`["A"]`},
			"SELECT id FROM zones WHERE id = {uuid $1}":                                                 {"0190b000-0000-7000-8000-000000000001"},
		} {
			if err := d.Write(context.Background(), tenant,
				func(tx *db.Tx) error { return tx.Query(sql, args, nothing) }); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
}

// Braces, blanks and words in quotes are text.
func TestStatementWords_inQuotes(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		const want = "{for update}  \n {ids $1} it''s"
		err := d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("\n\tSELECT '"+want+"'", nil, func(r *db.Row) error {
				if got := r.Text(0); got != strings.ReplaceAll(want, "''", "'") {
					t.Errorf("%q", got)
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func nothing(*db.Row) error { return nil }
