package evidence

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// actionsWithFilesSQL lists which of some actions have files. $1 tenant, $2 actions.
const actionsWithFilesSQL = `
	SELECT DISTINCT action_id
	FROM files
	WHERE tenant_id = $1
		AND action_id IN {ids $2}`

// checkDone refuses actions of priority high and critical that become done with
// nothing that shows it: a file that is kept with the action shows it as well as what
// its evidence says.
func checkDone(tx *store.Tx, changes []store.Change) error {
	bare := map[string][]string{}
	for _, c := range changes {
		if safety.Becomes(c, "done") && isUrgent(c.After) && !hasEvidence(c.After) {
			tenant := c.After.Text("tenant_id")
			bare[tenant] = append(bare[tenant], c.After.Text("id"))
		}
	}
	for tenant, ids := range bare {
		shown := 0
		err := tx.Query(actionsWithFilesSQL, []any{tenant, query.List(ids)}, func(*db.Row) error {
			shown++
			return nil
		})
		if err != nil {
			return fmt.Errorf("evidence: files of actions: %w", err)
		}
		if shown < len(ids) {
			return safety.NotReady("an action of priority high or critical needs evidence before it is done: " +
				"a photo or a file kept with it, or a note")
		}
	}
	return nil
}

func isUrgent(action store.Row) bool {
	priority := action.Text("priority")
	return priority == "high" || priority == "critical"
}

func hasEvidence(action store.Row) bool {
	raw, _ := action["evidence"].(json.RawMessage)
	return len(raw) > 0 && string(raw) != "[]" && string(raw) != "null"
}
