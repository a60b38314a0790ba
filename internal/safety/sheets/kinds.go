package sheets

import (
	"context"

	"holdfast/internal/actor"
)

// Kind is one kind of sheet: where it is served, and how it is made.
type Kind struct {
	Name  string // incident, inspection, certificate, register or actions
	Under string // path of what it is of
	File  string // last part of the sheet's path
	Doc   string // what it says
	// Print makes the sheet as the caller reads it, and says what it is saved as.
	Print func(context.Context, actor.Actor, Wish) (*Document, string, error)
}

// IsOfRecord reports a sheet of one record, which a Wish names.
func (k *Kind) IsOfRecord() bool { return k.Name != actionsKind }

// actionsKind is the one list among the sheets.
const actionsKind = "actions"

// Kinds lists the sheets that there are.
func (p *Printer) Kinds() []Kind {
	return []Kind{
		{"incident", "/v1/incidents/{id}", "incident.pdf",
			"An incident as PDF, as far as the caller reads it: facts, causes, actions, photos and what was said",
			p.PrintIncident},
		{"inspection", "/v1/checklist-runs/{id}", "inspection.pdf",
			"An inspection as PDF, as far as the caller reads it: " +
				"result, what failed, questions with answers, notes and photos", p.PrintInspection},
		{"certificate", "/v1/training-assignments/{id}", "certificate.pdf",
			"The certificate of a training as PDF, as far as the caller reads it: " +
				"holder, course, days, who vouches for it; 409 where it is not passed or over",
			p.PrintCertificate},
		{"register", "/v1/risk-register-versions/{id}", "risk-register.pdf",
			"A version of the risk register as PDF, as it was published: work units, risks before and after their " +
				"measures, who is responsible where the caller sees it, and the hash of the content", p.PrintRegister},
		{actionsKind, "/v1/actions", "actions.pdf", "The actions of the board as PDF", p.printWished},
	}
}

// printWished is the list of actions that a wish narrows.
func (p *Printer) printWished(ctx context.Context, a actor.Actor, w Wish) (*Document, string, error) {
	return p.PrintActions(ctx, a, w, w.By)
}
