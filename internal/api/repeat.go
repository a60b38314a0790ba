package api

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/store"
)

// keyHeader names a request, so that its repeats are answered and not done
// again (draft-ietf-httpapi-idempotency-key-header).
const keyHeader = "Idempotency-Key"

// replayed marks an answer that was given before.
const replayed = "Idempotent-Replayed"

// serveIdempotent serves a request that changes something. One with an Idempotency-Key
// whose like succeeded before gets that answer again; print is what makes two
// requests alike besides their headers. run writes the answer; its claim is
// nil without a key.
func serveIdempotent(
	keys *idempotency.Keys, w http.ResponseWriter, q request,
	run func(w http.ResponseWriter, claim *idempotency.Claim) error,
) error {
	given := q.r.Header.Values(keyHeader)
	if len(given) == 0 {
		return run(w, nil)
	}
	if len(given) > 1 || given[0] == "" {
		return fault.New(fault.Invalid, "HF013", "there must be one Idempotency-Key, and not an empty one").At(keyHeader,
			"is empty or repeated")
	}
	if err := idempotency.CheckKey(given[0]); err != nil {
		return err
	}
	ctx := q.r.Context()
	known := q.idempotencyKey()
	known.Print = q.requestDigest()
	claim, before, err := keys.Claim(ctx, known)
	switch {
	case err != nil:
		return err
	case before != nil:
		w.Header().Set(replayed, "true")
		return replayAnswer(w, before)
	}
	defer claim.Release(ctx) // unless it is settled
	rec := &draft{head: http.Header{}, to: w}
	if err := run(rec, claim); err != nil || rec.sent {
		return err
	}
	claim.Settle(ctx, rec.keptAnswer())
	return replayAnswer(w, rec.keptAnswer())
}

// request is what a keyed request is known by.
type request struct {
	r     *http.Request
	a     actor.Actor
	print string
}

// idempotencyKey is whose key the request carries, and what for.
func (q request) idempotencyKey() idempotency.Request {
	return idempotency.Request{Scope: store.Scope(q.a), Caller: cmp.Or(q.a.UserID, q.a.KeyID, string(q.a.Role)),
		Route: q.r.Method + " " + q.r.URL.Path, Key: q.r.Header.Get(keyHeader)}
}

// requestDigest covers what decides the effect and the form of the answer. A form's
// type holds a boundary that each attempt draws anew.
func (q request) requestDigest() string {
	kind := q.r.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "multipart/") {
		kind = "multipart"
	}
	parts := []string{q.r.URL.RawQuery, kind, q.r.Header.Get("Accept"), q.r.Header.Get("If-Match")}
	return idempotency.Fingerprint(append(append(parts, q.r.Header.Values("Prefer")...), q.print)...)
}

// keepAnswerWith returns the request under whose context the answer made of what was
// done is kept with it.
func keepAnswerWith(
	r *http.Request, claim *idempotency.Claim, write func(w http.ResponseWriter, done any) error,
) *http.Request {
	if claim == nil {
		return r
	}
	return r.WithContext(idempotency.WithRecorder(r.Context(), func(tx *db.Tx, done any) error {
		rec := &draft{head: http.Header{}}
		if err := write(rec, done); err != nil {
			return err
		}
		return claim.Keep(tx, rec.keptAnswer())
	}))
}

// draft is an http.ResponseWriter that an answer is written on before it is
// sent. One that turns out too long to be kept goes on to its client at once,
// where to is set.
type draft struct {
	head   http.Header
	status int
	body   bytes.Buffer
	to     http.ResponseWriter
	sent   bool
}

func (d *draft) Header() http.Header { return d.head }

func (d *draft) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

func (d *draft) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	if d.to == nil || !d.sent && d.body.Len()+len(b) <= idempotency.MaxBody {
		return d.body.Write(b)
	}
	if !d.sent {
		d.sent = true
		addHeaders(d.to.Header(), d.head)
		d.to.WriteHeader(d.status)
		if _, err := d.to.Write(d.body.Bytes()); err != nil {
			return 0, err
		}
	}
	return d.to.Write(b)
}

func (d *draft) keptAnswer() *idempotency.Answer {
	a := &idempotency.Answer{Status: d.status, Head: d.head}
	if d.body.Len() > 0 {
		a.Body = d.body.Bytes()
	}
	return a
}

// replayAnswer sends an answer.
func replayAnswer(w http.ResponseWriter, a *idempotency.Answer) error {
	addHeaders(w.Header(), a.Head)
	w.WriteHeader(a.Status)
	if len(a.Body) > 0 {
		_, _ = w.Write(a.Body) // a client that went away is no fault of ours
	}
	return nil
}

// addHeaders adds an answer's header to h.
func addHeaders(h http.Header, head map[string][]string) {
	for name, values := range head {
		if name == "Vary" {
			values = slices.Concat(h[name], values)
		}
		h[name] = values
	}
}
