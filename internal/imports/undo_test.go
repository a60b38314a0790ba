package imports_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
)

// A rollback gives back each field that holds what the import made of it, and keeps what
// others changed. Only a field that both changed is a conflict, which names it; it is
// settled by a partial rollback, which keeps that field, or by giving the field back,
// and the job is rolled back then.
func TestRollbackByField(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.add("members", store.Row{"user_id": anna, "email": "anna@north.example", "role": "admin", "status": "active"})
		for _, whole := range []int64{20_000, 1} { // at once, and in batches
			for _, settle := range []string{"partial", "given back"} {
				k.parted(whole)
				ids := map[string]string{}
				for _, sku := range []string{"A", "B", "C", "D"} {
					ids[sku] = k.add("items", store.Row{"sku": sku, "name": "old " + sku, "unit_cost": "1"})
				}
				job, _, _ := k.imported("items", `{"force":true}`, "", "prices.csv",
					[]byte("sku,name,unit_cost\nA,new A,2\nB,new B,2\nC,new C,2\nD,new D,2\n"))
				k.edit("items", ids["A"], store.Row{"name": "theirs"})
				k.edit("items", ids["B"], store.Row{"category": "theirs"})
				remove(k, "items", ids["D"])

				_, err := k.m.Rollback(ctx, k.as, job.ID)
				list := imports.Conflicts(err)
				if !fault.HasCode(err, "import_conflict") || len(list) != 1 || list[0].Label != "A" ||
					!strings.HasPrefix(list[0].Reason, "Name: changed after the import by anna@north.example on 2026-03-01") {
					k.Fatalf("%v %+v", err, list)
				}
				want := []string{"A theirs 1 <nil>", "B old B 1 theirs", "C old C 1 <nil>"}
				roll := k.m.RollbackRest
				if settle == "given back" {
					k.edit("items", ids["A"], store.Row{"name": "old A"})
					want[0], roll = "A old A 1 <nil>", k.m.Rollback
				}
				res, err := roll(ctx, k.as, job.ID)
				if err != nil || k.status(job) != jobs.RolledBack || (res.Kept == 1) != (settle == "partial") {
					k.Errorf("%s: %+v %v, job %s", settle, res, err, k.status(job))
				}
				if diff := cmp.Diff(want, k.fieldsOf("items", "sku", "name", "unit_cost", "category")); diff != "" {
					k.Errorf("%s %d: %s", settle, whole, diff)
				}
				if says := fmt.Sprint(k.find("import_jobs", "id", job.ID)["message"]); strings.Contains(says,
					"stay as they are") != (settle == "partial") {
					k.Errorf("%s: the job says %s", settle, says)
				}
				for _, sku := range []string{"A", "B", "C"} {
					remove(k, "items", ids[sku])
				}
			}
		}
	})
}

// What people said of a record since keeps the record: a rollback names the comment, and
// takes back the rest.
func TestRollbackLeavesCommentedRecords(t *testing.T) {
	each(t, func(k *kit) {
		job, _, _ := k.imported("incidents", `{"force":true}`, "", "reports.csv",
			[]byte("external_ref,kind,title,occurred_at\nA,hazard,Oil,2026-01-05T10:00:00Z\nB,hazard,Ice,2026-01-05T10:00:00Z\n"))
		oil := k.find("incidents", "external_ref", "A")["id"]
		k.add("comments", store.Row{"incident_id": oil, "text": "Whose?"})

		_, err := k.m.Rollback(context.Background(), k.as, job.ID)
		if list := imports.Conflicts(err); len(list) != 1 || !strings.Contains(strings.ToLower(list[0].Reason), "comment") {
			k.Fatalf("%v %+v", err, list)
		}
		res, err := k.m.RollbackRest(context.Background(), k.as, job.ID)
		if err != nil || res.Kept != 1 {
			k.Errorf("%+v %v", res, err)
		}
		if diff := cmp.Diff([]string{"A"}, k.fieldsOf("incidents", "external_ref")); diff != "" {
			k.Error(diff)
		}
	})
}
