package imports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
)

// A correction of two readings is as unclear as a cell of the file, when it is
// made and when the file is processed again, until somebody says which is meant.
func TestCorrectionsAreNotGuessed(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.add("items", store.Row{"sku": "P-1", "name": "One"})
		for _, c := range []struct {
			target, file, column, clear, unclear, says, answer, field, want string
		}{
			{"lots", "item,lot,expiry\nP-1,L1,2025-01-31\n", "expiry", "31/03/2025", "03/04/2025", "date order",
				`{"date_order":"mdy"}`, "expires_on", "2025-03-04"},
			{"items", "sku,name,unit cost\nP-2,Two,12\n", "unit cost", "1234,5", "1,234", "decimal mark",
				`{"decimal_mark":","}`, "unit_cost", "1.234"},
			{"items", "sku,name,unit cost,price\nP-3,Three,12,\"1,5\"\n", "unit cost", "1234,5", "1,234", "", "", "unit_cost",
				"1.234"}, // the other column tells
		} {
			job := k.upload(c.target, "", "", "f.csv", []byte(c.file))
			k.process(job)
			edit := func(text string) *imports.StagedRow {
				k.Helper()
				r, err := k.m.EditRow(ctx, k.as, job.ID, 1, imports.Edit{Cells: map[string]string{c.column: text}})
				if err != nil {
					k.Fatalf("%s: %v", text, err)
				}
				return r
			}
			if r := edit(c.clear); r.Status != "valid" {
				k.Errorf("%s: %+v", c.clear, r)
			}
			if r := edit(c.unclear); c.says != "" {
				if r.Status != "invalid" || len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Message, c.says) {
					k.Errorf("%s: %+v", c.unclear, r)
				}
				k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(`{"mode":"insert"}`)})
				if p := k.process(job); p.Stats.InvalidRows != 1 || !strings.Contains(p.Errors[0].Message, c.says) {
					k.Errorf("%s processed again: %+v", c.unclear, p)
				}
				k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(c.answer)})
				k.process(job)
			}
			k.apply(job)
			all := k.rows(c.target)
			if got := fmt.Sprint(all[len(all)-1][c.field]); got != c.want {
				k.Errorf("%s: %s, want %s", c.unclear, got, c.want)
			}
		}
	})
}

// Defaults follow the order of dates and the decimal mark of the options beside
// them; one that is none so, or has two readings, is refused before anything is kept.
func TestDefaultsAreNotGuessed(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.add("items", store.Row{"sku": "P-1", "name": "One"})
		for i, c := range []struct{ target, options, refused, field, want string }{
			{"lots", `{"defaults":{"expires_on":"03/04/2025"}}`, "options.defaults.expires_on", "", ""},
			{"lots", `{"defaults":{"expires_on":"25-01-31"}}`, "options.defaults.expires_on", "", ""},
			{"lots", `{"defaults":{"expires_on":"31/03/2025"}}`, "", "expires_on", "2025-03-31"},
			{"lots", `{"date_order":"mdy","defaults":{"expires_on":"03/04/2025"}}`, "", "expires_on", "2025-03-04"},
			{"lots", `{"date_order":"ymd","defaults":{"expires_on":"25-01-31"}}`, "", "expires_on", "2025-01-31"},
			{"lots", `{"defaults":{"expires_on":"soon"}}`, "options.defaults.expires_on", "", ""},
			{"lots", `{"defaults":{"expires_on":"31/31/2025"}}`, "options.defaults.expires_on", "", ""},
			{"lots", `{"date_order":"ymd","defaults":{"expires_on":"31/01/2025"}}`, "options.defaults.expires_on", "", ""},
			{"lots", `{"date_order":"mdy","defaults":{"expires_on":"31/01/2025"}}`, "options.defaults.expires_on", "", ""},
			{"lots", `{"defaults":{"expires_on":" "}}`, "", "expires_on", "<nil>"},
			{"items", `{"defaults":{"unit_cost":"cheap"}}`, "options.defaults.unit_cost", "", ""},
			{"items", `{"decimal_mark":".","defaults":{"unit_cost":"12,5"}}`, "options.defaults.unit_cost", "", ""},
			{"items", `{"defaults":{"unit_cost":"1,234"}}`, "options.defaults.unit_cost", "", ""},
			{"items", `{"decimal_mark":",","defaults":{"unit_cost":"1,234"}}`, "", "unit_cost", "1.234"},
			{"items", `{"defaults":{"unit_cost":"12,5"}}`, "", "unit_cost", "12.5"},
		} {
			file := map[string]string{"lots": fmt.Sprintf("item,lot\nP-1,L%d\n", i),
				"items": fmt.Sprintf("sku,name\nP-%d,New\n", i+2)}[c.target]
			if c.refused == "" {
				k.imported(c.target, c.options, "", "f.csv", []byte(file))
				all := k.rows(c.target)
				if got := fmt.Sprint(all[len(all)-1][c.field]); got != c.want {
					k.Errorf("%s: %s, want %s", c.options, got, c.want)
				}
				continue
			}
			_, err := k.m.Upload(ctx, k.as, imports.Request{Target: c.target, Options: json.RawMessage(c.options)}, "f.csv",
				strings.NewReader(file))
			if f := fault.As(err); err == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != c.refused {
				k.Errorf("upload %s: %v", c.options, err)
			}
			job := k.upload(c.target, "", "", "f.csv", []byte(file))
			k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(c.options)})
			_, err = k.m.Process(ctx, k.as, job.ID)
			if f := fault.As(err); err == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != c.refused {
				k.Errorf("process %s: %v", c.options, err)
			}
		}
	})
}

// A date order is the answer for columns that prove none; one that does keeps its
// own. Of years of two digits those before a dash alone raise a question, and a
// column that reads the same in all orders it does not rule out raises none; its
// corrections are read in these.
func TestDateOrdersOfColumns(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		for i, c := range []struct{ name, hired, left, answer, want string }{
			{"one asks, one proves", "14/11/2024 03/04/2024", "25-01-31 26-02-28", "ymd",
				"2024-11-14 2025-01-31 2024-04-03 2026-02-28"},
			{"as asked, the day", "14/11/2024 03/04/2024", "25-01-31 26-02-28", "dmy",
				"2024-11-14 2031-01-25 2024-04-03 2028-02-26"},
			{"slashes", "14/11/10 25/12/10", "25/01/31 26/02/28", "", "2010-11-14 2031-01-25 2010-12-25 2028-02-26"},
			{"points", "14.11.10 03.04.10", "25.01.31 26.02.28", "", "2010-11-14 2031-01-25 2010-04-03 2028-02-26"},
			{"slashes that prove the year", "85/03/14 90/12/01", "31/01/2025 03/04/2025", "",
				"1985-03-14 2025-01-31 1990-12-01 2025-04-03"},
			{"beside one that asks", "85/03/14 90.12.01", "03/04/2025 05/06/2025", "dmy",
				"1985-03-14 2025-04-03 1990-12-01 2025-06-05"},
			{"the same either way", "05-05-10 05/05/2011", "05/05/21 06-06-2022", "",
				"2010-05-05 2021-05-05 2011-05-05 2022-06-06"},
		} {
			hired, left := strings.Fields(c.hired), strings.Fields(c.left)
			file := fmt.Sprintf("employee_no,name,hired_on,left_on\nE-%da,One,%s,%s\nE-%db,Two,%s,%s\n", i, hired[0], left[0],
				i, hired[1], left[1])
			job := k.upload("workers", "", "", "f.csv", []byte(file))
			if _, err := k.m.Process(ctx, k.as, job.ID); (c.answer != "") != fault.HasCode(err, "import_question") {
				k.Errorf("%s: %v", c.name, err)
				continue
			}
			if c.answer != "" {
				k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(`{"date_order":"` + c.answer + `"}`)})
			}
			if p := k.process(job); p.Stats.ValidRows != 2 {
				k.Errorf("%s: %+v", c.name, p)
				continue
			}
			if c.name == "the same either way" {
				for text, says := range map[string]string{"03-04-2025": "date order", "06-06-10": ""} {
					r, err := k.m.EditRow(ctx, k.as, job.ID, 2, imports.Edit{Cells: map[string]string{"left_on": text}})
					if err != nil || (says == "") != (r.Status == "valid") {
						k.Errorf("corrected to %s: %+v %v", text, r, err)
					}
				}
				if _, err := k.m.EditRow(ctx, k.as, job.ID, 2,
					imports.Edit{Cells: map[string]string{"left_on": left[1]}}); err != nil {
					k.Error(err)
				}
			}
			k.apply(job)
			got := []string{}
			for _, side := range []string{"a", "b"} {
				w := k.find("workers", "employee_no", fmt.Sprintf("E-%d%s", i, side))
				got = append(got, fmt.Sprint(w["hired_on"]), fmt.Sprint(w["left_on"]))
			}
			if all := strings.Join(got, " "); all != c.want {
				k.Errorf("%s: %s, want %s", c.name, all, c.want)
			}
		}
	})
}

// earlier makes a job's plan one of before dates were asked about, when a column
// that proves nothing had the day in front.
func (k *kit) earlier(job *jobs.Job) {
	k.Helper()
	err := k.d.Write(context.Background(), store.Scope(k.as), func(tx *db.Tx) error {
		where := []any{job.TenantID, job.ID}
		plan := map[string]any{}
		err := tx.One("SELECT plan FROM import_plans WHERE tenant_id = $1 AND job_id = $2", where, func(r *db.Row) error {
			return json.Unmarshal(r.Bytes(0), &plan)
		})
		delete(plan, "reading")
		for _, c := range plan["columns"].([]any) {
			if c := c.(map[string]any); c["field"] == "expires_on" {
				c["date_order"] = "dmy"
			}
		}
		text, bad := json.Marshal(plan)
		tx.Queue("UPDATE import_plans SET plan = $3 WHERE tenant_id = $1 AND job_id = $2", append(where, string(text)), nil)
		return errors.Join(err, bad, tx.Flush())
	})
	if err != nil {
		k.Fatal(err)
	}
}

// A job that was ready before files were read as they are now is processed again
// before its rows are corrected or applied; one that was applied in part goes on.
func TestEarlierPlans(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		half := k.broken()
		k.add("items", store.Row{"sku": "P-1", "name": "One"})
		job := k.upload("lots", "", "", "f.csv", []byte("item,lot,expiry\nP-1,L1,2025-01-31\n"))
		k.process(job)
		k.earlier(job)
		edit := func() (*imports.StagedRow, error) {
			return k.m.EditRow(ctx, k.as, job.ID, 1, imports.Edit{Cells: map[string]string{"expiry": "03/04/2025"}})
		}
		_, edited := edit()
		_, applied := k.m.Apply(ctx, k.as, job.ID)
		for what, err := range map[string]error{"edit": edited, "apply": applied} {
			if !fault.HasCode(err, "import_state") || !strings.Contains(err.Error(), "process it again") {
				k.Errorf("%s: %v", what, err)
			}
		}
		k.process(job)
		if r, err := edit(); err != nil || r.Status != "invalid" {
			k.Errorf("%+v %v", r, err)
		}
		k.earlier(half)
		remove(k, "zones", k.find("zones", "name", "in the way")["id"].(string))
		k.apply(half)
	})
}
