package chain

import (
	"crypto/rand"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/secrets"
	"holdfast/internal/testkit/dbtest"
)

// BenchmarkSeal is what sealing a row costs, ten thousand of them waiting.
func BenchmarkSeal(b *testing.B) {
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		b.Run(string(engine), func(b *testing.B) { measureSealing(b, engine) })
	}
}

func measureSealing(b *testing.B, engine db.Engine) {
	d := dbtest.Open(b, dbtest.Options(b, engine))
	log := make([]byte, 32)
	rand.Read(log)
	audit.KeepKey(d, log)
	c := Chain{DB: d, Keys: secrets.Keys{Log: log}, Now: time.Now}
	e := audit.Entry{Tenant: "0190a000-0000-7000-8000-000000000001", At: time.Now(),
		By: actor.Actor{UserID: "0190a000-0000-7000-8000-0000000000a1",
			SessionID: "0190a000-0000-7000-8000-0000000000b1", Address: "192.0.2.1",
			RequestID: "0190a000-0000-7000-8000-0000000000c1"},
		Action: "orders.insert", EntityType: "orders", EntityID: "0190a000-0000-7000-8000-0000000000d1",
		After: `{"id":"0190a000-0000-7000-8000-0000000000d1","order_no":"SO-2026-000123","type":"sales","status":"draft","stage":"open","priority":3,` +
			`"party_name":"Somebody & Sons","carrier":"post","tags":["a","b"],"ship_to":{"city":"Berlin"},"created_at":"2026-11-25T10:00:00Z","version":1}`}
	for b.Loop() {
		b.StopTimer()
		first := e
		e.Tenant = db.NewID()
		first.Tenant, first.Action, first.EntityID = e.Tenant, audit.TenantCreated, e.Tenant
		entries := []audit.Entry{first}
		for range 9999 {
			entries = append(entries, e)
		}
		err := d.Write(b.Context(), everywhere, func(tx *db.Tx) error { return audit.WriteAll(tx, entries) })
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if n, err := c.Seal(b.Context()); err != nil || n != 10000 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10000, "µs/row")
}
