package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports"
	"holdfast/internal/store"
)

// FileName is the file that Upload leaves for visitors.
const FileName = "supplier_prices.csv"

// Upload puts a supplier's price list with three wrong rows where the first
// tenant's administrator has had it checked: what is wrong can be looked at, put
// right and applied. It is done once.
func Upload(ctx context.Context, st *store.Store, im *imports.Importer) error {
	by := actor.Actor{UserID: userID(2), TenantID: North, Role: actor.Admin}
	var b strings.Builder
	done := false
	err := st.DB().Read(ctx, db.Scope{Tenant: North}, func(tx *db.Tx) error {
		b.Reset()
		b.WriteString("Article;Designation;Cost\n")
		tx.Queue("SELECT 1 FROM import_jobs WHERE tenant_id = $1 AND file_name = $2", []any{North, FileName},
			func(*db.Row) error {
				done = true
				return nil
			})
		n := 0
		return tx.Query(`
			SELECT sku, name, unit_cost
			FROM items
			WHERE tenant_id = $1
			ORDER BY sku
			LIMIT 40`, []any{North},
			func(r *db.Row) error {
				sku, cost := r.Text(0), fmt.Sprintf("%.2f", r.Dec(2).Float()*1.03)
				switch n++; n {
				case 7:
					cost = "on request"
				case 19:
					sku = ""
				case 28:
					cost = "-" + cost
				}
				_, err := fmt.Fprintf(&b, "%s;\"%s\";%s\n", sku, strings.ReplaceAll(r.Text(1), `"`, `""`), cost)
				return err
			})
	})
	if err != nil || done {
		return err
	}
	mapping, err := json.Marshal(map[string]string{"sku": "Article", "name": "Designation", "unit_cost": "Cost"})
	if err != nil {
		return err
	}
	job, err := im.Upload(ctx, by, imports.Request{Target: "items", Mapping: mapping}, FileName,
		strings.NewReader(b.String()))
	if err == nil {
		_, err = im.Process(ctx, by, job.ID)
	}
	if err != nil {
		return fmt.Errorf("demo: %s: %w", FileName, err)
	}
	return nil
}
