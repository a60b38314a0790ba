package warehouse_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit"
)

// toldLists is what the stream of events tells somebody of pick lists: their types and ids.
func toldLists(t *testing.T, k *testkit.Kit, as string) <-chan [2]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", k.URL+"/v1/events?types=pick_list.*", nil)
	testkit.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+k.Token(as))
	res, err := http.DefaultClient.Do(req)
	testkit.Must(t, err)
	t.Cleanup(func() { res.Body.Close() })
	out := make(chan [2]string, 100)
	go func() {
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var e struct {
				Type string
				Data struct{ ID string }
			}
			text, isData := strings.CutPrefix(lines.Text(), "data: ")
			if isData && json.Unmarshal([]byte(text), &e) == nil {
				out <- [2]string{e.Type, e.Data.ID}
			}
		}
	}()
	return out
}

// An operator is told of the released lists that they may claim, and of no others: those of
// another site and of a colleague come and go unseen, as they are not read either.
func TestOperatorsAreToldOfListsTheyMayClaim(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		f.moveWorker("HH")
		bins := map[string]string{"HH": f.zone("HH", "BIN", nil), "B": f.zone("B", "BIN", nil)}
		told := toldLists(t, k, f.op)
		next := func(kind, id string) {
			t.Helper()
			select {
			case e := <-told:
				if e != [2]string{kind, id} {
					t.Errorf("told of %v, want %s %s", e, kind, id)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("not told of %s %s", kind, id)
			}
		}
		release := func(site string) string {
			t.Helper()
			return f.release(bins[site], map[string]any{"site_id": f.sites[site]})
		}
		release("B")
		here := release("HH")
		next("pick_list.released", here)

		colleague := k.Insert(t, f.as, "workers", map[string]any{"employee_no": "TL-1", "name": "A colleague"})
		second := release("HH")
		next("pick_list.released", second)
		f.patched("pick_lists/"+second, map[string]any{"assigned_worker_id": colleague}, 200)
		k.Say(t, f.as, "short_pick", map[string]any{"found": 1, "reason": "torn",
			"pick_line_id": list1(t, k, f.as, "pick_lines?select=id&pick_list_id=eq."+second)}, 200, nil)
		third := release("HH")
		next("pick_list.released", third)
		k.Say(t, f.op, "claim_pick_list", map[string]any{"pick_list_id": third}, 200, nil)
		k.Say(t, f.op, "short_pick", map[string]any{"found": 0, "reason": "empty",
			"pick_line_id": list1(t, k, f.as, "pick_lines?select=id&pick_list_id=eq."+third)}, 200, nil)
		f.moveWorker("")
		for {
			select {
			case e := <-told:
				if e[1] == third && e[0] == "pick_list.completed" {
					return
				}
				if e[0] == "pick_list.released" || e[0] == "pick_list.completed" {
					t.Errorf("told of %v", e)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("not told of the end of the own list")
			}
		}
	})
}
