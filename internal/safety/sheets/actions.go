package sheets

import (
	"context"
	"fmt"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
)

// MostActions is the most actions of one list.
const MostActions = 500

// daysShown is for how many days a list has what is over, as the board has it.
const daysShown = 30

// Narrowed is what a list of actions is narrowed by; what is empty narrows nothing. None
// stands for actions that have no level, or nobody.
type Narrowed struct {
	Mine   bool   `json:"mine,omitempty"`   // the caller does or verifies it
	Late   bool   `json:"late,omitempty"`   // it is overdue
	Site   string `json:"site,omitempty"`   // of the incident that it came of
	Level  string `json:"level,omitempty"`  // of control
	Person string `json:"person,omitempty"` // who does it
}

// None asks for what has no level, or nobody.
const None = "none"

// chosen is a condition in SQL with its values, the first of them $2.
type chosen struct {
	terms []string
	args  []any
}

// addTerm adds a condition on a value, which stands in it as %d.
func (c *chosen) addTerm(sql string, value any) {
	c.args = append(c.args, value)
	c.terms = append(c.terms, fmt.Sprintf(sql, len(c.args)+1))
}

// PrintActions is the list of actions that the caller may read: those to be done or verified,
// and what was over in the last 30 days; what waits longest first. More than MostActions
// are refused with fault.TooLarge.
func (p *Printer) PrintActions(ctx context.Context, a actor.Actor, w Wish, by Narrowed) (*Document, string, error) {
	var d *Document
	err := p.readIn(ctx, a, w, func(k *reading) error {
		c := k.chooseActions(by)
		rows, err := readVisible[actionRow](k, "actions", strings.Join(c.terms, " AND "),
			fmt.Sprintf("due_at IS NULL, due_at, id LIMIT %d", MostActions+1), c.args...)
		if err != nil {
			return err
		}
		if len(rows) > MostActions {
			return fault.New(fault.TooLarge, "54000", "more than %d actions are too many for a list: narrow them",
				MostActions)
		}
		people := []string{by.Person}
		for _, x := range rows {
			people = append(people, x.Assignee)
		}
		if by.Person == None {
			people = people[1:]
		}
		if err := k.namePeople(people); err != nil {
			return err
		}
		if _, err := k.nameRecords("sites", []string{by.Site}); err != nil {
			return err
		}
		d = k.listActions(rows, by)
		return nil
	})
	return d, "actions.pdf", err
}

// chooseActions says which actions a list has.
func (k *reading) chooseActions(by Narrowed) *chosen {
	now := k.p.Now()
	c := &chosen{}
	c.addTerm("(status IN ('open', 'in_progress', 'done') OR updated_at >= $%d)",
		query.FormatTime(now.AddDate(0, 0, -daysShown)))
	if by.Mine {
		c.addTerm("(assignee_user_id = $%[1]d OR verifier_user_id = $%[1]d)", k.a.UserID)
	}
	if by.Late {
		c.addTerm("status IN ('open', 'in_progress') AND due_at < $%d", query.FormatTime(now))
	}
	if by.Site != "" {
		k.chooseSite(c, by.Site)
	}
	k.chooseValue(c, "control_level", by.Level)
	k.chooseValue(c, "assignee_user_id", by.Person)
	return c
}

func (k *reading) chooseValue(c *chosen, column, value string) {
	switch value {
	case "":
	case None:
		c.terms = append(c.terms, column+" IS NULL")
	default:
		c.addTerm(column+" = $%d", value)
	}
}

// chooseSite leaves actions of incidents at a site, of those incidents that the caller reads.
func (k *reading) chooseSite(c *chosen, site string) {
	r, _ := k.p.store.Catalog().Get("incidents")
	policy, ok := query.ReadPolicy(k.a, r)
	if !ok {
		c.terms = append(c.terms, "1 = 0")
		return
	}
	args := append([]any{k.a.TenantID}, append(c.args, site)...)
	at := len(args)
	where := policy.Where(k.tx.DB(), "incident", &args)
	c.args = args[1:]
	c.terms = append(c.terms, fmt.Sprintf(`
		incident_id IN (
			SELECT incident.id
			FROM incidents incident
			WHERE incident.tenant_id = $1
				AND incident.site_id = $%d
				AND %s)`, at, where))
}

// listActions is the list, under what it is narrowed by.
func (k *reading) listActions(rows []actionRow, by Narrowed) *Document {
	w := k.words
	d := &Document{words: w, size: k.size, owner: k.owner, title: w.sayText("Actions")}
	person, level, whose, late := by.Person, w.translateWord(by.Level), "", ""
	if person == None {
		person = w.sayText("nobody yet")
	} else {
		person = k.personOf(person)
	}
	if by.Level == None {
		level = w.sayText("No level of control")
	}
	if by.Mine {
		whose = w.sayText("Mine")
	}
	if by.Late {
		late = w.sayText("Yes")
	}
	d.addParts(facts{{w.sayText("As of"), joinSaid(", ", k.formatDay(localtime.DateOf(k.p.Now(), k.zone).String()),
		k.zone.String())},
		{w.sayText("Number"), fmt.Sprint(len(rows))}, {w.sayText("Whose"), whose}, {w.sayText("Overdue"), late},
		{w.sayText("Site"), k.named[by.Site]}, {w.sayText("Control level"), level}, {w.sayText("Responsible"), person}})
	if len(rows) == 0 {
		d.addParts(passage{text: w.sayText("No action is like that.")})
		return d
	}
	d.addParts(k.gridOfActions(rows))
	return d
}
