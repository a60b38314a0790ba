package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/identity/chain"
)

// logged makes a tenant whose chain has some rows, all sealed.
func (k *kit) logged() (tenant string) {
	k.Helper()
	return k.loggedApart(false)
}

// loggedApart is logged; apart = each row has a seal of its own.
func (k *kit) loggedApart(apart bool) (tenant string) {
	k.Helper()
	tenant = k.tenant("North")
	k.sealLog()
	k.member(tenant, "a@x.example", actor.Owner)
	for range 6 {
		if apart {
			k.sealLog()
		}
		k.signIn("a@x.example")
	}
	k.sealLog()
	return tenant
}

// write adds rows to a tenant's log.
func (k *kit) write(tenant, action string, rows int) {
	k.Helper()
	list := make([]audit.Entry, rows)
	for i := range list {
		list[i] = audit.Entry{Tenant: tenant, At: k.now(), Action: action}
	}
	k.ok(k.db.Write(k.ctx, all, func(tx *db.Tx) error { return audit.WriteAll(tx, list) }))
}

func (k *kit) verifyLog(tenant string) chain.Report {
	k.Helper()
	list, err := k.svc.Admin.VerifyAudit(k.ctx, tenant)
	k.ok(err)
	return list[0]
}

// sealLog writes the seals that are due.
func (k *kit) sealLog() {
	k.Helper()
	k.ok(k.svc.Admin.SealAudit(k.ctx))
}

// nthRow is SQL for the id of a row of the tenant $1, in the order in which they were written.
func nthRow(n int) string {
	return "(SELECT id FROM audit WHERE tenant_id = $1 ORDER BY id LIMIT 1 OFFSET " + strconv.Itoa(n-1) + ")"
}

func TestAuditChain(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		k.signIn("a@x.example")
		k.sealLog()
		r := k.verifyLog(tenant)
		if !r.Whole() || r.Rows < 8 || r.Waiting != 0 || len(r.Head) != 64 || r.HeadNo != 3 {
			k.Fatalf("%+v", r)
		}
		if bySlug := k.verifyLog("north"); bySlug.Head != r.Head {
			k.Errorf("%+v", bySlug)
		}
		k.signIn("a@x.example")
		if r := k.verifyLog(tenant); r.Waiting != 1 || !r.Whole() {
			k.Errorf("%+v", r)
		}
		k.sealLog()
		more := k.verifyLog(tenant)
		if !more.Whole() || more.Rows != r.Rows+1 || more.HeadNo != 4 || more.Head == r.Head {
			k.Errorf("%+v", more)
		}
		list, err := k.svc.Admin.VerifyAudit(k.ctx, "")
		k.ok(err)
		if len(list) != 2 || list[0].TenantID != db.NoTenant || !list[0].Whole() || list[0].Rows == 0 {
			k.Errorf("%+v", list)
		}
	})
}

// A row that is removed before it is sealed is missed: the process knows how many it wrote.
func TestAuditChain_removedEarly(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		k.write(tenant, "kept", 2)
		k.write(tenant, "removed", 1)
		k.exec("DELETE FROM audit WHERE tenant_id = $1 AND action = 'removed'", tenant)
		k.code(k.svc.Admin.SealAudit(k.ctx), "audit_tampered")
		k.sealLog() // it is told once
		if r := k.verifyLog(tenant); len(r.Breaks) != 1 || !strings.Contains(r.Breaks[0].Why, "1 row is missing") {
			k.Errorf("%+v", r)
		}
	})
}

// Whatever is done to a sealed row or to a seal shows, and shows where. The naive chain,
// without numbers and a keyed head, passes some of these.
func TestAuditChain_tampering(t *testing.T) {
	const sealOf4 = "tenant_id = $1 AND seal_no = 4"
	for name, c := range map[string]struct {
		sql, why string
		isNamed  bool
	}{
		"changed":           {"UPDATE audit SET details = '{}' WHERE tenant_id = $1 AND id = " + nthRow(4), "was changed", true},
		"emptied":           {"UPDATE audit SET entity_type = NULL WHERE tenant_id = $1 AND id = " + nthRow(2), "was changed", true},
		"outcome":           {"UPDATE audit SET outcome = 'refused' WHERE tenant_id = $1 AND id = " + nthRow(2), "was changed", true},
		"time":              {"UPDATE audit SET at = '2020-01-01T00:00:00.000000Z' WHERE tenant_id = $1 AND id = " + nthRow(3), "was changed", true},
		"removed":           {"DELETE FROM audit WHERE tenant_id = $1 AND id = " + nthRow(4), "1 row is missing", false},
		"the first removed": {"DELETE FROM audit WHERE tenant_id = $1 AND id = " + nthRow(1), "1 row is missing", false},
		"the last removed": {"DELETE FROM audit WHERE tenant_id = $1 AND CAST(id AS text) = " +
			"(SELECT MAX(CAST(id AS text)) FROM audit WHERE tenant_id = $1)", "1 row is missing", false},
		"all removed": {"DELETE FROM audit WHERE tenant_id = $1", "missing", false},
		"moved to another batch": {"UPDATE audit SET batch = batch + 7 WHERE tenant_id = $1 AND id = " + nthRow(4),
			"1 row is missing", false},
		"moved to another tenant": {"UPDATE audit SET tenant_id = '00000000-0000-0000-0000-0000000000aa' " +
			"WHERE tenant_id = $1 AND id = " + nthRow(4), "1 row is missing", false},
		"put in by hand": {"INSERT INTO audit (tenant_id, id, at, action, outcome, batch) SELECT tenant_id, " +
			"'0190ffff-0000-7000-8000-00000000ffff', at, action, outcome, batch FROM audit WHERE tenant_id = $1 AND id = " +
			nthRow(4), "not written by the server", true},
		"a seal removed":    {"DELETE FROM audit_seals WHERE " + sealOf4, "seals 4 to 4 are missing", false},
		"a seal changed":    {"UPDATE audit_seals SET row_count = 9 WHERE " + sealOf4, "missing", false},
		"a seal moved":      {"UPDATE audit_seals SET seal_no = 99 WHERE " + sealOf4, "seals 4 to 4 are missing", false},
		"a seal's hash":     {"UPDATE audit_seals SET hash = repeat_a WHERE " + sealOf4, "the seal was changed", false},
		"the end removed":   {"DELETE FROM audit_seals WHERE tenant_id = $1 AND seal_no > 4", "removed from the end", false},
		"the seals removed": {"DELETE FROM audit_seals WHERE tenant_id = $1", "removed from the end", false},
		"the head removed":  {"DELETE FROM audit_heads WHERE tenant_id = $1", "no head", false},
		"the head set back": {"UPDATE audit_heads SET seal_no = 3, hash = (SELECT hash FROM audit_seals WHERE tenant_id = $1 " +
			"AND seal_no = 3) WHERE tenant_id = $1", "head was changed", false},
	} {
		for _, how := range []string{"a seal each", "one seal"} {
			if how == "one seal" && strings.Contains(c.sql, "seal_no") {
				continue
			}
			t.Run(name+", "+how, func(t *testing.T) {
				onBoth(t, nil, func(k *kit) {
					tenant := k.loggedApart(how == "a seal each")
					k.exec(strings.ReplaceAll(c.sql, "repeat_a", "'"+strings.Repeat("a", 64)+"'"), tenant)
					r := k.verifyLog(tenant)
					if r.Whole() || !strings.Contains(r.Breaks[0].Why, c.why) || (r.Breaks[0].ID != "") != c.isNamed {
						k.Errorf("%+v", r)
					}
				})
			})
		}
	}
}

// No column of a row is left out of what is sealed.
func TestAuditChain_everyColumn(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		first := k.verifyLog(tenant).Rows + 1
		k.write(tenant, "whole", 20)
		k.sealLog()
		const other = "'0190ffff-0000-7000-8000-00000000ffff'"
		for i, set := range []string{"at = '2020-01-01T00:00:00.000000Z'", "actor_user_id = " + other,
			"key_id = 'x'", "action = 'x'",
			"entity_type = 'x'", "entity_id = " + other,
			"outcome = 'x'", "before = '{}'", "after = '{}'", "details = '{}'", "address = '192.0.2.99'", "request_id = 'x'",
			"session_id = " + other, "id = " + other} {
			k.exec("UPDATE audit SET "+set+" WHERE tenant_id = $1 AND id = "+nthRow(int(first)+i), tenant)
			if r := k.verifyLog(tenant); len(r.Breaks) != i+1 {
				k.Fatalf("%s: %+v", set, r)
			}
		}
	})
}

// The hashes are what the package says: anybody can make them again.
func TestAuditChain_hashes(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.loggedApart(true)
		k.write(tenant, "together", 3)
		k.sealLog()
		k.ok(k.db.Read(k.ctx, all, func(tx *db.Tx) error {
			contents := map[int64]string{}
			const columns = 15
			tx.Queue(`SELECT id, at, actor_user_id, key_id, session_id, action, entity_type, entity_id, outcome, before, after,
				details, address, request_id, CAST(batch AS text), batch
				FROM audit WHERE tenant_id = $1 ORDER BY id`, []any{tenant}, func(r *db.Row) error {
				content := fmt.Sprintf("%d:%s", len(tenant), tenant)
				for i := range columns {
					if r.Null(i) {
						content += "-"
					} else {
						content += fmt.Sprintf("%d:%s", len(r.Text(i)), r.Text(i))
					}
				}
				sum := sha256.Sum256([]byte(content))
				contents[r.Int(columns)] += string(sum[:])
				return nil
			})
			previous := strings.Repeat("0", 64)
			return tx.Query(`SELECT seal_no, batch, row_count, hash FROM audit_seals WHERE tenant_id = $1 ORDER BY seal_no`,
				[]any{tenant}, func(r *db.Row) error {
					rows := contents[r.Int(1)]
					digest, text := sha256.Sum256([]byte(rows)), ""
					for _, part := range []string{tenant, strconv.FormatInt(r.Int(0), 10), previous, strconv.FormatInt(r.Int(1), 10),
						strconv.Itoa(len(rows) / sha256.Size), hex.EncodeToString(digest[:]), ""} {
						text += fmt.Sprintf("%d:%s", len(part), part)
					}
					if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != r.Text(3) {
						k.Errorf("%q is not what seal %d was made of", text, r.Int(0))
					}
					previous = r.Text(3)
					return nil
				})
		}))
	})
}

// What is done in a session says in which.
func TestAudit_session(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a := k.actor(s)
		other := k.actor(k.signIn("a@x.example")).SessionID
		_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "the-next-password"})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Email: "b@x.example"})
		k.ok(err)
		k.ok(k.svc.Sessions.Logout(k.ctx, a, ""))
		ban := "1h"
		_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), a.UserID, identity.AdminUser{BanDuration: &ban})
		k.ok(err)
		for action, want := range map[string]string{"user.password_changed": a.SessionID,
			"user.email_change_started": a.SessionID,
			"session.ended":             a.SessionID, "user.updated": ""} {
			n := k.count("SELECT COUNT(*) FROM audit WHERE action = $1 AND COALESCE(CAST(session_id AS text), '') = $2", action,
				want)
			if n != 1 {
				k.Errorf("%s: %d rows with the session %q", action, n, want)
			}
		}
		for _, id := range []string{a.SessionID, other} {
			if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'session.started' AND session_id = $1", id); n != 1 {
				k.Errorf("the session's beginning: %d rows", n)
			}
		}
	})
}

// Who can write the database but lacks the master key cannot cut the end off
// and forge a head that the sealer would go on from.
func TestAuditChain_forgedHead(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.loggedApart(true)
		k.exec("DELETE FROM audit WHERE tenant_id = $1 AND batch IN (SELECT batch FROM audit_seals WHERE tenant_id = $1 AND "+
			"seal_no > 3)", tenant)
		k.exec("DELETE FROM audit_seals WHERE tenant_id = $1 AND seal_no > 3", tenant)
		k.exec("UPDATE audit_heads SET seal_no = 3, hash = (SELECT hash FROM audit_seals WHERE tenant_id = $1 AND seal_no = 3) "+
			"WHERE tenant_id = $1", tenant)
		k.signIn("a@x.example")
		k.code(k.svc.Admin.SealAudit(k.ctx), "audit_tampered")
		if r := k.verifyLog(tenant); r.Whole() {
			k.Error("a forged head passes")
		}
	})
}

// Sealers on several nodes, while people write: one chain, nobody waits for it
// and no row is left out or numbered twice.
func TestAuditChain_race(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.tenant("North")
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 40 {
					k.write(tenant, strconv.Itoa(100*w+i), 1)
				}
			})
		}
		for range 3 {
			wg.Go(func() {
				for range 10 {
					if err := k.svc.Admin.SealAudit(k.ctx); err != nil {
						k.Error(err)
					}
				}
			})
		}
		wg.Wait()
		k.sealLog()
		if r := k.verifyLog(tenant); !r.Whole() || r.Rows != 161 || r.Waiting != 0 {
			k.Errorf("%+v", r)
		}
	})
}

// More rows than one transaction seals.
func TestAuditChain_many(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.tenant("North")
		k.write(tenant, "x", 2300)
		start := time.Now()
		k.sealLog()
		sealed := time.Since(start)
		start = time.Now()
		if r := k.verifyLog(tenant); !r.Whole() || r.Rows != 2301 {
			k.Errorf("%+v", r)
		}
		k.Logf("sealed 2,301 rows in %s, verified in %s", sealed, time.Since(start))
	})
}

// Whoever can write the database but lacks the master key adds no row that is
// taken for the server's, nor changes one in the moments before it is sealed.
func TestAuditChain_forged(t *testing.T) {
	const made = "INSERT INTO audit (tenant_id, id, at, actor_user_id, action, outcome, batch, code) SELECT tenant_id, " +
		"'0190ffff-0000-7000-8000-00000000ffff', at, actor_user_id, action, outcome, batch, "
	for name, sql := range map[string]string{
		"bare": made + "NULL FROM audit WHERE tenant_id = $1 AND action = 'waits'",
		"with a code made up": made + "'" + strings.Repeat("a", 22) +
			"' FROM audit WHERE tenant_id = $1 AND action = 'waits'",
		"with the code of another": made + "code FROM audit WHERE tenant_id = $1 AND action = 'waits'",
		"changed while it waits":   "UPDATE audit SET outcome = 'refused' WHERE tenant_id = $1 AND action = 'waits'",
		"moved while it waits":     "UPDATE audit SET tenant_id = $2 WHERE tenant_id = $1 AND action = 'waits'",
	} {
		for _, sealed := range []bool{false, true} {
			t.Run(name+" "+strconv.FormatBool(sealed), func(t *testing.T) {
				onBoth(t, nil, func(k *kit) {
					tenant := k.logged()
					other := k.tenant("South")
					k.sealLog()
					k.write(tenant, "waits", 1)
					args := []any{tenant}
					at := tenant
					if strings.Contains(sql, "$2") {
						args, at = append(args, other), other
					}
					k.exec(sql, args...)
					if sealed {
						want := "audit_forged"
						if at != tenant {
							want = "audit_tampered" // a row less than were written
						}
						k.code(k.svc.Admin.SealAudit(k.ctx), want)
						k.sealLog() // it is told once
					}
					if r := k.verifyLog(at); len(r.Breaks) != 1 || !strings.Contains(r.Breaks[0].Why, "not written by the server") ||
						r.Breaks[0].ID == "" {
						k.Errorf("%+v", r)
					}
				})
			})
		}
	}
}

// A chain that is deleted with its head is named, by whatever the tenant does
// afterwards: a new one does not begin in its place.
func TestAuditChain_gone(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		other := k.tenant("South")
		if r := k.verifyLog(other); !r.Whole() || r.Waiting == 0 {
			k.Errorf("a tenant made a moment ago: %+v", r)
		}
		for _, gone := range []string{tenant, db.NoTenant} {
			k.exec("DELETE FROM audit_heads WHERE tenant_id = $1", gone)
			k.exec("DELETE FROM audit WHERE tenant_id = $1", gone)
			k.exec("DELETE FROM audit_seals WHERE tenant_id = $1", gone)
		}
		look := func(when string) {
			k.Helper()
			list, err := k.svc.Admin.VerifyAudit(k.ctx, "")
			k.ok(err)
			broken := map[string]bool{}
			for _, r := range list {
				broken[r.TenantID] = !r.Whole() && strings.Contains(r.Breaks[0].Why, "gone")
			}
			if len(list) != 3 || !broken[tenant] || !broken[db.NoTenant] || broken[other] {
				k.Errorf("%s: %+v", when, list)
			}
		}
		look("at once")
		k.signIn("a@x.example")
		k.code(k.svc.Admin.SealAudit(k.ctx), "audit_tampered")
		look("after new rows")
		if r := k.verifyLog(other); r.Waiting != 0 || r.Rows == 0 {
			k.Errorf("another tenant's rows wait for it: %+v", r)
		}
		k.settle() // a restart begins nothing either
		k.code(k.svc.Admin.SealAudit(k.ctx), "audit_tampered")
		look("after a restart")
	})
}

// Who puts a tenant's log back, its genuine old head included, is told by the head that the
// platform's log kept meanwhile, and who puts the whole database back by what was kept elsewhere.
func TestAuditChain_putBack(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.logged()
		old := k.verifyLog(tenant)
		var mac string
		k.ok(k.db.Read(k.ctx, all, func(tx *db.Tx) error {
			return tx.One("SELECT mac FROM audit_heads WHERE tenant_id = $1", []any{tenant}, func(r *db.Row) error {
				mac = r.Text(0)
				return nil
			})
		}))
		k.write(tenant, "covered up", 3)
		k.sealLog()
		k.ok(k.svc.Admin.KeepAuditHeads(k.ctx))
		k.ok(k.svc.Admin.KeepAuditHeads(k.ctx))
		k.sealLog()
		now := k.verifyLog(tenant)
		if !now.Whole() || now.Rows != old.Rows+3 {
			k.Fatalf("%+v", now)
		}
		list, err := k.svc.Admin.VerifyAudit(k.ctx, tenant, chain.KeptHead{TenantID: tenant, SealNo: 2, Hash: now.Head})
		if k.ok(err); list[0].Whole() {
			k.Error("what the platform kept later silences an older head that is kept elsewhere")
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'audit.heads_kept'"); n != 1 {
			k.Errorf("heads were kept %d times in an hour", n)
		}

		k.exec("DELETE FROM audit WHERE tenant_id = $1 AND action = 'covered up'", tenant)
		k.exec("DELETE FROM audit_seals WHERE tenant_id = $1 AND seal_no > $2", tenant, old.HeadNo)
		k.exec("UPDATE audit_heads SET seal_no = $2, hash = $3, mac = $4 WHERE tenant_id = $1", tenant, old.HeadNo, old.Head, mac)
		if r := k.verifyLog(tenant); r.Whole() || !strings.Contains(r.Breaks[0].Why, "an older log was put back") {
			k.Errorf("%+v", r)
		}

		k.exec("UPDATE audit SET at = '2020-01-01T00:00:00.000000Z' WHERE action = 'audit.heads_kept'")
		k.write(tenant, "goes on", 9)
		k.sealLog()
		k.ok(k.svc.Admin.KeepAuditHeads(k.ctx))
		if r := k.verifyLog(tenant); r.Whole() || r.Rows <= now.Rows {
			k.Errorf("a log that was put back and has grown past where it was: %+v", r)
		}
		k.exec("DELETE FROM audit WHERE action = 'audit.heads_kept'")
		kept := chain.KeptHead{TenantID: tenant, SealNo: now.HeadNo, Hash: now.Head}
		for _, c := range []struct {
			kept chain.KeptHead
			why  string
		}{
			{kept, "written anew"},
			{chain.KeptHead{TenantID: tenant, SealNo: 99, Hash: now.Head}, "an older log was put back"},
			{chain.KeptHead{TenantID: tenant, SealNo: 2, Hash: now.Head}, "written anew"},
			{chain.KeptHead{TenantID: tenant, SealNo: old.HeadNo, Hash: old.Head}, ""},
			{chain.KeptHead{TenantID: db.NoTenant, SealNo: 99, Hash: now.Head}, ""},
		} {
			list, err := k.svc.Admin.VerifyAudit(k.ctx, tenant, c.kept)
			k.ok(err)
			why := ""
			for _, b := range list[0].Breaks {
				why += b.Why
			}
			if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				k.Errorf("%+v: %q, want %q", c.kept, why, c.why)
			}
		}
	})
}
