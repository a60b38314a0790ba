package warehouse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/sites"
	"holdfast/internal/warehouse/worklist"
)

// NextTaskIn says where somebody stands and whether the work is to be theirs.
type NextTaskIn struct {
	AtZoneID string `json:"at_zone_id" format:"uuid" names:"zones" doc:"Where the caller stands."`
	Kind     string `json:"kind" enum:"pick put_away replenish count" doc:"Any when absent."`
	Claim    bool   `json:"claim" doc:"Whether the work becomes the caller's."`
}

// NextTaskOut is the work that comes next, and why.
type NextTaskOut struct {
	verb.Answer
	Kind       string       `json:"kind,omitempty" enum:"pick put_away replenish count" doc:"Of task."`
	Task       *verb.Record `json:"task" doc:"The record; null when there is nothing to do."`
	Zone       *verb.Record `json:"zone" record:"zones" doc:"Where it begins."`
	Mine       bool         `json:"mine" doc:"It is the caller's."`
	Priority   int64        `json:"priority,omitempty" doc:"1 is most urgent; 3 where it has none."`
	PromisedAt string       `json:"promised_at,omitempty" format:"date-time" doc:"The first promise that waits for it."`
	Distance   *decimal.Dec `json:"distance_m" unit:"m" doc:"From at_zone_id; null when unknown."`
	Since      string       `json:"waiting_since,omitempty" format:"date-time" doc:"When it was made."`
	Why        string       `json:"why" doc:"Why it was chosen, or why there is nothing, in words."`

	Handling []handling.Load `json:"handling" doc:"What is still to be moved, by units; never of a count."`
}

// taskKinds are the collections of work by the kinds of the verb, with the zone that each
// begins in and what is said next.
var taskKinds = map[string]struct{ resource, zone, verb, label string }{
	"pick":      {"pick_lists", "", "claim_pick_list", "Take a list"},
	"put_away":  {"putaway_tasks", "from_zone_id", "put_away", "Put it away"},
	"replenish": {"replenish_tasks", "from_zone_id", "replenish", "Bring the goods"},
	"count":     {"count_tasks", "zone_id", "enter_count", "Enter what was found"},
}

// mostTries is how often work that somebody else took meanwhile is passed over.
const mostTries = 8

func (w Watch) findNextTask(c *verb.Call, in *NextTaskIn) (*NextTaskOut, error) {
	if err := checkWhere(c, in.AtZoneID); err != nil {
		return nil, err
	}
	if c.WorkerID == "" {
		return nothingToDo("There is nothing for you: your account is linked to no worker."), nil
	}
	asker := worklist.Asker{At: in.AtZoneID, Resource: taskKinds[in.Kind].resource}
	for range mostTries {
		task, err := worklist.FindNext(c.Tx, asker)
		if err != nil {
			return nil, err
		}
		if task == nil {
			return nothingToDo("There is nothing to do: no work waits that is yours or nobody's, at your site."), nil
		}
		if in.Claim {
			taken, err := claimTask(c, task)
			if err != nil {
				return nil, err
			}
			if !taken {
				continue
			}
		}
		return showTask(c, task)
	}
	return nil, fault.New(fault.Conflict, CodeOrder, "others take the work at the same moment").
		With("", "ask again")
}

// nothingToDo is the answer where no work is found.
func nothingToDo(why string) *NextTaskOut { return &NextTaskOut{Why: why, Handling: []handling.Load{}} }

// checkWhere refuses a place at another site than the caller's.
func checkWhere(c *verb.Call, zone string) error {
	place, err := readRecord[record.Zone](c, "at_zone_id", zone)
	if err != nil || place == nil || c.WorkerID == "" {
		return err
	}
	workers, err := record.List[record.Worker](c.Tx, "id = $2", c.WorkerID)
	if err != nil || len(workers) == 0 {
		return err
	}
	if sites.Differ(workers[0].SiteID(), place.SiteID()) {
		return fault.New(fault.Conflict, sites.CodeElsewhere, "zone %s lies at another site than yours",
			place.Code()).With("", "name a zone of your site, or none").At("at_zone_id", "lies at another site")
	}
	return nil
}

// claimTask makes work the caller's; false when somebody else has taken or done it
// meanwhile.
func claimTask(c *verb.Call, task *worklist.Task) (bool, error) {
	rows, err := c.Lock(task.Resource, "task", task.ID)
	if err != nil {
		return false, err
	}
	row := rows[0]
	isOpen := slices.Contains([]string{"released", "open", "in_progress", "counting"}, row.Text("status"))
	worker := row.Text("assigned_worker_id")
	if !isOpen || worker != "" && worker != c.WorkerID {
		return false, nil
	}
	task.IsMine = true
	if worker != "" {
		return true, nil
	}
	return true, c.Tx.UpdateRows(task.Resource, []string{task.ID}, store.Row{"assigned_worker_id": c.WorkerID})
}

// showTask answers with a piece of work.
func showTask(c *verb.Call, task *worklist.Task) (*NextTaskOut, error) {
	rec, err := c.Again(task.Resource, task.ID)
	if err != nil {
		return nil, err
	}
	out := &NextTaskOut{Task: &rec, Mine: task.IsMine, Priority: task.Priority, Since: query.FormatTime(task.Since)}
	if !task.PromisedAt.IsZero() {
		out.PromisedAt = query.FormatTime(task.PromisedAt)
	}
	if task.IsPlaced {
		out.Distance = &task.Distance
	}
	for kind, of := range taskKinds {
		if of.resource == task.Resource {
			out.Kind = kind
			out.Then(of.verb, of.label)
		}
	}
	zone, lines, err := firstZone(c, out.Kind, rec.Row())
	if err != nil {
		return nil, err
	}
	if zone != nil {
		place := record.Show(c, zone)
		out.Zone = &place
	}
	out.Why = sayWhy(task, zone)
	out.Handling, err = handling.ListWork(c.Tx, out.Kind, rec.Row(), lines)
	return out, err
}

// firstZone reads the zone that a piece of work begins in, that of the first line of a list,
// and the open lines of a list.
func firstZone(c *verb.Call, kind string, task store.Row) (zone record.Zone, lines []record.PickLine, err error) {
	id := task.Text(taskKinds[kind].zone)
	if kind == "pick" {
		lines, err = record.List[record.PickLine](c.Tx, "pick_list_id = $2 AND status = 'pending' ORDER BY seq",
			task["id"])
		if err != nil || len(lines) == 0 {
			return nil, nil, err
		}
		id = lines[0].ZoneID()
	}
	zone, err = readRecord[record.Zone](c, "zone_id", id)
	return zone, lines, err
}

// sayWhy says in a sentence why a piece of work comes first.
func sayWhy(task *worklist.Task, zone record.Zone) string {
	first := "Nobody has it, and nothing that waits is more urgent"
	if task.IsMine {
		first = "It is yours"
	}
	why := []string{first, fmt.Sprintf("priority %d", task.Priority)}
	if !task.PromisedAt.IsZero() {
		why = append(why, "promised for "+task.PromisedAt.UTC().Format(time.RFC3339))
	}
	if task.IsPlaced {
		why = append(why, task.Distance.String()+" m from where you are")
	}
	if zone != nil {
		why = append(why, "it begins at "+zone.Code())
	}
	why = append(why, "it waits since "+task.Since.UTC().Format(time.RFC3339))
	return strings.Join(why, "; ") + "."
}
