package functions_test

import (
	"context"
			"fmt"
	"testing"
	"github.com/jackc/pgx/v5"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/store"
)

func TestScaleScratch(t *testing.T) {
	each(t, func(k *kit) {
		for _, n := range []int{2000, 100000} {
			seq := fmt.Sprintf("WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM g WHERE i < %d)", n)
			if n > 2000 {
				seq = fmt.Sprintf("WITH RECURSIVE g(i) AS (SELECT 2001 UNION ALL SELECT i+1 FROM g WHERE i < %d)", n)
			}
			uid := func(p string) string {
				if k.d.Engine() == db.PostgreSQL {
					return "CAST('0190c000-0000-7000-" + p + "-' || lpad(CAST(i AS text), 12, '0') AS uuid)"
				}
				return "'0190c000-0000-7000-" + p + "-' || printf('%012d', i)"
			}
			at := "'2026-02-01T00:00:00.000000Z'"
			ts := func(days string) string {
				if k.d.Engine() == db.PostgreSQL {
					return "(CAST('2026-03-01T00:00:00Z' AS timestamptz) - (i % " + days + ") * interval '1 day')"
				}
				return "strftime('%Y-%m-%dT%H:%M:%S.000000Z', '2026-03-01', '-' || (i % " + days + ") || ' days')"
			}
			exec := func(sql string) {
				if err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
					_, err := tx.Exec(sql, north)
					return err
				}); err != nil {
					t.Fatal(err, sql)
				}
			}
			exec(seq + " INSERT INTO items (tenant_id,id,sku,name,base_uom,barcodes,tracking,has_expiry,unit_cost,capacity_units,reorder_point,storage_class,status,on_hand,available,stock_value,low_stock,created_at,updated_at,version) SELECT $1, " + uid("8000") + ", 'S' || i, 'n', 'EA','[]','none',false,1,1,1,'ambient','active',10000,10000,1,false," + at + "," + at + ",1 FROM g")
			exec(seq + " INSERT INTO zones (tenant_id,id,code,name,kind,x,y,z,max_capacity,pick_sequence,storage_class,mix_policy,hazard_tags,status,load_units,created_at,updated_at,version) SELECT $1, " + uid("8001") + ", 'Z' || i, 'n', 'bin',1,1,1,1,1,'ambient','any','[]','active',1," + at + "," + at + ",1 FROM g WHERE i % 20 = 0")
			exec(seq + " INSERT INTO shipments (tenant_id,id,shipment_no,direction,status,order_ids,sscc,packages,completed_at,created_at,updated_at,version) SELECT $1, " + uid("8002") + ", 'S' || i, 'inbound', CASE WHEN i % 3 = 0 THEN 'in_transit' WHEN i % 3 = 1 THEN 'planned' ELSE 'received' END, '[]','[]','[]', CASE WHEN i % 3 = 2 THEN " + ts("365") + " END," + at + "," + at + ",1 FROM g")
			exec(seq + " INSERT INTO incidents (tenant_id,id,incident_no,kind,severity,status,title,occurred_at,reported_at,anonymous,entities,category_tags,attachments,root_causes,created_at,updated_at,version) SELECT $1, " + uid("8003") + ", 'I' || i, CASE WHEN i % 2 = 0 THEN 'hazard' ELSE 'injury' END, 'low', 'reported', 't', " + ts("365") + "," + ts("365") + ", false,'[]','[]','[]','[]'," + at + "," + at + ",1 FROM g")
			exec(seq + " INSERT INTO stock_movements (tenant_id,id,occurred_at,type,item_id,from_zone_id,from_status,to_status,quantity,created_at,updated_at,version) SELECT $1, " + uid("8004") + ", " + ts("365") + ", 'ship', " + uid("8000") + ", NULL, 'available','available',10000," + at + "," + at + ",1 FROM g")
			exec(seq + " INSERT INTO counters (tenant_id,name,slot,delta) SELECT $1, 'items:active:false', " + uid("8005") + ", 1 FROM g WHERE i % 1000 = 0")
			if k.d.Engine() == db.PostgreSQL {
				k.exec("ANALYZE items"); 
			}
			k.as = manager()
			
			if k.d.Engine() == db.PostgreSQL { c, err := pgx.Connect(context.Background(), dsnOf); if err != nil { t.Fatal(err) }; if _, err := c.Exec(context.Background(), "ANALYZE"); err != nil { t.Fatal(err) }; c.Close(context.Background()) }
			for _, c := range [][2]string{{"get-dashboard-snapshot-v2", ""}, {"get-dashboard-snapshot-v2", "lightweight=true"}, {"get-dashboard-snapshot-v2", "page=5"}, {"safety-kpis", ""}, {"admin-dashboard-summary", ""}} {
				for range 8 { k.bytes(c[0], c[1]) }
				begun := time.Now()
				for range 20 { k.bytes(c[0], c[1]) }
				t.Logf("n=%d %s %s: %v", n, c[0], c[1], time.Since(begun)/20)
			}
		}
		_ = store.Row{}
	})
}

func (k *kit) exec(sql string) {
	_ = k.d.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error { _, err := tx.Exec(sql); return err })
}
