package api

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/web"
)

// Sizes of an upload. The form's other parts are small.
const (
	uploadBody = imports.MaxFile + 64<<10
	formMemory = 1 << 20
)

// Imports serves the upload side of import jobs; processing, applying and
// rolling back are functions.
type Imports struct {
	gate *access.Gate
	jobs *imports.Importer
	keys *idempotency.Keys
}

// NewImports returns the face of jobs; keys keep the answers of uploads.
func NewImports(g *access.Gate, jobs *imports.Importer, keys *idempotency.Keys) *Imports {
	return &Imports{g, jobs, keys}
}

// pageParameters choose a page of a job's rows.
var pageParameters = map[string]string{"page": "integer", "pageSize": "integer"}

// Routes lists what is served; the jobs themselves are a collection, import_jobs.
func (i *Imports) Routes() []route.Route {
	list := []route.Route{
		{Method: "POST", Pattern: "/v1/import-jobs", Handle: withCaller(i.createJob), Out: jobs.Job{},
			Status: http.StatusCreated, Keyed: true, Doc: "Create an import job, with its file (multipart) or without (JSON)",
			Body: map[string]string{"file": "file", "target": "string", "mapping": "object", "options": "object"}},
		{Method: "PUT", Pattern: "/v1/import-jobs/{id}/file", Handle: withCaller(i.receiveFile), Out: jobs.Job{},
			Doc: "Upload the file of an import job", Query: map[string]string{"name": "string"}},
		{Method: "POST", Pattern: "/v1/import-jobs/{id}/cancel", Handle: withCaller(i.cancelJob), Out: jobs.Job{},
			Doc: "End a job nothing of which was applied, and forget its file"},
		{Method: "GET", Pattern: "/v1/import-jobs/{id}/errors", Handle: withCaller(i.listErrors), Out: imports.ErrorPage{},
			Query: pageParameters, Doc: "Rows that were refused, by line and column"},
		{Method: "GET", Pattern: "/v1/import-jobs/{id}/rows", Handle: withCaller(i.listRows), Out: imports.RowPage{},
			Query: map[string]string{"page": "integer", "pageSize": "integer", "status": "string", "code": "string",
				"column": "string"},
			Doc: "Rows of the file with what is wrong with them, what they would write (parsed, until they are applied) and what became of them (action: " +
				"insert, update or unchanged; entity_type, entity_id); status (valid, invalid, applied, skipped, rolled_back), code and column filter"},
		{Method: "PATCH", Pattern: "/v1/import-jobs/{id}/rows/{row}", Handle: withCaller(i.correctRow),
			Out: imports.StagedRow{},
			Doc: "Correct a row: {cells: {header: text}}; it is checked anew", Body: map[string]string{"cells": "object"}},
		{Method: "GET", Pattern: "/v1/import-jobs/{id}/progress", Handle: withCaller(i.showProgress), Out: imports.Progress{},
			Media: "text/event-stream", Doc: "How far the job is; with Accept: text/event-stream again whenever it is further"},
		{Method: "GET", Pattern: "/v1/import-jobs/{id}/preview", Handle: withCaller(i.previewRows),
			Out:   imports.PreviewPage{},
			Query: pageParameters, Doc: "What applying would do: inserts, and updates with before and after"},
		{Method: "GET", Pattern: "/v1/import-jobs/{id}/corrected", Handle: withCaller(i.sendCorrected), Media: "text/csv",
			Query: map[string]string{"status": "string"},
			Doc:   "The file with its corrections, as CSV; status=invalid gives the refused rows with the reasons"},
	}
	for n := range list {
		list[n].Tag, list[n].Who, list[n].Beside = "imports", route.TenantMember, true
	}
	return list
}

// createJob answers POST /v1/import-jobs: multipart with the parts file, target,
// mapping and options, or JSON without a file.
func (i *Imports) createJob(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	if mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mt != "multipart/form-data" {
		return i.createEmpty(w, r, a)
	}
	if err := i.checkUploadAllowed(r, a); err != nil {
		return err
	}
	f, err := i.receiveForm(w, r, func(sofar imports.Request) error {
		if sofar.Target == "" {
			return nil // it may come after the file
		}
		return i.jobs.Admits(a, sofar)
	})
	if err != nil {
		return err
	}
	defer i.jobs.Discard(r.Context(), f.file)
	digest := idempotency.Fingerprint(f.req.Target, string(f.req.Mapping), string(f.req.Options),
		f.file.Name, f.file.SHA256)
	return i.createOnce(w, request{r, a, digest}, func(ctx context.Context) (*jobs.Job, error) {
		return i.jobs.UploadKept(ctx, a, f.req, f.file)
	})
}

// checkUploadAllowed refuses an upload before it is read. To a request that is repeated
// the first one may have taken the room; it is answered as the first was.
func (i *Imports) checkUploadAllowed(r *http.Request, a actor.Actor) error {
	err := i.jobs.MayUpload(r.Context(), a)
	if !fault.HasCode(err, "file_quota") || r.Header.Get(keyHeader) == "" {
		return err
	}
	before, lost := i.keys.Used(r.Context(), request{r: r, a: a}.idempotencyKey())
	if lost != nil || before {
		return lost
	}
	return err
}

// createOnce creates a job, once for an Idempotency-Key.
func (i *Imports) createOnce(
	w http.ResponseWriter, q request, create func(ctx context.Context) (*jobs.Job, error),
) error {
	return serveIdempotent(i.keys, w, q, func(w http.ResponseWriter, claim *idempotency.Claim) error {
		r := keepAnswerWith(q.r, claim, func(w http.ResponseWriter, done any) error {
			return sendCreated(w, done.(*jobs.Job))
		})
		job, err := create(r.Context())
		if err != nil {
			return err
		}
		return sendCreated(w, job)
	})
}

func sendCreated(w http.ResponseWriter, job *jobs.Job) error {
	w.Header().Set("Location", "/v1/import_jobs/"+job.ID)
	return web.JSON(w, http.StatusCreated, job)
}

func (i *Imports) createEmpty(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	var in struct {
		Target  string          `json:"target"`
		Mapping json.RawMessage `json:"mapping"`
		Options json.RawMessage `json:"options"`
	}
	if err := web.DecodeExact(r, functionBody, &in); err != nil {
		return err
	}
	req := imports.Request{Target: in.Target, Mapping: in.Mapping, Options: in.Options}
	print := idempotency.Fingerprint(req.Target, string(req.Mapping), string(req.Options))
	return i.createOnce(w, request{r, a, print}, func(ctx context.Context) (*jobs.Job, error) {
		return i.jobs.Create(ctx, a, req)
	})
}

// receiveFile answers PUT /v1/import-jobs/{id}/file: the body is the file, or a form
// with the part file. The name comes from the form, from ?name= or from
// Content-Disposition.
func (i *Imports) receiveFile(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	if mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && mt == "multipart/form-data" {
		return i.formFile(w, r, a)
	}
	name := r.URL.Query().Get("name")
	if _, p, err := mime.ParseMediaType(r.Header.Get("Content-Disposition")); err == nil && name == "" {
		name = p["filename"]
	}
	job, err := i.jobs.Attach(r.Context(), a, r.PathValue("id"), name, boundUpload(w, r))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, job)
}

func (i *Imports) formFile(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	id := r.PathValue("id")
	if err := i.jobs.MayAttach(r.Context(), a, id); err != nil {
		return err
	}
	f, err := i.receiveForm(w, r, func(imports.Request) error { return nil })
	if err != nil {
		return err
	}
	defer i.jobs.Discard(r.Context(), f.file)
	job, err := i.jobs.AttachKept(r.Context(), a, id, f.file)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, job)
}

// cancelJob answers POST /v1/import-jobs/{id}/cancel: the job, cancelled. One of
// which rows were applied, or that is being worked on, is 409.
func (i *Imports) cancelJob(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	job, err := i.jobs.Cancel(r.Context(), a, r.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, job)
}

// listErrors answers GET /v1/import-jobs/{id}/errors?page=&pageSize=.
func (i *Imports) listErrors(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	p, err := readPage(r)
	if err != nil {
		return err
	}
	out, err := i.jobs.RowErrors(r.Context(), a, r.PathValue("id"), p.Page, p.PageSize)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

// readPage reads page and pageSize, with the rows' filter beside them.
func readPage(r *http.Request) (f imports.RowFilter, err error) {
	q, err := route.Query(r.URL.RawQuery)
	if err != nil {
		return f, err
	}
	if f.Page, err = positiveParameter(q, "page", 1); err != nil {
		return f, err
	}
	if f.PageSize, err = positiveParameter(q, "pageSize", 50); err != nil {
		return f, err
	}
	f.PageSize = min(f.PageSize, 200)
	for name, into := range map[string]*string{"status": &f.Status, "code": &f.Code, "column": &f.Column} {
		if len(q[name]) > 1 {
			return f, fault.New(fault.Invalid, "22023", "%s may be given once", name).At(name, "repeated")
		}
		if len(q[name]) == 1 {
			*into = q[name][0]
		}
	}
	return f, nil
}

// listRows answers GET /v1/import-jobs/{id}/rows?page=&pageSize=&status=&code=&column=.
func (i *Imports) listRows(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	f, err := readPage(r)
	if err != nil {
		return err
	}
	out, err := i.jobs.Rows(r.Context(), a, r.PathValue("id"), f)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

// correctRow answers PATCH /v1/import-jobs/{id}/rows/{row} with {cells: {header:
// text}}: the row as it stands after being checked anew.
func (i *Imports) correctRow(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	row, err := strconv.Atoi(r.PathValue("row"))
	if err != nil || row < 1 {
		return fault.New(fault.Invalid, "22023", "the row is named by its number from 1").At("row",
			"not a whole number from 1")
	}
	var e imports.Edit
	if err := web.DecodeExact(r, editBody, &e); err != nil {
		return err
	}
	out, err := i.jobs.EditRow(r.Context(), a, r.PathValue("id"), row, e)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

// editBody bounds the correction of one row.
const editBody = 1 << 20

// previewRows answers GET /v1/import-jobs/{id}/preview?page=&pageSize=: what
// applying would do to each record.
func (i *Imports) previewRows(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	f, err := readPage(r)
	if err != nil {
		return err
	}
	out, err := i.jobs.Preview(r.Context(), a, r.PathValue("id"), f.Page, f.PageSize)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

// progressEvery is how often a stream of progress looks at its job.
const progressEvery = 500 * time.Millisecond

// idleStream ends a stream that waits for work to begin; its reader comes back.
const idleStream = 30 * time.Second

// showProgress answers GET /v1/import-jobs/{id}/progress: how far the job is, as
// JSON, or to a reader of text/event-stream again whenever it is further. Such
// a stream ends when the work that it saw has ended.
func (i *Imports) showProgress(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	p, err := i.jobs.Progress(r.Context(), a, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		w.Header().Set("Cache-Control", "no-store")
		return web.JSON(w, http.StatusOK, p)
	}
	s := &stream{Events: &Events{gate: i.gate}, w: w, ctl: http.NewResponseController(w), r: r, a: a}
	if err := s.beginAnswer(fmt.Sprintf("retry: %d\n\n", reconnectMs)); err != nil {
		return err
	}
	if r.Method != http.MethodHead {
		i.followProgress(s, p)
	}
	return nil
}

// followProgress writes p and what comes after it.
func (i *Imports) followProgress(s *stream, p *imports.Progress) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	said, worked, changed, quiet, checked := "", false, time.Now(), time.Now(), time.Now()
	for {
		text, err := json.Marshal(p)
		if err != nil {
			return
		}
		if string(text) != said {
			said, changed, quiet = string(text), time.Now(), time.Now()
			err = s.sendText("event: progress\ndata: " + said + "\n\n")
		} else if time.Since(quiet) > heartbeat {
			quiet = time.Now()
			err = s.sendText(": still here\n\n")
		}
		worked = worked || p.Working()
		if err != nil || p.Over() || !p.Working() && (worked || time.Since(changed) > idleStream) {
			return
		}
		select {
		case <-s.r.Context().Done():
			return
		case <-tick.C:
		}
		if time.Since(checked) > recheck {
			if checked = time.Now(); s.renewReader() != nil {
				return
			}
		}
		if p, err = i.jobs.Progress(s.r.Context(), s.a, p.JobID); err != nil {
			return
		}
	}
}

// sendCorrected answers GET /v1/import-jobs/{id}/corrected?status=all|valid|invalid
// with the file as it was corrected.
func (i *Imports) sendCorrected(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	f, err := readPage(r)
	if err != nil {
		return err
	}
	c, err := i.jobs.Corrected(r.Context(), a, r.PathValue("id"), f.Status)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": c.Name}))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return c.Write(r.Context(), w)
}

func positiveParameter(q map[string][]string, name string, otherwise int) (int, error) {
	v := q[name]
	if len(v) == 0 {
		return otherwise, nil
	}
	n, err := strconv.Atoi(v[0])
	if err != nil || n < 1 || n > 1_000_000 || len(v) > 1 {
		return 0, fault.New(fault.Invalid, "22023", "%s must be one whole number from 1", name).At(name,
			"not a whole number from 1")
	}
	return n, nil
}
