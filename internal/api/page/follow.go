package page

import (
	"net/http"

	"holdfast/internal/access"
	"holdfast/internal/fault"
	"holdfast/internal/safety/report"
)

// FollowUp serves what became of a report, to whoever holds its code. The code comes in the
// body of a POST: it is in no address, no history and no log.
func (p *Reports) FollowUp() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.servePage(w, r, p.fillProgress) })
}

// followBytes is how large a sent follow-up may be: it has words and no photo.
const followBytes = 64 << 10

// fillProgress shows the form for a code, or what became of the report with the one that was
// sent. Words that were sent beside it are added. The form is read before anything is refused:
// what was typed is shown again, as this page keeps no draft.
func (p *Reports) fillProgress(w http.ResponseWriter, r *http.Request, v *view) (int, error) {
	v.Heading, v.State, v.Token = v.T.FollowTitle, "code", r.PathValue("token")
	if r.Method != http.MethodPost {
		_, err := p.findPlace(w, r, access.LookAtForm, v)
		return p.refuseFollowUp(w, v, err)
	}
	form, err := p.readForm(w, r, followBytes)
	if err != nil {
		return p.refuseFollowUp(w, v, err)
	}
	defer form.Close()
	v.Code, v.Words = formValue(form, "code"), formValue(form, "words")
	place, err := p.findPlace(w, r, access.FollowUp, v)
	if err == nil {
		err = p.gate.CheckGuesses(r, v.Token)
	}
	if err != nil {
		return p.refuseFollowUp(w, v, err)
	}
	found, err := p.followCode(r, place, v, hasField(form, "words"))
	if fault.Is(err, fault.NotFound) {
		p.gate.CountGuess(r, v.Token)
	}
	return p.showProgress(v, found, err)
}

// refuseFollowUp shows the form for a code, with what was typed, and why it is not answered.
// What is wrong with the page itself is an error.
func (p *Reports) refuseFollowUp(w http.ResponseWriter, v *view, err error) (int, error) {
	if err == nil {
		return http.StatusOK, nil
	}
	f := fault.As(err)
	switch f.Kind {
	case fault.NotFound:
		return 0, err
	case fault.Limited:
		sayRetryAfter(w, f)
		v.Message = v.T.TooManyTries
		return pageStatus(f), nil
	case fault.TooLarge:
		status, err := p.showRefused(v, fault.New(f.Kind, f.Code, "%s", f.Msg).At("words", "are too long"))
		v.Message = v.T.Incomplete
		return status, err
	}
	return p.showRefused(v, err)
}

// followCode is what became of the report with the code, to which words are added where
// the form has some.
func (p *Reports) followCode(
	r *http.Request, place *report.Place, v *view, hasWords bool,
) (*report.Progress, error) {
	if !hasWords {
		return p.desk.Follow(r.Context(), place, v.Code)
	}
	found, err := p.desk.AddWords(r.Context(), senderOf(r), place, v.Code, v.Words)
	if err == nil {
		v.Message, v.Words = v.T.Added, ""
	}
	return found, err
}

// showProgress shows what became of a report; err is why words were not added or nothing was found.
func (p *Reports) showProgress(v *view, found *report.Progress, err error) (int, error) {
	if found != nil {
		v.State, v.Number, v.Progress = "progress", found.Number, found
		v.Standing = v.T.States[found.State]
		if found.IsElsewhere {
			v.Standing = v.T.Handled + " " + v.Standing
		}
	}
	if err == nil {
		return http.StatusOK, nil
	}
	status, err := p.showRefused(v, err)
	if status == http.StatusNotFound {
		v.Message = v.T.NoReport
	}
	return status, err
}
