package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/api/openapi"
	"holdfast/internal/api/route"
	"holdfast/internal/api/swagger"
	"holdfast/internal/cache"
	"holdfast/internal/web"
)

// Document writes the OpenAPI 3.1 description of what is served.
type Document struct {
	openapi.Source

	mu    sync.Mutex
	ready map[string]*cache.Body // by path and role
}

type object = map[string]any

// Handler serves the whole document.
func (d *Document) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.sendDocument(w, r, actor.Service, "application/json")
	})
}

func (d *Document) sendDocument(w http.ResponseWriter, r *http.Request, role actor.Role, mediaType string) {
	d.sendKept(w, r, mediaType, "/openapi.json "+string(role), func() object { return openapi.Build(d.Source, role) })
}

// sendSwagger sends the collections and verbs below a prefix as PostgREST describes
// them.
func (d *Document) sendSwagger(w http.ResponseWriter, r *http.Request, role actor.Role, prefix string) {
	source := swagger.Source{URL: d.URL, Version: d.Version, Catalog: d.Catalog, Verbs: d.Verbs}
	d.sendKept(w, r, swaggerMedia, prefix+" "+string(role), func() object { return swagger.Build(source, role, prefix) })
}

func (d *Document) sendKept(w http.ResponseWriter, r *http.Request, mediaType, key string, build func() object) {
	b, err := d.keptDocument(key, build)
	if err != nil {
		web.Fail(w, r, route.CollectionShape, err)
		return
	}
	h := w.Header()
	h["Etag"] = b.Tag()
	if web.HasTag(r.Header["If-None-Match"], b.Tag()[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	// a client that went away is no fault of ours
	_ = writeAs(w, r, []string{mediaType + "; charset=utf-8"}, b.Plain(), b.Gzip)
}

// keptDocument is a document with what a role may use, as it was written once; the
// service role may use all.
func (d *Document) keptDocument(key string, build func() object) (*cache.Body, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.ready[key]; b != nil {
		return b, nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(build())
	if err != nil {
		return nil, fmt.Errorf("api: write openapi: %w", err)
	}
	b := cache.NewBody(text.Bytes(), time.Now())
	if d.ready == nil {
		d.ready = map[string]*cache.Body{}
	}
	d.ready[key] = b
	return b, nil
}
