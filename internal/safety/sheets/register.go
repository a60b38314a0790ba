package sheets

import (
	"context"
	"fmt"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/register"
)

// versionRow is a version of the risk register. Its content is not masked with the row: the
// register is there for everybody (Code du travail R4121-4), and names nobody.
type versionRow struct {
	ID        string           `json:"id"`
	Hash      string           `json:"sha256"`
	KeepUntil string           `json:"keep_until"`
	SentOn    string           `json:"sent_on"`
	Consulted string           `json:"consulted_on"`
	Content   register.Content `json:"content"`
}

// registerSheet is what the sheet of a version is made of.
type registerSheet struct {
	*reading
	row versionRow
}

// PrintRegister is a version of the risk register as it was published: its work units with
// their risks, before and after the measures. A version that the caller may not read is
// fault.NotFound. Who is responsible is told to those who see that of the risks.
func (p *Printer) PrintRegister(ctx context.Context, a actor.Actor, w Wish) (*Document, string, error) {
	x := &registerSheet{}
	err := p.readIn(ctx, a, w, func(k *reading) error {
		x.reading = k
		return x.readVersion(w.ID)
	})
	if err != nil {
		return nil, "", err
	}
	code := "all"
	if at := x.row.Content.Site; at != nil {
		code = at.Code
	}
	name := (&Document{}).FileName("risk-register", fmt.Sprintf("%s-%d", code, x.row.Content.Number))
	return x.composeDocument(), name, nil
}

func (x *registerSheet) readVersion(id string) error {
	rows, err := x.readPermitted(register.Versions, "id IN {ids $2}", "id", query.List([]string{id}))
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fault.New(fault.NotFound, "PGRST116", "there is no such record")
	}
	versions, err := safety.DecodeRows[versionRow](rows)
	if err != nil {
		return err
	}
	x.row = versions[0]
	people := []string{x.row.Content.MadeBy}
	for _, u := range x.row.Content.Units {
		for _, e := range u.Entries {
			people = append(people, e.Owner)
		}
	}
	return x.namePeople(people)
}

func (x *registerSheet) composeDocument() *Document {
	w, c := x.words, &x.row.Content
	about := w.sayText("The whole organisation")
	if c.Site != nil {
		about = joinSaid(" · ", c.Site.Code, c.Site.Name)
	}
	d := &Document{words: w, size: x.size, owner: x.owner, id: x.row.ID, about: about,
		title: joinSaid(" · ", w.sayText("Risk register"), w.sayText("Version {n}", "n", c.Number))}
	d.addParts(x.tellVersion(), x.countPriorities())
	d.addHeaded(w.sayText("Gaps"), x.listGaps())
	for i := range c.Units {
		u := &c.Units[i]
		d.addParts(heading{joinSaid(" · ", u.Code, u.Name), 3 * lineHigh}, x.tellUnit(u), x.listRisks(u.Entries))
	}
	return d
}

// tellVersion tells when and why the version was made, and until when it is kept.
func (x *registerSheet) tellVersion() facts {
	w, c := x.words, &x.row.Content
	madeBy := ""
	if x.isVisible(register.Versions, "made_by") {
		madeBy = x.personOf(c.MadeBy)
	}
	return facts{
		{w.sayText("Made at"), joinSaid(", ", x.formatMoment(c.MadeAt), x.zone.String())},
		{w.sayText("Made by"), madeBy},
		{w.sayText("Reason"), w.translateWord(c.Reason)},
		{w.sayText("Note"), c.Note},
		{w.sayText("Scale"), w.translateWord(c.Scale)},
		{w.sayText("Keep until"), x.formatDay(x.row.KeepUntil)},
		{w.sayText("Sent on"), x.formatDay(x.row.SentOn)},
		{w.sayText("Consulted on"), x.formatDay(x.row.Consulted)},
		{w.sayText("Content") + " (SHA-256)", x.row.Hash},
	}
}

// countPriorities is a table of the work units: people exposed, and risks by priority.
func (x *registerSheet) countPriorities() grid {
	w := x.words
	g := grid{shares: []float64{7, 3, 2.5, 2.5, 2.5, 2.5, 3}, titles: []string{w.sayText("Work unit"),
		w.sayText("People exposed"), w.translateWord("critical"), w.translateWord("high"), w.translateWord("medium"),
		w.translateWord("low"), w.sayText("not rated")}}
	for _, u := range x.row.Content.Units {
		counts := map[string]int{}
		for _, e := range u.Entries {
			counts[e.Priority]++
		}
		exposed := ""
		if u.Headcount != nil {
			exposed = fmt.Sprint(*u.Headcount)
		}
		row := []string{joinSaid("\n", u.Name, u.Code), exposed}
		for _, priority := range [...]string{"critical", "high", "medium", "low", ""} {
			row = append(row, fmt.Sprint(counts[priority]))
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// listGaps lists the risks that were not complete, and the units without a site.
func (x *registerSheet) listGaps() entries {
	w := x.words
	var list entries
	for _, gap := range x.row.Content.Gaps {
		rating, owner, site := "", "", ""
		if gap.Rating {
			rating = w.sayText("not rated")
		}
		if gap.Owner {
			owner = joinSaid(": ", w.sayText("Responsible"), w.sayText("nobody yet"))
		}
		if gap.Left {
			owner = w.sayText("the responsible person has left")
		}
		if gap.Site {
			site = w.sayText("the unit is at no site")
		}
		list = append(list, entry{said: joinSaid(" · ", gap.No, gap.Unit), text: joinSaid(", ", rating, owner, site)})
	}
	return list
}

func (x *registerSheet) tellUnit(u *register.Unit) facts {
	w := x.words
	site, exposed := "", ""
	if u.Site != nil && x.row.Content.Site == nil {
		site = joinSaid(" · ", u.Site.Code, u.Site.Name)
	}
	if u.Headcount != nil {
		exposed = fmt.Sprint(*u.Headcount)
	}
	zones := make([]string, len(u.Zones))
	for i, z := range u.Zones {
		zones[i] = joinSaid(" ", z.Code, z.Name)
	}
	return facts{{w.sayText("Site"), site}, {w.sayText("People exposed"), exposed},
		{w.sayText("Activities"), strings.Join(u.Activities, ", ")}, {w.sayText("Zones"), strings.Join(zones, ", ")},
		{w.sayText("Equipment kinds"), strings.Join(u.Equipment, ", ")}}
}

// listRisks tells the risks of a unit, those that matter most first.
func (x *registerSheet) listRisks(risks []register.Entry) entries {
	w := x.words
	list := make(entries, len(risks))
	for i := range risks {
		e := &risks[i]
		priority := w.sayText("not rated")
		if e.Priority != "" {
			priority = joinSaid(": ", w.sayText("Priority"), w.translateWord(e.Priority))
		}
		list[i] = entry{said: joinSaid(" · ", e.No, w.translateWord(e.Family), e.Activity, priority), text: e.Situation,
			small: x.tellRisk(e)}
	}
	return list
}

// tellRisk tells the rating of a risk before and after its measure, and who looks after it.
func (x *registerSheet) tellRisk(e *register.Entry) (lines []string) {
	w := x.words
	addTold := func(label, said string) {
		if said != "" {
			lines = append(lines, label+": "+said)
		}
	}
	addTold(w.sayText("Possible harm"), e.Harm)
	if e.BySex {
		addTold(w.sayText("Differs by sex"), w.sayText("Yes"))
	}
	addTold(w.sayText("Existing measures"), e.Existing)
	addTold(w.sayText("Before"), x.tellRating(e.SeverityBefore, e.LikelihoodBefore, e.RatingBefore))
	addTold(w.sayText("Measure"), joinSaid(" · ", e.Measure, w.translateWord(e.Level)))
	addTold(w.sayText("Measure due on"), x.formatDay(e.DueOn))
	addTold(w.sayText("Measure done on"), x.formatDay(e.DoneOn))
	addTold(w.sayText("After"), x.tellRating(e.SeverityAfter, e.LikelihoodAfter, e.RatingAfter))
	addTold(w.sayText("Effect checked on"), joinSaid(" · ", x.formatDay(e.CheckedOn), x.tellEffect(e.Effective)))
	if x.isVisible(register.Entries, "owner_user_id") {
		addTold(w.sayText("Responsible"), x.personOf(e.Owner))
	}
	addTold(w.sayText("Review on"), x.formatDay(e.ReviewOn))
	return lines
}

// tellRating tells a rating with what it is made of; "" where it is not rated.
func (x *registerSheet) tellRating(severity string, likelihood, rating *int64) string {
	if rating == nil || likelihood == nil {
		return ""
	}
	return fmt.Sprintf("%s × %d = %d", x.words.translateWord(severity), *likelihood, *rating)
}

func (x *registerSheet) tellEffect(isEffective *bool) string {
	if isEffective == nil {
		return ""
	}
	if *isEffective {
		return x.words.sayText("Effective")
	}
	return x.words.sayText("Not effective")
}
