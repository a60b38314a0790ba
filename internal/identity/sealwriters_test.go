package identity_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/identity/chain"
)

// otherProcess is another process on the kit's database.
func (k *kit) otherProcess() *db.DB {
	k.Helper()
	d, err := db.Open(k.ctx, k.options)
	k.ok(err)
	k.Cleanup(func() { d.Close() })
	audit.KeepKey(d, k.svc.Admin.Secrets.Log)
	return d
}

func (k *kit) writeBy(d *db.DB, tenant string, rows int) {
	k.Helper()
	k.ok(d.Write(k.ctx, all, func(tx *db.Tx) error {
		for range rows {
			audit.Write(tx, audit.Entry{Tenant: tenant, At: k.now(), Action: "elsewhere"})
		}
		return nil
	}))
}

// silenceNewest has the process that drew the last epoch give no sign of life any more.
func (k *kit) silenceNewest() {
	k.Helper()
	k.exec("UPDATE audit_writers SET looked_at = NULL, seen_at = $1 WHERE epoch = (SELECT MAX(epoch) FROM audit_writers)",
		time.Now().Add(-2*db.DeadAfter))
}

// What a process wrote that died is sealed by another one, not before it gives no sign of life;
// what it still committed afterwards gets a seal of its own, and is no tampering.
func TestAuditChain_deadProcess(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		before := k.verifyLog(tenant)
		d := k.otherProcess()
		k.writeBy(d, tenant, 3)
		k.writeBy(d, "", 1) // of the platform
		k.write(tenant, "here", 2)
		k.sealLog()
		if r := k.verifyLog(tenant); !r.Whole() || r.Rows != before.Rows+2 || r.Waiting != 3 {
			k.Errorf("while it lives: %+v", r)
		}

		k.silenceNewest()
		k.sealLog()
		if r := k.verifyLog(tenant); !r.Whole() || r.Rows != before.Rows+5 || r.Waiting != 0 {
			k.Errorf("after its death: %+v", r)
		}
		if r := k.verifyLog(db.NoTenant); !r.Whole() || r.Waiting != 0 {
			k.Errorf("the platform's, after its death: %+v", r)
		}
		k.writeBy(d, tenant, 2)
		if r := k.verifyLog(tenant); !r.Whole() || r.Waiting != 2 {
			k.Errorf("rows that come late: %+v", r)
		}
		k.silenceNewest()
		k.sealLog()
		r := k.verifyLog(tenant)
		if !r.Whole() || r.Rows != before.Rows+7 || r.Waiting != 0 || r.HeadNo != before.HeadNo+3 {
			k.Errorf("rows that came late: %+v", r)
		}

		// It was not dead: it goes on with a batch of which others sealed a part.
		k.writeBy(d, tenant, 1)
		other := chain.Chain{DB: d, Keys: k.svc.Admin.Secrets, Now: k.now}
		_, err := other.Seal(k.ctx)
		k.ok(err)
		if r := k.verifyLog(tenant); !r.Whole() || r.Rows != before.Rows+8 || r.Waiting != 0 {
			k.Errorf("a process that was taken for dead: %+v", r)
		}
		k.exec("DELETE FROM audit WHERE tenant_id = $1 AND CAST(id AS text) = (SELECT MAX(CAST(id AS text)) FROM audit "+
			"WHERE tenant_id = $1 AND action = 'elsewhere')", tenant)
		if r := k.verifyLog(tenant); len(r.Breaks) != 1 || !strings.Contains(r.Breaks[0].Why, "1 row is missing") {
			k.Errorf("a row that a seal names is removed: %+v", r)
		}
	})
}

// A process that was silent for long, and was taken for ended, draws a new epoch before it
// writes again.
func TestAuditChain_longSilence(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		d := k.otherProcess()
		k.writeBy(d, tenant, 1)
		k.exec("UPDATE audit_writers SET seen_at = $1 WHERE epoch = (SELECT MAX(epoch) FROM audit_writers)",
			time.Now().Add(-24*time.Hour))
		k.sealLog()
		audit.LogOf(d).NoteSignOfLife(true)
		k.writeBy(d, tenant, 1)
		if n := k.count("SELECT COUNT(*) FROM audit_writers WHERE ended_at IS NULL"); n != 2 {
			k.Errorf("%d living epochs", n)
		}
		k.silenceNewest()
		k.sealLog()
		if r := k.verifyLog(tenant); !r.Whole() || r.Waiting != 0 {
			k.Errorf("%+v", r)
		}
	})
}

// Whatever is done to what is known of processes, no row can be removed unseen.
func TestAuditChain_writersTampered(t *testing.T) {
	const newest = " WHERE epoch = (SELECT MAX(epoch) FROM audit_writers)"
	for name, c := range map[string]struct {
		sql string
		why string // once the row that waits is removed, or at once; "" = another server seals it
	}{
		"removed":                  {"DELETE FROM audit_writers", "no server will write"},
		"ended":                    {"UPDATE audit_writers SET ended_at = seen_at" + newest, "no server will write"},
		"sealed up to anywhere":    {"UPDATE audit_writers SET sealed_through = 9007199254740991" + newest, "no server will write"},
		"alive in the next decade": {"UPDATE audit_writers SET seen_at = '2040-01-01T00:00:00.000000Z'" + newest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, nil, func(k *kit) {
				tenant := k.logged()
				d := k.otherProcess()
				k.writeBy(d, tenant, 1)
				k.exec(c.sql)
				k.ok(k.svc.Admin.SealAudit(k.ctx))
				r := k.verifyLog(tenant)
				if c.why == "" && r.Whole() && r.Waiting == 0 {
					return
				}
				if len(r.Breaks) != 1 || !strings.Contains(r.Breaks[0].Why, c.why) {
					k.Errorf("%+v", r)
				}
			})
		})
	}
}

// A living process misses its rows although another one took it for dead.
func TestAuditChain_missedWhenTakenForDead(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		d := k.otherProcess()
		k.writeBy(d, tenant, 3)
		k.exec("DELETE FROM audit WHERE tenant_id = $1 AND CAST(id AS text) = (SELECT MAX(CAST(id AS text)) FROM audit "+
			"WHERE tenant_id = $1 AND action = 'elsewhere')", tenant)
		k.silenceNewest()
		k.sealLog()
		other := chain.Chain{DB: d, Keys: k.svc.Admin.Secrets, Now: k.now}
		_, err := other.Seal(k.ctx)
		k.code(err, "audit_tampered")
		if r := k.verifyLog(tenant); len(r.Breaks) != 1 || !strings.Contains(r.Breaks[0].Why, "1 row is missing") {
			k.Errorf("%+v", r)
		}
	})
}

// Epochs never come again, so that no batch of today is taken for one that is sealed, and a
// process whose epoch is gone numbers what it writes all the same.
func TestAuditChain_epochsNeverRepeat(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		k.exec("DELETE FROM audit_writers")
		d := k.otherProcess()
		k.writeBy(d, tenant, 2)
		audit.LogOf(k.db).NoteSignOfLife(true)
		k.write(tenant, "goes on", 1)
		other := chain.Chain{DB: d, Keys: k.svc.Admin.Secrets, Now: k.now}
		_, err := other.Seal(k.ctx)
		k.ok(err)
		k.sealLog()
		if r := k.verifyLog(tenant); !r.Whole() || r.Waiting != 0 {
			k.Errorf("%+v", r)
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE batch = 0"); n != 0 {
			k.Errorf("%d rows of no batch", n)
		}
	})
}

// What waits because a head was spoiled is sealed once it is as it was, or missed.
func TestAuditChain_spoiledHead(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		other := k.tenant("South")
		k.sealLog()
		for _, removed := range []bool{false, true} {
			k.write(tenant, "waits", 2)
			k.write(other, "passes", 1)
			k.exec("UPDATE audit_heads SET mac = 'x' || mac WHERE tenant_id = $1", tenant)
			for range 3 {
				k.code(k.svc.Admin.SealAudit(k.ctx), "audit_tampered")
				k.write(tenant, "waits", 1)
			}
			if r := k.verifyLog(other); !r.Whole() || r.Waiting != 0 {
				k.Errorf("another tenant's: %+v", r)
			}
			if removed {
				k.exec("DELETE FROM audit WHERE tenant_id = $1 AND CAST(id AS text) = (SELECT MAX(CAST(id AS text)) FROM audit "+
					"WHERE tenant_id = $1 AND action = 'waits')", tenant)
			}
			k.exec("UPDATE audit_heads SET mac = SUBSTR(mac, 2) WHERE tenant_id = $1", tenant)
			if err := k.svc.Admin.SealAudit(k.ctx); (err != nil) != removed {
				k.Errorf("removed %v: %v", removed, err)
			}
			if r := k.verifyLog(tenant); r.Whole() == removed || r.Waiting != 0 {
				k.Errorf("removed %v: %+v", removed, r)
			}
		}
	})
}
