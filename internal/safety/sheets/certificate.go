package sheets

import (
	"cmp"
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety"
)

// certificate is what a certificate of a training is made of.
type certificate struct {
	*reading
	row    trainingRow
	course courseRow
	holder holderRow
}

// PrintCertificate is the certificate of a training that the caller may read: who passed
// which course when, how long it is valid, and who vouches for it. A training that the
// caller may not read is fault.NotFound; one that is not passed or whose validity has
// ended is no certificate, which is fault.Conflict; a reader who does not see the name of
// the holder has none, which is fault.Forbidden.
func (p *Printer) PrintCertificate(ctx context.Context, a actor.Actor, w Wish) (*Document, string, error) {
	x := &certificate{}
	err := p.readIn(ctx, a, w, func(k *reading) error {
		x.reading = k
		return x.readAll(w.ID)
	})
	if err != nil {
		return nil, "", err
	}
	return x.composeDocument(), (&Document{}).FileName("certificate", cmp.Or(x.row.Number, x.row.ID)), nil
}

// readAll reads the training, its course and its holder.
func (x *certificate) readAll(id string) (err error) {
	if x.row, err = readOne[trainingRow](x.reading, "training_assignments", id); err != nil {
		return err
	}
	if err := x.refuseNone(); err != nil {
		return err
	}
	courses, err := readVisible[courseRow](x.reading, "courses", "id IN {ids $2}", "id",
		query.List([]string{x.row.Course}))
	if err != nil {
		return err
	}
	if len(courses) > 0 {
		x.course = courses[0]
	}
	if err := x.namePeople([]string{x.row.User, x.row.VerifiedBy}); err != nil {
		return err
	}
	return x.readHolder()
}

// refuseNone refuses a training that is not completed, or whose last day is over.
func (x *certificate) refuseNone() error {
	today := localtime.DateOf(x.p.Now(), x.zone).String()
	if x.row.Status == "expired" || x.row.Status == "completed" && x.row.ExpiresOn != "" && x.row.ExpiresOn < today {
		return safety.NotReady("the certificate ended on %s and is no longer valid: print the one that follows it",
			x.row.ExpiresOn).At("expires_on", "is over")
	}
	if x.row.Status != "completed" {
		return safety.NotReady("a training that is %s is no certificate: one that is completed has a certificate",
			x.row.Status).At("status", "is not completed")
	}
	return nil
}

// readHolder reads who holds the certificate, as far as the caller sees it.
func (x *certificate) readHolder() error {
	if x.row.Worker == "" {
		return refuseNameless(x.people[x.row.User])
	}
	workers, err := readVisible[holderRow](x.reading, "workers", "id IN {ids $2}", "id",
		query.List([]string{x.row.Worker}))
	if err != nil {
		return err
	}
	if len(workers) > 0 {
		x.holder = workers[0]
	}
	return refuseNameless(x.holder.Name)
}

// refuseNameless refuses a certificate whose holder the caller does not see: it would be of
// nobody.
func refuseNameless(holder string) error {
	if holder != "" {
		return nil
	}
	return fault.New(fault.Forbidden, "42501",
		"a certificate names its holder, and this role does not see what people are called")
}

func (x *certificate) composeDocument() *Document {
	w, r := x.words, &x.row
	d := &Document{words: w, size: x.size, owner: x.owner, id: r.ID, about: x.course.Title,
		title: joinSaid(" ", w.sayText("Certificate"), r.Number)}
	holder := cmp.Or(x.holder.Name, x.personOf(r.User))
	d.addParts(passage{text: w.sayText("{who} has passed the course {what}.", "who", holder, "what", x.course.Title)},
		x.tellFacts(holder))
	if r.TrainedOn != "" && r.Trainer != "" && r.EvaluatedOn != "" && r.Evaluator != "" {
		d.addParts(passage{text: w.sayText("This page names what {law} asks of a certification.", "law",
			"29 CFR 1910.178(l)(6)")})
	}
	if r.Issuer != "" {
		d.addParts(passage{text: w.sayText("Issued by {who}; this page says what is on record.", "who",
			r.Issuer)})
	}
	return d
}

// tellFacts tells who passed what, when, and until when it holds.
func (x *certificate) tellFacts(holder string) facts {
	w, r := x.words, &x.row
	until, result := x.formatDay(r.ExpiresOn), ""
	if until == "" {
		until = w.sayText("for life")
	}
	if r.Result != nil {
		result = w.formatNumber(r.Result.String()) + " %"
	}
	return facts{
		{w.sayText("Holder"), joinSaid(" · ", holder, x.holder.No)},
		{w.sayText("Course"), joinSaid(" · ", x.course.Title, x.course.Code)},
		{w.sayText("Completed on"), x.dayOf(r.CompletedAt)},
		{w.sayText("Valid until"), until},
		{w.sayText("Result"), result},
		{w.sayText("Trained on"), x.formatDay(r.TrainedOn)},
		{w.sayText("Trainer"), r.Trainer},
		{w.sayText("Evaluated on"), x.formatDay(r.EvaluatedOn)},
		{w.sayText("Evaluator"), r.Evaluator},
		{w.sayText("Certificate no"), r.Number},
		{w.sayText("Issuer"), r.Issuer},
		{w.sayText("Verified by"), x.personOf(r.VerifiedBy)},
		{w.sayText("Verified at"), x.formatMoment(r.VerifiedAt)},
	}
}

// dayOf tells the day of a moment in the zone of the sheet; "" for none.
func (k *reading) dayOf(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return k.formatDay(localtime.DateOf(at, k.zone).String())
}
