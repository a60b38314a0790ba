// Package reference serves the API's reference at /docs: Swagger UI over
// /openapi.json, from the server's own files, with a form to try each operation,
// and below it the guides and pages of package docs.
//
// Layer: endpoints. Begin at [Handler].
package reference

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// dist is Swagger UI 5.35.0 as published (Apache-2.0, see dist/LICENSE.txt), its
// two large files compressed, and our page around it.
//
//go:embed dist
var dist embed.FS

// policy admits the page's own files and nothing else. Swagger UI sets styles
// on elements, so inline styles are let through; scripts are not.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves /docs and the files below it, which are read when the first is asked for.
func Handler() http.Handler {
	files, texts := sync.OnceValues(loadFiles), sync.OnceValues(renderPages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/docs"), "/")
		if name == "" {
			name = "index.html"
		}
		f, err := findFile(files, name)
		if f == nil && err == nil {
			f, err = findFile(texts, strings.TrimSuffix(name, "/"))
		}
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case f == nil:
			http.NotFound(w, r)
		default:
			f.serveFile(w, r)
		}
	})
}

// findFile is the file of a name, nil if there is none.
func findFile(files func() (map[string]*file, error), name string) (*file, error) {
	list, err := files()
	return list[name], err
}

// file is one answer, compressed where that is kept.
type file struct {
	kind  string
	plain func() ([]byte, error) // unpacks at the first call: few clients ask for it
	gzip  []byte                 // nil = only plain
}

func plainReader(text []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return text, nil }
}

func loadFiles() (map[string]*file, error) {
	entries, err := dist.ReadDir("dist")
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	out := map[string]*file{}
	for _, e := range entries {
		raw, err := dist.ReadFile("dist/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		name, packed := strings.CutSuffix(e.Name(), ".gz")
		f := &file{kind: mime.TypeByExtension(path.Ext(name)), plain: plainReader(raw)}
		if packed {
			f.plain = sync.OnceValues(func() ([]byte, error) { return gunzip(raw) })
			f.gzip = raw
		}
		out[name] = f
	}
	return out, nil
}

func gunzip(raw []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (f *file) serveFile(w http.ResponseWriter, r *http.Request) {
	body, err := f.bodyFor(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "public, max-age=3600")
	if f.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			h.Set("Content-Encoding", "gzip")
		}
	}
	w.Write(body)
}

func (f *file) bodyFor(r *http.Request) ([]byte, error) {
	if f.gzip != nil && takesGzip(r) {
		return f.gzip, nil
	}
	return f.plain()
}

func takesGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}
