package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/prefer"
	grammar "holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

// writeRows answers POST, PATCH, PUT and DELETE.
func (c *Collections) writeRows(w http.ResponseWriter, r *http.Request, k *call) error {
	if k.req.Cursor != "" {
		return fault.New(fault.Invalid, "PGRST100", "a cursor goes with lists alone, not with writes")
	}
	o := grammar.Options{Prefer: k.prefer, Form: k.form}
	var sent []byte
	if k.id != "" && r.Method == http.MethodPatch && !k.prefer.ReturnGiven {
		o.Prefer.Return = prefer.Representation
	}
	if r.Method != http.MethodDelete {
		// Rights are checked before the body is read.
		if err := c.checkGrant(r.Method, k); err != nil {
			return err
		}
		var err error
		if sent, o.Body, err = readRows(w, r, k.req.Columns); err != nil {
			return err
		}
	}
	run := func(w http.ResponseWriter, claim *idempotency.Claim) error {
		r := keepAnswerWith(r, claim, func(w http.ResponseWriter, done any) error {
			return c.sendWritten(w, r, k, done.(*store.Result))
		})
		res, err := c.executeWrite(r, k, o)
		if err != nil {
			if k.id != "" && fault.HasCode(err, "PGRST116") {
				return noRecord()
			}
			return err
		}
		return c.sendWritten(w, r, k, res)
	}
	if k.prefer.Rollback() {
		return run(w, nil) // nothing is done that a repeat could do twice
	}
	return serveIdempotent(c.keys, w, request{r, k.a, string(sent)}, run)
}

// sendWritten answers a write that was done.
func (c *Collections) sendWritten(w http.ResponseWriter, r *http.Request, k *call, res *store.Result) error {
	h := w.Header()
	h.Set("Content-Range", writeRange(r.Method, res))
	if res.Location != "" {
		h.Set("Location", "/"+k.res.Name+"?"+res.Location)
	}
	if k.id != "" && res.Version > 0 {
		if res.ContentType = "application/json; charset=utf-8"; r.Method == http.MethodPatch {
			h.Set("ETag", entityTag(res))
		}
	}
	setApplied(h, k.prefer.Applied(prefer.Use{Method: r.Method}))
	return sendResult(w, r, res)
}

// checkGrant refuses a caller without any grant for the method.
func (c *Collections) checkGrant(method string, k *call) error {
	gs := k.res.Access.Create
	if method == http.MethodPatch {
		gs = k.res.Access.Update
	}
	_, err := grammar.Access(k.a, k.res, gs)
	return err
}

func (c *Collections) executeWrite(r *http.Request, k *call, o grammar.Options) (*store.Result, error) {
	ctx := r.Context()
	switch r.Method {
	case http.MethodPost:
		w, err := grammar.BindInsert(c.cat, k.a, k.res, k.req, o)
		if err != nil {
			return nil, err
		}
		res, err := c.store.Insert(ctx, k.a, w)
		return res, hintAtConflict(k, err)
	case http.MethodPut:
		w, err := grammar.BindPut(c.cat, k.a, k.res, k.req, o)
		if err != nil {
			return nil, err
		}
		return c.store.Put(ctx, k.a, w)
	case http.MethodPatch:
		w, err := grammar.BindUpdate(c.cat, k.a, k.res, k.req, o)
		if err != nil {
			return nil, err
		}
		w.IfVersion, err = ifMatch(r)
		if err != nil {
			return nil, err
		}
		return c.store.Update(ctx, k.a, w)
	case http.MethodDelete:
		w, err := grammar.BindDelete(c.cat, k.a, k.res, k.req, o)
		if err != nil {
			return nil, err
		}
		if w.IfVersion, err = ifMatch(r); err != nil {
			return nil, err
		}
		return c.store.Delete(ctx, k.a, w)
	}
	return nil, fault.New(fault.BadMethod, "PGRST117", "method %s is not served here", r.Method)
}

// hintAtConflict says of an upsert that met another key than the primary one, which
// counts where none is named, how to name it.
func hintAtConflict(k *call, err error) error {
	if k.prefer.Resolution == "" || k.req.Conflict != nil || !fault.HasCode(err, "23505") {
		return err
	}
	hinted := *fault.As(err)
	hinted.Hint = "name the columns of that key: on_conflict=column,column"
	return &hinted
}

// ifMatch reads the version a change expects; 0 = any.
func ifMatch(r *http.Request) (int64, error) {
	tag := strings.TrimSpace(r.Header.Get("If-Match"))
	if tag == "" || tag == "*" {
		return 0, nil
	}
	version, _, _ := strings.Cut(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`), "-")
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.Invalid, "PGRST100", "the If-Match header holds no version").With("",
			`send the ETag of the record, such as "3"`)
	}
	return n, nil
}

// readRows reads a body by its content type, as it was sent and as rows.
func readRows(w http.ResponseWriter, r *http.Request, columns []string) (sent []byte, rows *grammar.Body, err error) {
	kind := "application/json"
	if ct := r.Header.Get("Content-Type"); ct != "" {
		if kind, _, err = mime.ParseMediaType(ct); err != nil {
			kind = ct
		}
	}
	csv := kind == "text/csv"
	if !csv && kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, nil, fault.New(fault.Invalid, "PGRST102", "a body of type %q is not read", kind).
			With("", "send application/json or text/csv")
	}
	if sent, err = web.ReadBody(w, r, grammar.MaxBody); err != nil {
		return nil, nil, err
	}
	if csv {
		rows, err = grammar.CSVBody(sent, columns)
	} else {
		rows, err = grammar.JSONBody(sent, columns)
	}
	return sent, rows, err
}

// writeRange is the Content-Range of a write: the rows changed by a PATCH,
// none for the others.
func writeRange(method string, res *store.Result) string {
	if method == http.MethodPatch {
		return contentRange(0, res.Count, res.Total)
	}
	return contentRange(0, 0, res.Total)
}
