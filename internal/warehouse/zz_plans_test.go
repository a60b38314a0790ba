package warehouse_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// sent is what the tests of this package send to SQLite.
var sent = dbtest.NewStatements()

func TestMain(m *testing.M) { pgtest.Main(m) }

// readWhole are the reads that are not tied to a record, and are cheap all the same.
var readWhole = []string{
	// A tenant has few sites.
	"SEARCH sites USING INDEX sites_code_key (tenant_id=?)",
	"SEARCH other USING INDEX sites_code_key (tenant_id=?)",
	// Where a tenant has its second site, or only one left, all its zones are looked at.
	"SEARCH zone USING INDEX sqlite_autoindex_zones_1 (tenant_id=?)",
	// These end at the first row.
	"SEARCH i USING COVERING INDEX items_min_remaining_days_idx (tenant_id=? AND min_remaining_days>?)",
	"SEARCH kept EXISTS USING COVERING INDEX stock_levels_owner_id_idx (tenant_id=? AND owner_id>?)",
	// Few have not left yet, and few are planned.
	"SEARCH shipment USING INDEX shipments_status_updated_at_id_idx (tenant_id=? AND status=?)",
	"SEARCH wave USING INDEX waves_status_id_idx (tenant_id=? AND status=?)",
	// These say of what type values are, and read nothing: WHERE 1 = 0.
	"SCAN zones USING COVERING INDEX zones_created_at_id_idx",
	"SCAN items USING COVERING INDEX sqlite_autoindex_items_1",
	// The lots of all tenants are looked at each night.
	"SCAN l USING INDEX sqlite_autoindex_lots_1",
	// A test's own.
	"SCAN zones",
}

// What is asked of some records does not read all of the tenant: it would cost more with each
// order, and where that is done for each row, the square. The name of this file has the test
// run behind the others of the package, whose statements it looks at.
func TestStatementsReadTheirOwnRows(t *testing.T) {
	steps := sent.Explain(t, dbtest.Open(t, dbtest.Options(t, db.SQLite)))
	if len(steps) < 500 {
		t.Errorf("only %d steps: the other tests of the package have to run before", len(steps))
	}

	for _, s := range steps {
		asksForSome := s.IsInner || strings.Contains(s.Statement, "json_each($")
		if (asksForSome || s.IsScan) && s.ReadsWholeTenant() && !slices.Contains(readWhole, s.Text) {
			t.Errorf("%s in\n%s", s.Text, s.Statement)
		}
	}
}
