package page

import (
	"net/http"

	"holdfast/internal/access"
	"holdfast/internal/safety/report"
)

// FollowUp serves what became of a report, to whoever holds its code. The code comes in the
// body of a POST: it is in no address, no history and no log.
func (p *Reports) FollowUp() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.servePage(w, r, p.fillProgress) })
}

// fillProgress shows the form for a code, or what became of the report with the one that was
// sent. Words that were sent beside it are added.
func (p *Reports) fillProgress(w http.ResponseWriter, r *http.Request, v *view) (int, error) {
	place, err := p.findPlace(w, r, access.FollowUp, v)
	if err != nil {
		return 0, err
	}
	v.State = "code"
	if r.Method != http.MethodPost {
		return http.StatusOK, nil
	}
	form, err := p.readForm(w, r)
	if err != nil {
		return p.showRefused(v, err)
	}
	defer form.Close()
	code := formValue(form, "code")
	if !hasField(form, "words") {
		found, err := p.desk.Follow(r.Context(), place, code)
		return p.showProgress(v, code, found, err)
	}
	words := formValue(form, "words")
	found, err := p.desk.AddWords(r.Context(), senderOf(r), place, code, words)
	if err == nil {
		v.Message = v.T.Added
	} else {
		v.Words = words
	}
	return p.showProgress(v, code, found, err)
}

// showProgress shows what became of a report; err is why words were not added or nothing was found.
func (p *Reports) showProgress(v *view, code string, found *report.Progress, err error) (int, error) {
	if found != nil {
		v.State, v.Code, v.Number = "progress", code, found.Number
		v.Progress, v.Standing = found, v.T.States[found.State]
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
