package page

import (
	"log/slog"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/safety/photo"
	"holdfast/internal/safety/report"
	"holdfast/internal/web"
)

// Reports serves the public report page: a form anybody may fill in who holds
// its address.
type Reports struct {
	gate  *access.Gate
	desk  *report.Service
	album *photo.Store
	look  *look
}

// NewReports returns the page of a desk, whose photos go into an album.
func NewReports(g *access.Gate, d *report.Service, al *photo.Store) (*Reports, error) {
	l, err := newLook()
	return &Reports{g, d, al, l}, err
}

// formTime is how long a sent form may take on a slow line.
const formTime = 3 * time.Minute

// ServeHTTP answers GET and POST of a link's page.
func (p *Reports) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.servePage(w, r, p.fillView) }

// servePage shows what fill makes of a request.
func (p *Reports) servePage(
	w http.ResponseWriter, r *http.Request, fill func(http.ResponseWriter, *http.Request, *view) (int, error),
) {
	v := view{T: textsFor(r), State: "refused"}
	v.Heading = v.T.Title
	code, err := fill(w, r, &v)
	if err != nil {
		code = p.explainMissingForm(w, r, &v, err)
	}
	if err := p.look.showPage(w, code, v); err != nil {
		slog.Error("page not shown", "request_id", web.RequestID(r.Context()), "error", err)
	}
}

// explainMissingForm puts into words why there is no form; the cause of a failure of ours
// goes to the log alone.
func (p *Reports) explainMissingForm(w http.ResponseWriter, r *http.Request, v *view, err error) int {
	f := fault.As(err)
	v.State, v.Message = "refused", explainFault(v.T, f)
	sayRetryAfter(w, f)
	if pageStatus(f) >= 500 {
		slog.Error("request failed", "request_id", web.RequestID(r.Context()), "status", pageStatus(f), "error", err.Error())
	}
	return pageStatus(f)
}

func sayRetryAfter(w http.ResponseWriter, f *fault.Error) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(fault.WaitSeconds(f.RetryAfter)))
	}
}

// fillView fills the view and says its status. An error leaves the view without
// a form.
func (p *Reports) fillView(w http.ResponseWriter, r *http.Request, v *view) (int, error) {
	place, err := p.findPlace(w, r, access.SendForm, v)
	if err != nil {
		return 0, err
	}
	if r.Method != http.MethodPost {
		v.State, v.Once = "form", report.NewOnce()
		return http.StatusOK, nil
	}
	return p.submitForm(w, r, place, v)
}

// findPlace counts the request and finds the place of its link. What is not sent is a look.
func (p *Reports) findPlace(
	w http.ResponseWriter, r *http.Request, use access.FormUse, v *view,
) (*report.Place, error) {
	if r.Method != http.MethodPost {
		use = access.LookAtForm
	}
	token := r.PathValue("token")
	if err := p.gate.TakeForm(w, r, token, use); err != nil {
		return nil, err
	}
	place, err := p.desk.Find(r.Context(), token)
	if err != nil {
		return nil, err
	}
	v.Token, v.Place, v.Tenant, v.AsksWhere = token, place.Name, place.Tenant, !place.IsKnown()
	return place, nil
}

// submitForm reads the sent form and submits it. What is refused is shown again with
// what was typed.
func (p *Reports) submitForm(w http.ResponseWriter, r *http.Request, place *report.Place, v *view) (int, error) {
	v.State, v.Once = "form", report.NewOnce()
	// Without it, a slow line has the time of any request.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTime))
	form, err := p.readForm(w, r, photo.FormBytes)
	if err != nil {
		return p.showRefused(v, err)
	}
	defer form.Close()
	f := fillForm(form, v)
	if formValue(form, "website") != "" {
		v.Message = v.T.Trapped
		return http.StatusBadRequest, nil
	}
	if form.Size > 0 { // a browser sends an empty part when none is chosen
		f.Photo = form.Photo
	}
	receipt, err := p.desk.Submit(r.Context(), senderOf(r), place, f)
	if err != nil {
		return p.showRefused(v, err)
	}
	v.State, v.Number, v.Code = "thanks", receipt.Number, report.GroupCode(receipt.Code)
	return http.StatusOK, nil
}

func senderOf(r *http.Request) actor.Actor {
	return actor.Actor{RequestID: web.RequestID(r.Context()), Address: web.ClientAddress(r)}
}

// showRefused shows the form again and marks what is wrong with it; what is not the
// sender's fault is an error.
func (p *Reports) showRefused(v *view, err error) (int, error) {
	f := fault.As(err)
	if pageStatus(f) >= 500 {
		return 0, err
	}
	v.Wrong = map[string]string{}
	for _, x := range f.Fields {
		v.Wrong[x.Name] = v.T.Wrong[x.Name]
	}
	v.Message = explainFault(v.T, f)
	if _, photo := v.Wrong["photo"]; photo && f.Kind == fault.Invalid && len(v.Wrong) == 1 {
		v.Message = v.T.PhotoBroken
	}
	return pageStatus(f), nil
}

// readForm reads a sent form of so many bytes at most.
func (p *Reports) readForm(w http.ResponseWriter, r *http.Request, limit int64) (*photo.Form, error) {
	mt, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what is no type is refused here
	if mt != "multipart/form-data" {
		return nil, fault.New(fault.Unsupported, "22023", "the form is sent as multipart/form-data")
	}
	parts, err := web.Parts(w, r, limit)
	if err != nil {
		return nil, err
	}
	return p.album.ReadForm(parts, "photo")
}

var onceShape = regexp.MustCompile(`^[0-9a-f]{32}$`)

// fillForm reads what was typed into the form and back into the view.
func fillForm(form *photo.Form, v *view) *report.Form {
	f := &report.Form{Once: formValue(form, "once"), Kind: formValue(form, "kind"), Severity: formValue(form, "severity"),
		Where: formValue(form, "where"), WhereSaid: v.T.WhereSaid, What: formValue(form, "what"),
		When: formValue(form, "when"), Name: formValue(form, "name")}
	if onceShape.MatchString(f.Once) {
		v.Once = f.Once
	}
	v.Kind, v.Severity, v.Where, v.What, v.When, v.Name = f.Kind, f.Severity, f.Where, f.What, f.When, f.Name
	return f
}

func hasField(form *photo.Form, name string) bool { return len(form.Texts[name]) > 0 }

func formValue(form *photo.Form, name string) string {
	if !hasField(form, name) {
		return ""
	}
	return strings.TrimSpace(form.Texts[name][0])
}
