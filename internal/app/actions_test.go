package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// What shows that an urgent action is done is a file that is kept with it, as well as
// what its evidence says.
func TestFilesShowThatAnActionIsDone(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		end := func(action string) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/actions?id=eq." + action, As: officer,
				Body: map[string]any{"status": "done"}})
		}
		urgent := func() string {
			return k.Insert(t, officer, "actions", map[string]any{"title": "Rail", "priority": "high"})
		}
		bare, shown := urgent(), urgent()
		if _, r := uploadFile(t, k, officer, "actions/"+shown, "rail.pdf", []byte("%PDF-1.7\n%%EOF\n")); r.Status != 201 {
			t.Fatalf("upload: %d %s", r.Status, r.Body)
		}
		if r := end(bare); r.Status != 409 || !strings.Contains(string(r.Body), "a photo or a file kept with it") {
			t.Errorf("nothing shows it: %d %s", r.Status, r.Body)
		}
		if r := end(shown); r.Status != 204 {
			t.Errorf("a file shows it: %d %s", r.Status, r.Body)
		}
	})
}
