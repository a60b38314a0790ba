package sheets

import (
	"context"
	"encoding/json"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/query"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/safety/evidence"
)

// inspection is what a sheet of an inspection is made of.
type inspection struct {
	*reading
	run      runRow
	template templateRow
	asks     *checklist.Template // nil without questions
	answers  map[string]answerRow
	shown    *checklist.Review
	actions  []actionRow
	files    []fileRow
	photos   []photoRow
	remarks  []evidence.Entry
}

// PrintInspection is the sheet of an inspection: its result, what failed with the actions that
// came of it, and each question with its answer, note and photos. One that the caller may
// not read is fault.NotFound.
func (p *Printer) PrintInspection(ctx context.Context, a actor.Actor, w Wish) (*Document, string, error) {
	happened, err := p.said.Timeline(ctx, a, p.said.RecordOf("checklist_runs", w.ID))
	if err != nil {
		return nil, "", err
	}
	x := &inspection{answers: map[string]answerRow{}}
	for _, e := range happened {
		if e.Kind == "comment" {
			x.remarks = append(x.remarks, e)
		}
	}
	err = p.readIn(ctx, a, w, func(k *reading) error {
		x.reading = k
		return x.readAll(w.ID)
	})
	if err != nil {
		return nil, "", err
	}
	pictures, err := p.developAll(ctx, x.words, x.photos)
	if err != nil {
		return nil, "", err
	}
	d := x.composeDocument(pictures)
	return d, d.FileName("inspection", x.run.Title), nil
}

// readAll reads the inspection and what belongs to it.
func (x *inspection) readAll(id string) (err error) {
	if x.run, err = readOne[runRow](x.reading, "checklist_runs", id); err != nil {
		return err
	}
	if err := x.readTemplate(); err != nil {
		return err
	}
	const of = "run_id IN {ids $2}"
	ids := query.List([]string{id})
	answers, err := readVisible[answerRow](x.reading, "checklist_answers", of, "id", ids)
	if err != nil {
		return err
	}
	sources := []string{id}
	for _, a := range answers {
		x.answers[a.Item] = a
		sources = append(sources, a.ID)
	}
	x.actions, err = readVisible[actionRow](x.reading, "actions", "source_id IN {ids $2}", "id", query.List(sources))
	if err != nil {
		return err
	}
	if x.files, err = readVisible[fileRow](x.reading, "files", of, "id", ids); err != nil {
		return err
	}
	if x.photos, err = x.readPhotos("checklist_photos", of, ids); err != nil {
		return err
	}
	if err := x.readPlace(x.run.Site, x.run.Zone); err != nil {
		return err
	}
	return x.readNames(answers)
}

// readTemplate reads the revision that is asked, and which of its questions the answers
// leave open.
func (x *inspection) readTemplate() (err error) {
	if x.run.Template == "" {
		return nil
	}
	ids := query.List([]string{x.run.Template})
	list, err := readVisible[templateRow](x.reading, "checklist_templates", "id IN {ids $2}", "id", ids)
	if err != nil || len(list) == 0 {
		return err
	}
	x.template = list[0]
	x.asks, err = checklist.Parse(x.template.Sections)
	return err
}

// readNames reads what the records and accounts are called that the sheet names.
func (x *inspection) readNames(answers []answerRow) error {
	for resource, id := range map[string]string{
		"equipment": x.run.Equipment, "vehicles": x.run.Vehicle, "workers": x.run.Worker,
	} {
		if _, err := x.nameRecords(resource, []string{id}); err != nil {
			return err
		}
	}
	people := append(x.peopleIn("checklist_runs", x.remarks), x.run.Assignee, x.run.CompletedBy)
	for _, a := range answers {
		people = append(people, a.By)
	}
	for _, a := range x.actions {
		people = append(people, a.Assignee)
	}
	return x.namePeople(people)
}

func (x *inspection) composeDocument(pictures gallery) *Document {
	w := x.words
	d := &Document{words: w, size: x.size, owner: x.owner, id: x.run.ID, title: w.sayText("Inspection"),
		about: x.run.Title}
	d.addParts(x.tellFacts())
	if len(x.actions) > 0 {
		d.addHeaded(w.sayText("Actions that came of it"), x.gridOfActions(x.actions))
	}
	if x.asks != nil {
		values := map[string]json.RawMessage{}
		for key, a := range x.answers {
			values[key] = a.Value
		}
		x.shown = x.asks.Review(values)
		d.addHeaded(w.sayText("What failed"), x.tellFailed())
		for i := range x.asks.Sections {
			s := &x.asks.Sections[i]
			d.addHeaded(s.Title, x.tellSection(s, pictures)...)
		}
	}
	d.addHeaded(w.sayText("Other photos"), x.restOf(pictures))
	d.addHeaded(w.sayText("Files"), x.listFiles(x.files))
	d.addHeaded(w.sayText("Comments"), x.tellRemarks())
	return d
}

// tellFacts tells what was inspected, when, by whom and with which result.
func (x *inspection) tellFacts() facts {
	w, r := x.words, &x.run
	result := ""
	if r.Score != nil && r.Passed != nil && r.Failed != nil {
		result = w.sayText("Score {score} %: {passed} passed, {failed} failed.",
			"score", w.formatNumber(r.Score.String()), "passed", *r.Passed, "failed", *r.Failed)
	}
	return facts{
		{w.sayText("State"), w.translateWord(r.Status)},
		{w.sayText("Result"), result},
		{w.sayText("Template"), joinSaid(" · ", x.template.Title, x.template.Code, x.template.Revision.String())},
		{w.sayText("Where"), joinSaid(", ", x.named[r.Site], x.named[r.Zone])},
		{w.sayText("Equipment"), x.named[r.Equipment]},
		{w.sayText("Vehicle"), x.named[r.Vehicle]},
		{w.sayText("Worker"), x.named[r.Worker]},
		{w.sayText("Responsible"), x.personOf(r.Assignee)},
		{w.sayText("Due at"), joinSaid(", ", x.formatMoment(r.DueAt), x.zone.String())},
		{w.sayText("Started at"), x.formatMoment(r.StartedAt)},
		{w.sayText("Completed at"), x.formatMoment(r.CompletedAt)},
		{w.sayText("Completed by"), x.personOf(r.CompletedBy)},
		{w.sayText("On time"), x.tellWhether(r.OnTime)},
		{w.sayText("Cancel reason"), r.CancelReason},
	}
}

func (k *reading) tellWhether(is *bool) string {
	if is == nil {
		return ""
	}
	if *is {
		return k.words.sayText("Yes")
	}
	return k.words.sayText("No")
}

// tellFailed lists the questions whose answers failed, as the first thing to read.
func (x *inspection) tellFailed() entries {
	var list entries
	for i := range x.asks.Sections {
		s := &x.asks.Sections[i]
		for j := range s.Items {
			a := x.answers[s.Items[j].Key]
			if a.Result == "fail" && x.isAsked(&s.Items[j]) {
				said := entry{said: s.Items[j].Prompt, text: x.tellAnswer(&s.Items[j], a), small: []string{a.Note}}
				list = append(list, said)
			}
		}
	}
	return list
}

func (x *inspection) isAsked(it *checklist.Item) bool { return x.shown.Asked(it.Key) }

// tellSection tells each question that was asked, with its answer and its photos.
func (x *inspection) tellSection(s *checklist.Section, pictures gallery) (parts []part) {
	for i := range s.Items {
		it := &s.Items[i]
		if !x.isAsked(it) {
			continue
		}
		a, answered := x.answers[it.Key]
		e := entry{said: it.Prompt, text: x.words.sayText("Not answered")}
		if answered {
			e.text = x.tellAnswer(it, a)
			e.small = []string{a.Note, joinSaid(", ", x.personOf(a.By), x.formatMoment(a.At))}
		}
		shown := x.picturesOf(a, pictures)
		if len(shown) > 0 {
			e.keeps = imageHigh
		}
		parts = append(parts, entries{e}, shown)
	}
	return parts
}

// tellAnswer tells what was answered, and how it is judged.
func (x *inspection) tellAnswer(it *checklist.Item, a answerRow) string {
	w := x.words
	said := plainText(a.Value)
	switch {
	case it.Type == checklist.Photo:
		said = w.sayText("Photos: {n}", "n", len(textsIn(a.Value)))
	case said == "na":
		said = w.sayText("Does not apply")
	case it.Type == checklist.YesNo:
		said = w.translateWord(said)
	case it.Type == checklist.Number:
		said = joinSaid(" ", w.formatNumber(said), it.Unit)
	}
	judged, critical := "", ""
	if a.Result != "na" {
		judged = w.translateWord(a.Result)
	}
	if a.Critical {
		critical = w.sayText("Critical")
	}
	return joinSaid(" · ", said, judged, critical)
}

// picturesOf are those of an answer: its own, where it is one, and those beside it.
func (x *inspection) picturesOf(a answerRow, pictures gallery) (shown gallery) {
	ids := slices.Concat(a.Photos, textsIn(a.Value))
	for i, photo := range x.photos {
		if slices.Contains(ids, photo.ID) {
			shown = append(shown, pictures[i])
		}
	}
	return shown
}

// restOf are the pictures that no answer shows.
func (x *inspection) restOf(pictures gallery) (rest gallery) {
	said := map[string]bool{}
	for key, a := range x.answers {
		if x.shown == nil || !x.shown.Asked(key) {
			continue
		}
		for _, id := range slices.Concat(a.Photos, textsIn(a.Value)) {
			said[id] = true
		}
	}
	for i, photo := range x.photos {
		if !said[photo.ID] {
			rest = append(rest, pictures[i])
		}
	}
	return rest
}

// tellRemarks tells what was said about the inspection.
func (x *inspection) tellRemarks() (list entries) {
	r, _ := x.p.store.Catalog().Get("checklist_runs")
	for _, e := range x.remarks {
		if told, ok := x.tellEntry(r, e); ok {
			list = append(list, told)
		}
	}
	return list
}
