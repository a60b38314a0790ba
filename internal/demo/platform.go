package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/safety/report"
	"holdfast/internal/store"
)

// writePlatform writes settings, memberships, import jobs and the note that all of
// this is a demo.
func (w *world) writePlatform(items []*item) {
	w.writeMembers()
	w.writeSettings()
	w.writeImports(items)
	at := w.cal.momentAt(-goLive-8, 10)
	w.addRecord("audit", -goLive-8, at,
		store.Row{"at": formatMoment(at), "actor_user_id": w.users[0].ID, "action": audit.TenantCreated,
			"entity_type": "tenants", "entity_id": w.profile.id,
			"outcome": "ok", "details": rawJSON(map[string]any{"source": "demo data"})})
}

func (w *world) writeSettings() {
	made := w.cal.momentAt(-goLive-5, 11)
	for _, s := range []struct {
		section, key string
		value        any
	}{
		{"stock", "adjust_limit_value", 250}, {"stock", "count_auto_approve", 25},
		{"picking", "allow_partial_allocation", true},
		{"scoring", "weight_incident", 0.45}, {"scoring", "weight_near_miss", 0.2}, {"scoring", "weight_shift_hours", 0.2},
		{"scoring", "weight_load", 0.15},
		{"safety", report.Setting, true}, {"engagement", "points_near_miss", 10}, {"engagement", "points_hazard", 8},
		{"engagement", "daily_cap", 40},
		{"security", "mfa_required", "none"},
	} {
		w.addRecord("settings", -goLive-5, made, store.Row{"section": s.section, "key": s.key, "value": rawJSON(s.value),
			"created_by": w.userID("admin")})
	}
}

// writeImports writes the files everything came from, and one that failed.
func (w *world) writeImports(items []*item) {
	n := func(resource string) int64 { return int64(len(w.rows[resource])) }
	old := 0
	for _, it := range items {
		if it.born == -goLive {
			old++
		}
	}
	for _, j := range []struct {
		day             int
		target, file    string
		total, invalid  int64
		status, message string
		mapping         map[string]string
	}{
		{-goLive, "zones", "storage_places.csv", n("zones"), 0, "completed", "",
			map[string]string{"code": "Code", "name": "Name", "max_capacity": "Capacity"}},
		{-goLive + 1, "items", "item_master.csv", int64(old) + 3, 3, "completed", "",
			map[string]string{"sku": "Article", "name": "Designation", "unit_cost": "Cost"}},
		{-41, "incidents", "paper_reports_before_golive.csv", 38, 38, "failed",
			"column \"Date\": 03/04/05 can be read in three ways; set date_order and process the file again", nil},
		{-6, "lots", "lot_dates_supplier.tsv", int64(len(w.rows["lots"])) / 3, 0, "completed", "",
			map[string]string{"item_id": "SKU", "lot_no": "Batch", "expires_on": "Use by"}},
	} {
		at := w.cal.momentAt(j.day, 10.5)
		sum := sha256.Sum256([]byte(w.slug + j.file))
		kind, delimiter := "csv", ","
		if j.file[len(j.file)-3:] == "tsv" {
			kind, delimiter = "tsv", "\t"
		}
		r := store.Row{"job_no": w.nextNumber("IM", at), "target": j.target, "file_name": j.file, "file_type": kind,
			"size": 96*j.total + 81, "sha256": hex.EncodeToString(sum[:]),
			"encoding": "utf-8", "delimiter": delimiter, "options": rawJSON(map[string]any{"mode": "upsert"}),
			"total_rows": j.total, "valid_rows": j.total - j.invalid,
			"invalid_rows": j.invalid, "status": j.status, "processed_at": formatMoment(at.Add(9 * time.Second)),
			"updated_at": formatMoment(at.Add(40 * time.Second)), "version": int64(5),
			"created_by": w.userID("admin"), "message": nullableID(j.message)}
		if j.mapping != nil {
			r["mapping"] = rawJSON(j.mapping)
		}
		if j.status == "completed" {
			r["imported_count"], r["applied_at"] = j.total-j.invalid, formatMoment(at.Add(40*time.Second))
		} else {
			r["imported_count"] = int64(0)
		}
		r["rolled_back_count"] = int64(0)
		w.addRecord("import_jobs", j.day, at, r)
	}
}
