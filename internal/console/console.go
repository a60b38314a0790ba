// Package console serves the built console below /console/: its files under a
// prefix made from their bytes, which browsers keep for good, and its one page
// at every other path, so that an address inside the console can be opened.
//
// Layer: endpoints. Begin at [New].
package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/cache"
	"holdfast/internal/web"
)

// Prefix is where the console is served.
const Prefix = "/console/"

// Settings is what the console has to know before anybody signed in. It is
// public: GET /console/settings.json.
type Settings struct {
	Product string `json:"product"`
	Demo    *Demo  `json:"demo"` // nil unless the server is a demonstration
}

// Demo is who may be tried on a demonstration server.
type Demo struct {
	Password string   `json:"password"`
	People   []Person `json:"people"`
}

// Person is somebody of the demonstration.
type Person struct {
	Email  string `json:"email"`
	Name   string `json:"name"`
	Role   string `json:"role"`   // the first membership's; empty = no member
	Tenant string `json:"tenant"` // its name
}

// policy admits what dist is made of and nothing else: no inline script or
// style, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// kept is for addresses that change with their content.
const kept = "public, max-age=31536000, immutable"

// file is one answer.
type file struct {
	*cache.Body
	kind string
}

// Console serves the files.
type Console struct {
	files map[string]*file // by path below dist
	page  *file
	hash  string
}

// New reads the built files and the settings once.
func New(dist fs.FS, s Settings) (*Console, error) {
	c := &Console{files: map[string]*file{}}
	sum := sha256.New()
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(b))
		sum.Write(b)
		c.files[name] = newFile(name, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	c.hash = hex.EncodeToString(sum.Sum(nil))[:16]
	return c, c.finishPage(s)
}

// finishPage makes the page, which names its files below the prefix, and the
// settings.
func (c *Console) finishPage(s Settings) error {
	index, ok := c.files["index.html"]
	if !ok {
		return fmt.Errorf("console: dist has no index.html: run make console")
	}
	text := bytes.ReplaceAll(index.Plain(), []byte(`="./`), []byte(`="`+Prefix+"-/"+c.hash+"/"))
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("console: settings: %w", err)
	}
	c.page = newFile("index.html", text)
	delete(c.files, "index.html")
	c.files["settings.json"] = newFile("settings.json", b)
	return nil
}

func newFile(name string, b []byte) *file {
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	return &file{cache.NewBody(b, time.Now()), kind}
}

// ServeHTTP answers GET and HEAD below Prefix.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console is read with GET", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	hash, rest, hashed := strings.Cut(strings.TrimPrefix(name, "-/"), "/")
	if !strings.HasPrefix(name, "-/") {
		c.servePath(w, r, name)
		return
	}
	f := c.files[rest]
	if !hashed || f == nil {
		serveMissing(w)
		return
	}
	// A node of another version asks for another hash: it gets what there is,
	// and keeps none of it.
	if hash == c.hash {
		w.Header().Set("Cache-Control", kept)
	} else {
		w.Header().Set("Cache-Control", "no-cache")
	}
	f.sendFile(w, r)
}

// servePath answers an address that people see: the settings or a file by its name,
// else the page. A name with an extension is never a page.
func (c *Console) servePath(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Cache-Control", "no-cache")
	if f := c.files[name]; f != nil {
		f.sendFile(w, r)
		return
	}
	if path.Ext(name) != "" && strings.HasPrefix(name, "assets/") {
		serveMissing(w)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
	c.page.sendFile(w, r)
}

func serveMissing(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, "the console has no such file", http.StatusNotFound)
}

func (f *file) sendFile(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h["Etag"] = f.Tag()
	h.Add("Vary", "Accept-Encoding")
	if web.HasTag(r.Header["If-None-Match"], f.Tag()[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.Plain()
	if z := f.Gzip(); z != nil && web.TakesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = z
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a reader who has gone needs no answer
	}
}

// Wanted reports a request of a browser that shows pages, rather than of a
// program: it prefers HTML by name.
func Wanted(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch kind {
		case "text/html", "application/xhtml+xml":
			return true
		case "application/json":
			return false
		}
	}
	return false
}
