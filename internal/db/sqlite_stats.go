package db

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What the planner of SQLite is told of indexes (sqlite.org/fileformat2.html#stat1tab). Told
// nothing, it takes a tenant to have ten rows and a status to be as rare as the id of another
// record: it then reads all rows of a tenant where an index names the ten that are asked for.
// Real counts would change plans from day to day, so each index says once what kind of columns
// it has.
const (
	tableRows  = 1_000_000 // of a table
	tenantRows = 100_000   // of a tenant in it
	fineRows   = 10        // of a tenant with the same reference, name or day
	coarseness = 5         // values that a coarse column has
	fineness   = 3         // values that another has among rows with the same reference
)

// coarseColumns have a handful of values, each in many rows of a tenant. TestCoarseColumns
// compares them with the catalog.
var coarseColumns = strings.Fields("direction entity_type exact kind locale on_time recordable severity stage state " +
	"status type")

// IsCoarse reports a column that has a handful of values, each in many rows of a tenant.
func IsCoarse(column string) bool { return slices.Contains(coarseColumns, column) }

// unplannedTables keep the plans that the engine makes without statistics: what is read of them
// is a span of time in an index that holds all that is asked for, and with these statistics the
// engine would rather read the whole tenant in the order of its groups.
var unplannedTables = strings.Fields("shifts stock_movements")

// indexPart is a column of an index.
type indexPart struct {
	table, index, column string
	isUnique             bool
}

// indexPartsSQL selects the columns of the indexes of tables that hold tenants' rows.
const indexPartsSQL = `
	SELECT tables.name, list.name, list."unique", COALESCE(part.name, '')
	FROM sqlite_master AS tables
	JOIN pragma_index_list(tables.name) AS list
	JOIN pragma_index_info(list.name) AS part
	WHERE tables.type = 'table'
		AND tables.name NOT LIKE 'sqlite%'
	ORDER BY tables.name, list.name, part.seqno`

// describeIndexes writes what the planner is told of indexes that begin with the tenant, where
// that is not what stands there: after a migration, and after an ANALYZE by somebody else. The
// connections that are opened behind it plan by that.
func (l *lite) describeIndexes() error {
	wanted, err := l.listStatistics()
	if err != nil {
		return err
	}
	isThere := false
	err = l.writer.queryRows("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'", nil, func(*Row) error {
		isThere = true
		return nil
	})
	if err != nil {
		return err
	}
	if isThere {
		written := map[string]statistic{}
		err := l.writer.queryRows("SELECT tbl, idx, stat FROM sqlite_stat1", nil, func(r *Row) error {
			written[r.Text(1)] = statistic{r.Text(0), r.Text(2)}
			return nil
		})
		if err != nil || maps.Equal(wanted, written) {
			return err
		}
	}

	// The table of statistics is made by ANALYZE alone; the smallest table is soon read.
	for _, text := range []string{"ANALYZE schema_migrations", "DELETE FROM sqlite_stat1"} {
		if err := l.writer.execText(text); err != nil {
			return err
		}
	}
	for index, s := range wanted {
		err := l.writer.runOne(stmt{
			sql:  "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ($1, $2, $3)",
			args: []any{s.table, index, s.text},
		})
		if err != nil {
			return fmt.Errorf("db: statistics of %s: %w", index, err)
		}
	}
	return l.writer.execText("ANALYZE sqlite_schema")
}

// statistic is what the planner is told of an index.
type statistic struct{ table, text string }

// listStatistics lists what the planner is to be told, by index.
func (l *lite) listStatistics() (map[string]statistic, error) {
	indexes := map[string][]indexPart{}
	err := l.writer.queryRows(indexPartsSQL, nil, func(r *Row) error {
		p := indexPart{table: r.Text(0), index: r.Text(1), isUnique: r.Int(2) == 1, column: r.Text(3)}
		indexes[p.index] = append(indexes[p.index], p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	wanted := map[string]statistic{}
	for index, parts := range indexes {
		if parts[0].column == "tenant_id" && !slices.Contains(unplannedTables, parts[0].table) {
			wanted[index] = statistic{parts[0].table, describeIndex(parts)}
		}
	}
	return wanted, nil
}

// describeIndex is the text of an index's statistics: how many rows the table has, and how many
// have the same first column, the same first two, and so on. No plan skips the tenant.
func describeIndex(parts []indexPart) string {
	left := tenantRows
	numbers := []string{strconv.Itoa(tableRows), strconv.Itoa(left)}
	for i, p := range parts[1:] {
		switch {
		case p.column == "id" || p.isUnique && i == len(parts)-2:
			left = 1
		case IsCoarse(p.column):
			left = max(left/coarseness, 1)
		default:
			left = max(min(left/fineness, fineRows), 1)
		}
		numbers = append(numbers, strconv.Itoa(left))
	}
	return strings.Join(numbers, " ") + " noskipscan"
}
