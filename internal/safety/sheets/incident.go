package sheets

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/localtime"
	"holdfast/internal/pdf"
	"holdfast/internal/query"
	"holdfast/internal/safety/evidence"
)

// incident is what a sheet of an incident is made of.
type incident struct {
	*reading
	row      incidentRow
	happened []evidence.Entry
	actions  []actionRow
	files    []fileRow
	pictures []photoRow
}

// PrintIncident is the sheet of an incident: what happened, to whom, why, what is done about
// it, pictures, files and what was said since. One that the caller may not read is
// fault.NotFound.
func (p *Printer) PrintIncident(ctx context.Context, a actor.Actor, w Wish) (*Document, string, error) {
	happened, err := p.said.Timeline(ctx, a, p.said.RecordOf("incidents", w.ID))
	if err != nil {
		return nil, "", err
	}
	x := &incident{happened: happened}
	err = p.readIn(ctx, a, w, func(k *reading) error {
		x.reading = k
		return x.readAll(w.ID)
	})
	if err != nil {
		return nil, "", err
	}
	d := x.composeDocument()
	shown, err := p.developAll(ctx, x.words, x.pictures)
	if err != nil {
		return nil, "", err
	}
	d.addHeaded(x.words.sayText("Photos"), shown)
	d.addHeaded(x.words.sayText("Files"), x.listFiles(x.files))
	d.addHeaded(x.words.sayText("Timeline"), x.tellTimeline(x.happened), x.saidLimit(x.happened))
	return d, d.FileName("incident", x.row.No), nil
}

// readAll reads the incident and what belongs to it.
func (x *incident) readAll(id string) (err error) {
	if x.row, err = readOne[incidentRow](x.reading, "incidents", id); err != nil {
		return err
	}
	const of = "incident_id IN {ids $2}"
	ids := query.List([]string{id})
	if x.actions, err = readVisible[actionRow](x.reading, "actions", of, "id", ids); err != nil {
		return err
	}
	slices.SortStableFunc(x.actions, func(a, b actionRow) int { return a.rankLevel() - b.rankLevel() })
	if x.files, err = readVisible[fileRow](x.reading, "files", of, "id", ids); err != nil {
		return err
	}
	if x.pictures, err = x.readPhotos("incident_photos", of, ids); err != nil {
		return err
	}
	if err := x.readPlace(x.row.Site, x.row.Zone); err != nil {
		return err
	}
	if x.row.OccurredZone != "" {
		x.zone = localtime.Zone(x.row.OccurredZone)
	}
	return x.readNames()
}

// hierarchy are the measures from what removes a hazard to what only shields a person
// (ISO 45001, 8.1.2).
var hierarchy = []string{"eliminate", "substitute", "engineer", "administrate", "ppe"}

// ControlLevels are the levels of control, the strongest first.
func ControlLevels() []string { return slices.Clone(hierarchy) }

// rankLevel is the place of an action in the hierarchy; one without a level is last.
func (a actionRow) rankLevel() int {
	if i := slices.Index(hierarchy, a.Level); i >= 0 {
		return i
	}
	return len(hierarchy)
}

// readPlace reads the site and the place of a record: by their clocks moments are told,
// and on their country's paper.
func (k *reading) readPlace(site, zone string) error {
	zones, err := k.nameRecords("zones", []string{zone})
	if err != nil {
		return err
	}
	ids := []string{site}
	for _, z := range zones {
		if site == "" {
			ids = append(ids, z.Site)
		}
	}
	sites, err := k.nameRecords("sites", ids)
	for _, s := range sites {
		if s.Country != "" {
			k.size = pdf.SizeIn(s.Country)
		}
		if s.Timezone != "" {
			k.zone = localtime.Zone(s.Timezone)
		}
	}
	return err
}

// entityCollections are where what an incident concerns is kept, by its kind.
var entityCollections = map[string]string{
	"zone": "zones", "worker": "workers", "equipment": "equipment", "driver": "drivers",
}

// readNames reads what the records and accounts are called that the sheet names.
func (x *incident) readNames() error {
	byType := map[string][]string{}
	for _, c := range x.row.Involved {
		byType[c.Type] = append(byType[c.Type], c.ID)
	}
	for kind, resource := range entityCollections {
		if err := x.nameEntities(resource, byType[kind]); err != nil {
			return err
		}
	}
	if _, err := x.nameRecords("incidents", []string{x.row.DuplicateOf}); err != nil {
		return err
	}
	people := []string{x.row.ReportedBy, x.row.CreatedBy, x.row.Lead}
	for _, a := range x.actions {
		people = append(people, a.Assignee)
	}
	if err := x.namePeople(append(people, x.peopleIn("incidents", x.happened)...)); err != nil {
		return err
	}
	return x.nameChanged("incidents", x.happened)
}

// nameEntities learns what those are called that had a part; drivers by the workers they are.
func (k *reading) nameEntities(resource string, ids []string) error {
	rows, err := k.nameRecords(resource, ids)
	if err != nil {
		return err
	}
	if err := k.nameWorkers(rows); err != nil {
		return err
	}
	for _, x := range rows {
		if name := k.named[x.Worker]; name != "" {
			k.named[x.ID] = name
		}
	}
	return nil
}

func (x *incident) composeDocument() *Document {
	w := x.words
	d := &Document{words: w, size: x.size, owner: x.owner, id: x.row.ID, about: x.row.Title,
		title: w.translateWord("incident") + " " + x.row.No}
	d.addParts(x.tellFacts())
	d.addHeaded(w.sayText("What happened"),
		passage{text: x.row.Description},
		passage{w.sayText("What was done at once"), x.row.ImmediateAction},
		passage{w.sayText("What was learned"), x.row.Lessons})
	d.addHeaded(w.sayText("People and things involved"), x.tellInvolved())
	if x.isVisible("incidents", "root_causes") {
		d.addHeaded(w.sayText("Causes"), x.tellCauses())
	}
	d.addHeaded(w.sayText("Actions"), x.tellActions())
	return d
}

// tellFacts tells an incident in the order in which people ask.
func (x *incident) tellFacts() facts {
	w, r := x.words, &x.row
	return facts{
		{w.sayText("State"), w.translateWord(r.Status)},
		{w.sayText("When"), joinSaid(", ", x.formatMoment(r.OccurredAt), x.zone.String())},
		{w.sayText("Reported at"), x.formatMoment(r.ReportedAt)},
		{w.sayText("Known at"), x.formatMoment(r.KnownAt)},
		{w.sayText("Where"), joinSaid(", ", x.named[r.Site], x.named[r.Zone])},
		{w.sayText("Kind"), w.translateWord(r.Kind)},
		{w.sayText("Severity"), w.translateWord(r.Severity)},
		{w.sayText("Could have been"), w.translateWord(r.PotentialSeverity)},
		{w.sayText("Categories"), x.wordsOf(r.Categories)},
		{w.sayText("Likelihood"), x.tellScale(r.Likelihood, 5)},
		{w.sayText("Risk"), x.tellScale(r.Risk, 20)},
		{w.sayText("Journey"), w.translateWord(r.Journey)},
		{w.sayText("Leads the investigation"), x.personOf(r.Lead)},
		{w.sayText("Due on"), x.formatDay(r.DueOn)},
		{w.sayText("Investigated at"), x.formatMoment(r.InvestigatedAt)},
		{w.sayText("Closed at"), x.formatMoment(r.ClosedAt)},
		{w.sayText("Duplicate of"), x.named[r.DuplicateOf]},
		{w.sayText("Void reason"), r.VoidReason},
		{w.sayText("Reopen reason"), r.ReopenReason},
		{w.sayText("External ref"), r.ExternalRef},
	}
}

func (k *reading) wordsOf(values []string) string {
	said := make([]string, len(values))
	for i, v := range values {
		said[i] = k.words.translateWord(v)
	}
	return joinSaid(", ", said...)
}

// tellScale tells a number of a scale from 1; "" where there is none.
func (k *reading) tellScale(n *int, most int) string {
	if n == nil {
		return ""
	}
	return k.words.sayText("{n} of {m}", "n", *n, "m", most)
}

// tellInvolved names who reported and who had a part, as far as the caller sees them.
func (x *incident) tellInvolved() facts {
	w, r := x.words, &x.row
	var list facts
	if x.isVisible("incidents", "reported_by") {
		list = append(list, fact{w.sayText("Reported by"), x.tellReporter(r)})
	}
	if !x.isVisible("incidents", "entities") {
		return append(list, fact{w.sayText("Involved"),
			w.sayText("Who was involved is shown to officers and managers alone.")})
	}
	for _, c := range x.row.Involved {
		name := w.translateWord(c.Role)
		if name == "" {
			name = w.translateWord(c.Type)
		}
		called := x.named[c.ID]
		if called == "" {
			called = w.translateWord(c.Type)
		}
		list = append(list, fact{name, called})
	}
	if len(x.row.Involved) == 0 {
		list = append(list, fact{w.sayText("Involved"), w.sayText("Nobody is named as injured, involved or witness.")})
	}
	return list
}

func (x *incident) tellReporter(r *incidentRow) string {
	switch {
	case r.Anonymous:
		return x.words.sayText("Nobody by name: it was reported anonymously")
	case r.ReporterName != "":
		return r.ReporterName
	case r.ReportedBy != "":
		return x.personOf(r.ReportedBy)
	}
	return x.words.sayText("Not said")
}

// tellCauses tells each cause with the chain of whys that leads to it.
func (x *incident) tellCauses() part {
	if len(x.row.Causes) == 0 {
		return passage{text: x.words.sayText("Nobody has said yet why it happened.")}
	}
	var list entries
	for _, c := range x.row.Causes {
		e := entry{said: joinSaid(" · ", c.Text, x.words.translateWord(c.Layer))}
		for i, why := range c.Whys {
			e.small = append(e.small, fmt.Sprintf("%d. %s", i+1, why))
		}
		list = append(list, e)
	}
	return list
}

// tellActions tells what is done about it, the strongest measure first.
func (x *incident) tellActions() part {
	w := x.words
	if len(x.actions) > 0 {
		return x.gridOfActions(x.actions)
	}
	if !x.readsAll("actions") {
		return passage{text: w.sayText("Actions of others are not shown to this reader.")}
	}
	return passage{text: w.sayText("Nothing is done about it yet.")}
}

// gridOfActions is a table of actions.
func (k *reading) gridOfActions(actions []actionRow) grid {
	w := k.words
	return grid{
		titles: []string{w.sayText("Action"), w.sayText("Control level"), w.sayText("State"), w.sayText("Responsible"),
			w.sayText("Due on")},
		shares: []float64{8, 4, 3, 4, 3},
		rows:   k.rowsOfActions(actions),
	}
}

// rowsOfActions tells actions in the columns of a table: what, level, state, who, when.
func (k *reading) rowsOfActions(actions []actionRow) [][]string {
	w := k.words
	rows := make([][]string, len(actions))
	for i, a := range actions {
		level, owner, due := w.sayText("No level of control"), w.sayText("nobody yet"), w.sayText("No due day")
		if x := a.Level; x != "" {
			level = w.translateWord(x)
		}
		if x := a.Assignee; x != "" {
			owner = k.personOf(x)
		}
		if x := k.formatDay(a.DueOn); x != "" {
			due = x
		} else if x := k.formatMoment(a.DueAt); x != "" {
			due = x
		}
		rows[i] = []string{joinSaid("\n", a.Title, a.No), level, w.translateWord(a.Status), owner, due}
	}
	return rows
}

// listFiles names the files of a record: they are read beside it.
func (k *reading) listFiles(files []fileRow) entries {
	var list entries
	for _, f := range files {
		list = append(list, entry{at: k.formatMoment(f.CreatedAt), said: f.Name, text: f.Note,
			small: []string{"SHA-256 " + f.SHA256}})
	}
	return list
}
