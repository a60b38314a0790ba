// Package api is the face of the records on the wire: collections, functions,
// imports, events, webhooks and the OpenAPI document.
//
// Layer: endpoints. Begin at [NewCollections].
package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/prefer"
	grammar "holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

// Collections is the HTTP face of the records: PostgREST's protocol at
// /rest/v1/{name} and /v1/{name}, and /v1/{name}/{id} for one record.
type Collections struct {
	store *store.Store
	cat   *catalog.Catalog
	keys  *idempotency.Keys
	sign  func(parts ...string) []byte
}

// NewCollections returns the face of s; keys keep the answers of writes, sign is
// a keyed hash, the same on every node.
func NewCollections(s *store.Store, keys *idempotency.Keys, sign func(parts ...string) []byte) *Collections {
	return &Collections{store: s, cat: s.Catalog(), keys: keys, sign: sign}
}

// Handler serves a collection. The route's pattern names the collection
// {name} and, for one record, its {id}.
func (c *Collections) Handler() http.Handler {
	return web.Wrap(route.CollectionShape, c.serveCollection)
}

var outcomes = [...]int{store.Rows: http.StatusOK, store.Part: http.StatusPartialContent,
	store.Created: http.StatusCreated, store.Done: http.StatusNoContent}

// call is one request to a collection, as far as it has been read.
type call struct {
	a      actor.Actor
	res    *catalog.Resource
	req    *grammar.Request
	prefer prefer.Preferences
	form   grammar.Shape
	id     string // of a record's own path, or ""
}

const (
	collectionMethods = "GET, HEAD, POST, PATCH, PUT, DELETE, OPTIONS"
	recordMethods     = "GET, HEAD, PATCH, DELETE, OPTIONS"
)

func (c *Collections) serveCollection(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	allow := collectionMethods
	if id != "" {
		allow = recordMethods
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	a := web.Actor(r)
	if a.Anonymous() {
		return fault.New(fault.Unauthorized, "PGRST302", "sign in: this needs an access token")
	}
	if !slices.Contains(strings.Split(allow, ", "), r.Method) {
		w.Header().Set("Allow", allow)
		return fault.New(fault.BadMethod, "PGRST117", "method %s is not served here", r.Method)
	}
	k, err := c.readCall(r, a, id)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Add("Vary", "Accept, Prefer, Range")
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return c.readRows(w, r, k)
	}
	return c.writeRows(w, r, k)
}

// readCall reads everything but the body, in the order errors are raised: headers,
// query string, collection.
func (c *Collections) readCall(r *http.Request, a actor.Actor, id string) (*call, error) {
	k := &call{a: a, id: id}
	var err error
	if err := checkProfile(r); err != nil {
		return nil, err
	}
	if k.prefer, err = prefer.Parse(r.Header.Values("Prefer")); err != nil {
		return nil, err
	}
	if err := k.prefer.CheckUse(prefer.Use{Method: r.Method}); err != nil {
		return nil, err
	}
	raw := r.URL.RawQuery
	if id != "" {
		if k.id, raw, err = recordQuery(id, raw); err != nil {
			return nil, err
		}
	}
	if k.req, err = grammar.Parse(raw); err != nil {
		return nil, err
	}
	if k.form, err = acceptShape(r.Header.Values("Accept"), id != ""); err != nil {
		return nil, err
	}
	k.res, err = grammar.Find(c.cat, r.PathValue("name"))
	return k, err
}

// recordQuery turns /v1/{name}/{id} into a filter. A text that is no id is a
// record that is not there.
func recordQuery(id, raw string) (string, string, error) {
	id = strings.ToLower(id)
	v, err := grammar.Value(&catalog.Field{Name: "id", Type: catalog.UUID}, id)
	if err != nil {
		return "", "", noRecord()
	}
	id, _ = v.(string)
	if raw != "" {
		raw += "&"
	}
	return id, raw + "id=eq." + id, nil
}

func noRecord() error {
	return fault.New(fault.NotFound, "PGRST116", "no such record").With("The result contains 0 rows", "")
}

// checkProfile takes the schema headers supabase clients send; there is one schema.
func checkProfile(r *http.Request) error {
	name := "Accept-Profile"
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		name = "Content-Profile"
	}
	if p := r.Header.Get(name); p != "" && p != "public" {
		return fault.New(fault.NotAcceptable, "PGRST106", "there is no schema %q", p).With("", "the only schema is public")
	}
	return nil
}

func (c *Collections) readRows(w http.ResponseWriter, r *http.Request, k *call) error {
	q, err := grammar.BindSelect(c.cat, k.a, k.res, k.req)
	if err != nil {
		return err
	}
	q.Count, q.Form = k.prefer.Count, k.form
	if err := applyRange(r, q); err != nil {
		return err
	}
	if k.req.Cursor != "" {
		if err := c.resumeAtCursor(k, q); err != nil {
			return err
		}
	}
	q.Paged = hasPages(k, q)
	res, err := c.store.Select(r.Context(), k.a, q)
	if err != nil {
		if k.id != "" && fault.HasCode(err, "PGRST116") {
			return noRecord()
		}
		return err
	}
	h := w.Header()
	if k.id != "" {
		res.ContentType = "application/json; charset=utf-8"
		if tag := entityTag(res); tag != "" {
			h.Set("ETag", tag)
			if web.HasTag(r.Header["If-None-Match"], tag) {
				w.WriteHeader(http.StatusNotModified)
				return nil
			}
		}
	}
	if err := c.linkNextPage(h, r, k, q, res); err != nil {
		return err
	}
	h.Set("Content-Range", contentRange(res.First, res.Count, res.Total))
	if by := res.Sorted; by != "" {
		h.Set("Server-Timing", fmt.Sprintf("sort;desc=%q", "no index keeps the order by "+by))
	}
	setApplied(h, k.prefer.Applied(prefer.Use{Method: r.Method}))
	return sendResult(w, r, res)
}

// sendResult writes the answer's head and, but for HEAD, its body.
func sendResult(w http.ResponseWriter, r *http.Request, res *store.Result) error {
	h := w.Header()
	if res.Body == nil {
		w.WriteHeader(outcomes[res.Status])
		return nil
	}
	h.Set("Content-Type", res.ContentType)
	if r.Method == http.MethodHead {
		w.WriteHeader(outcomes[res.Status])
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(res.Body)))
	w.WriteHeader(outcomes[res.Status])
	_, _ = w.Write(res.Body) // a client that went away is no fault of ours
	return nil
}

// entityTag is the version of a record, which If-Match asks for, and a digest of
// the answer: sums of other records and embeds change without a new version.
func entityTag(res *store.Result) string {
	if res.Version == 0 {
		return ""
	}
	tag := strconv.FormatInt(res.Version, 10)
	if res.Body != nil {
		sum := sha256.Sum256(res.Body)
		tag += "-" + base64.RawURLEncoding.EncodeToString(sum[:9])
	}
	return `"` + tag + `"`
}

func setApplied(h http.Header, list []string) {
	if len(list) > 0 {
		h.Set("Preference-Applied", strings.Join(list, ", "))
	}
}

// contentRange is "lo-hi/total", with * for no rows and for an unasked total.
func contentRange(first, n int, total int64) string {
	span, all := "*", "*"
	if n > 0 {
		span = strconv.Itoa(first) + "-" + strconv.Itoa(first+n-1)
	}
	if total >= 0 {
		all = strconv.FormatInt(total, 10)
	}
	return span + "/" + all
}

// applyRange narrows the page to a Range header "a-b" or "a-" (GET only; any other
// form is ignored).
func applyRange(r *http.Request, q *grammar.Select) error {
	lo, hi, ok := strings.Cut(r.Header.Get("Range"), "-")
	if !ok || r.Method != http.MethodGet {
		return nil
	}
	from, err := strconv.ParseUint(lo, 10, 31)
	if err != nil {
		return nil
	}
	to, err := strconv.ParseUint(hi, 10, 31)
	if err != nil && hi != "" {
		return nil
	}
	if hi != "" && to < from {
		return fault.New(fault.BadRange, "PGRST103", "the requested range cannot be served").
			With("the lower end lies above the upper end", "")
	}
	first, last := q.Root.Offset, -1
	if q.Root.Limit >= 0 {
		last = first + q.Root.Limit
	}
	if hi != "" && (last < 0 || int(to)+1 < last) {
		last = int(to) + 1
	}
	first = max(first, int(from))
	q.Root.Offset = first
	if last >= 0 {
		q.Root.Limit = max(0, last-first)
	}
	return nil
}
