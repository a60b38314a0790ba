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
	"holdfast/internal/store"
)

// incident is what a sheet of an incident is made of.
type incident struct {
	*reading
	row      store.Row
	happened []evidence.Entry
	actions  []store.Row
	files    []store.Row
	pictures []store.Row // whole, for their bytes
	involved []concern
	causes   []cause
}

// concern is somebody or something that had a part in an incident.
type concern struct {
	Type string `json:"entity_type"`
	ID   string `json:"entity_id"`
	Role string `json:"role"`
}

// cause is one answer to why it happened, with those that led to it.
type cause struct {
	Layer string   `json:"layer"`
	Text  string   `json:"text"`
	Whys  []string `json:"whys"`
}

// Incident is the sheet of an incident: what happened, to whom, why, what is done about
// it, pictures, files and what was said since. One that the caller may not read is
// fault.NotFound.
func (p *Printer) Incident(ctx context.Context, a actor.Actor, w Wish) (*Document, string, error) {
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
	d := x.document()
	shown, err := p.developAll(ctx, x.words, x.pictures)
	if err != nil {
		return nil, "", err
	}
	d.addHeaded(x.words.say("Photos"), shown)
	d.addHeaded(x.words.say("Files"), x.listFiles())
	d.addHeaded(x.words.say("Timeline"), x.tellTimeline(x.happened), x.saidLimit(x.happened))
	return d, d.FileName("incident", x.row.Text("incident_no")), nil
}

// readAll reads the incident and what belongs to it.
func (x *incident) readAll(id string) (err error) {
	if x.row, err = x.readOne("incidents", id); err != nil {
		return err
	}
	x.involved, x.causes = decodeField[[]concern](x.row, "entities"), decodeField[[]cause](x.row, "root_causes")
	of := query.List([]string{id})
	if x.actions, err = x.readVisible("actions", "incident_id IN {ids $2}", "id", of); err != nil {
		return err
	}
	slices.SortStableFunc(x.actions, func(a, b store.Row) int { return rankOf(a) - rankOf(b) })
	if x.files, err = x.readVisible("files", "incident_id IN {ids $2}", "id", of); err != nil {
		return err
	}
	if x.pictures, err = x.readPermitted("incident_photos", "incident_id IN {ids $2}", "id", of); err != nil {
		return err
	}
	if err := x.readPlace(x.row); err != nil {
		return err
	}
	return x.readNames()
}

// hierarchy are the measures from what removes a hazard to what only shields a person
// (ISO 45001, 8.1.2).
var hierarchy = []string{"eliminate", "substitute", "engineer", "administrate", "ppe"}

// rankOf is the place of an action in the hierarchy; one without a level is last.
func rankOf(action store.Row) int {
	if i := slices.Index(hierarchy, action.Text("control_level")); i >= 0 {
		return i
	}
	return len(hierarchy)
}

// readPlace reads the site and the place of a record: by their clocks moments are told,
// and on their country's paper.
func (k *reading) readPlace(row store.Row) error {
	zones, err := k.nameRecords("zones", []string{row.Text("zone_id")}, "name", "code")
	if err != nil {
		return err
	}
	sites := append([]string{row.Text("site_id")}, store.TextColumn(zones, "site_id")...)
	found, err := k.nameRecords("sites", sites, "name", "code")
	if err != nil {
		return err
	}
	for _, site := range found {
		if id := row.Text("site_id"); id != "" && id != site.Text("id") {
			continue
		}
		if country := site.Text("country"); country != "" {
			k.size = pdf.SizeIn(country)
		}
		if name := site.Text("timezone"); name != "" {
			k.zone = localtime.Zone(name)
		}
	}
	if name := row.Text("occurred_tz"); name != "" {
		k.zone = localtime.Zone(name)
	}
	return nil
}

// entityCollections are where what an incident concerns is kept, by its kind, with the
// field that names it.
var entityCollections = map[string][2]string{
	"zone": {"zones", "name"}, "worker": {"workers", "name"}, "equipment": {"equipment", "name"},
}

// readNames reads what the records and accounts are called that the sheet names.
func (x *incident) readNames() error {
	byType := map[string][]string{}
	for _, c := range x.involved {
		byType[c.Type] = append(byType[c.Type], c.ID)
	}
	for kind, of := range entityCollections {
		if _, err := x.nameRecords(of[0], byType[kind], of[1], "code"); err != nil {
			return err
		}
	}
	if err := x.nameDrivers(byType["driver"]); err != nil {
		return err
	}
	if _, err := x.nameRecords("incidents", []string{x.row.Text("duplicate_of")}, "incident_no"); err != nil {
		return err
	}
	people := []string{x.row.Text("reported_by"), x.row.Text("created_by"), x.row.Text("lead_user_id")}
	people = append(people, store.TextColumn(x.actions, "assignee_user_id")...)
	people = append(people, x.peopleIn("incidents", x.happened)...)
	if err := x.namePeople(people); err != nil {
		return err
	}
	return x.nameChanged("incidents", x.happened)
}

// nameDrivers learns what drivers are called: as the workers they are.
func (k *reading) nameDrivers(ids []string) error {
	drivers, err := k.nameRecords("drivers", ids, "driver_no")
	if err != nil {
		return err
	}
	if _, err := k.nameRecords("workers", store.TextColumn(drivers, "worker_id"), "name"); err != nil {
		return err
	}
	for _, d := range drivers {
		if name := k.named[d.Text("worker_id")]; name != "" {
			k.named[d.Text("id")] = name
		}
	}
	return nil
}

func (x *incident) document() *Document {
	w := x.words
	d := &Document{words: w, size: x.size, owner: x.owner, id: x.row.Text("id"), about: x.row.Text("title"),
		title: w.word("incident") + " " + x.row.Text("incident_no")}
	d.add(x.tellFacts())
	d.addHeaded(w.say("What happened"),
		passage{text: x.row.Text("description")},
		passage{w.say("What was done at once"), x.row.Text("immediate_action")},
		passage{w.say("What was learned"), x.row.Text("lessons")})
	d.addHeaded(w.say("People and things involved"), x.tellInvolved())
	if x.isVisible("incidents", "root_causes") {
		d.addHeaded(w.say("Causes"), x.tellCauses())
	}
	d.addHeaded(w.say("Actions"), x.tellActions())
	return d
}

// tellFacts tells an incident in the order in which people ask.
func (x *incident) tellFacts() facts {
	w, r := x.words, x.row
	return facts{
		{w.say("State"), w.word(r.Text("status"))},
		{w.say("When"), joinSaid(", ", x.moment(r.Text("occurred_at")), x.zone.String())},
		{w.say("Reported at"), x.moment(r.Text("reported_at"))},
		{w.say("Known at"), x.moment(r.Text("known_at"))},
		{w.say("Where"), joinSaid(", ", x.named[r.Text("site_id")], x.named[r.Text("zone_id")])},
		{w.say("Kind"), w.word(r.Text("kind"))},
		{w.say("Severity"), w.word(r.Text("severity"))},
		{w.say("Could have been"), w.word(r.Text("potential_severity"))},
		{w.say("Categories"), x.wordsOf(store.Texts(r["category_tags"]))},
		{w.say("Likelihood"), x.tellScale(r, "likelihood", 5)},
		{w.say("Risk"), x.tellScale(r, "risk_rating", 20)},
		{w.say("Journey"), w.word(r.Text("journey"))},
		{w.say("Leads the investigation"), x.personOf(r.Text("lead_user_id"))},
		{w.say("Due on"), x.day(r.Text("due_on"))},
		{w.say("Investigated at"), x.moment(r.Text("investigated_at"))},
		{w.say("Closed at"), x.moment(r.Text("closed_at"))},
		{w.say("Duplicate of"), x.named[r.Text("duplicate_of")]},
		{w.say("Void reason"), r.Text("void_reason")},
		{w.say("Reopen reason"), r.Text("reopen_reason")},
		{w.say("External ref"), r.Text("external_ref")},
	}
}

func (k *reading) wordsOf(values []string) string {
	said := make([]string, len(values))
	for i, v := range values {
		said[i] = k.words.word(v)
	}
	return joinSaid(", ", said...)
}

// tellScale tells a number of a scale from 1; "" where there is none.
func (k *reading) tellScale(row store.Row, field string, most int) string {
	if row[field] == nil {
		return ""
	}
	return k.words.say("{n} of {m}", "n", row.Integer(field), "m", most)
}

// tellInvolved names who reported and who had a part, as far as the caller sees them.
func (x *incident) tellInvolved() facts {
	w, r := x.words, x.row
	var list facts
	if x.isVisible("incidents", "reported_by") {
		list = append(list, fact{w.say("Reported by"), x.tellReporter(r)})
	}
	if !x.isVisible("incidents", "entities") {
		return append(list, fact{w.say("Involved"), w.say("Who was involved is shown to officers and managers alone.")})
	}
	for _, c := range x.involved {
		name := w.word(c.Role)
		if name == "" {
			name = w.word(c.Type)
		}
		called := x.named[c.ID]
		if called == "" {
			called = w.word(c.Type)
		}
		list = append(list, fact{name, called})
	}
	if len(x.involved) == 0 {
		list = append(list, fact{w.say("Involved"), w.say("Nobody is named as injured, involved or witness.")})
	}
	return list
}

func (x *incident) tellReporter(r store.Row) string {
	switch {
	case r["anonymous"] == true:
		return x.words.say("Nobody by name: it was reported anonymously")
	case r.Text("reporter_name") != "":
		return r.Text("reporter_name")
	case r.Text("reported_by") != "":
		return x.personOf(r.Text("reported_by"))
	}
	return x.words.say("Not said")
}

// tellCauses tells each cause with the chain of whys that leads to it.
func (x *incident) tellCauses() part {
	if len(x.causes) == 0 {
		return passage{text: x.words.say("Nobody has said yet why it happened.")}
	}
	var list entries
	for _, c := range x.causes {
		e := entry{said: joinSaid(" · ", c.Text, x.words.word(c.Layer))}
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
	if len(x.actions) == 0 {
		return passage{text: w.say("Nothing is done about it yet.")}
	}
	return grid{
		titles: []string{w.say("Action"), w.say("Control level"), w.say("State"), w.say("Responsible"), w.say("Due on")},
		shares: []float64{8, 4, 3, 4, 3},
		rows:   x.rowsOfActions(x.actions),
	}
}

// rowsOfActions tells actions in the columns of a table: what, level, state, who, when.
func (k *reading) rowsOfActions(actions []store.Row) [][]string {
	w := k.words
	rows := make([][]string, len(actions))
	for i, a := range actions {
		level, owner, due := w.say("No level of control"), w.say("nobody yet"), w.say("No due day")
		if x := a.Text("control_level"); x != "" {
			level = w.word(x)
		}
		if x := a.Text("assignee_user_id"); x != "" {
			owner = k.personOf(x)
		}
		if x := k.day(a.Text("due_on")); x != "" {
			due = x
		} else if x := k.moment(a.Text("due_at")); x != "" {
			due = x
		}
		rows[i] = []string{joinSaid("\n", a.Text("title"), a.Text("action_no")), level, w.word(a.Text("status")), owner, due}
	}
	return rows
}

// listFiles names the files of a record: they are read beside it.
func (x *incident) listFiles() entries {
	var list entries
	for _, f := range x.files {
		list = append(list, entry{at: x.moment(f.Text("created_at")), said: f.Text("name"), text: f.Text("note"),
			small: []string{"SHA-256 " + f.Text("sha256")}})
	}
	return list
}
