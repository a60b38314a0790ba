package api

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/idempotency"
	"holdfast/internal/safety/photo"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

// Photos serves the pictures of incidents and inspections; captions and deleting
// are the collections' (incident_photos, checklist_photos).
type Photos struct {
	album *photo.Store
	keys  *idempotency.Keys
}

// NewPhotos returns the face of an album; keys keep the answers of uploads.
func NewPhotos(a *photo.Store, keys *idempotency.Keys) *Photos { return &Photos{a, keys} }

// Routes lists what is served.
func (p *Photos) Routes() []route.Route {
	var out []route.Route
	for _, of := range [...]struct{ collection, noun string }{{"incidents", "an incident"},
		{"checklist_runs", "an inspection"}} {
		path := "/v1/" + strings.ReplaceAll(of.collection, "_", "-") + "/{id}/photos"
		doc := "Photos of " + of.noun +
			" (GET), or one more (POST: multipart part file, JPEG, PNG or WebP of 15 MB at most; caption)"
		out = append(out,
			route.Route{Method: "GET", Pattern: path, Handle: p.withRecord(path, of.collection, p.listPhotos),
				Out: []photoView{}, Doc: doc},
			route.Route{Method: "POST", Pattern: path, Handle: p.withRecord(path, of.collection, p.addPhoto), Out: photoView{},
				Doc: doc, Status: http.StatusCreated, Body: map[string]string{"file": "file", "caption": "string"}, Keyed: true},
			route.Route{Method: "GET", Pattern: path + "/{photo}", Handle: p.withRecord(path, of.collection, p.servePhoto),
				Media: "image/jpeg", Doc: "The picture itself, a JPEG"})
	}
	for i := range out {
		out[i].Tag, out[i].Who = "photos", route.TenantMember
	}
	return out
}

// photoCall is a member's request for the photos of a record.
type photoCall struct {
	r     *http.Request
	actor actor.Actor
	of    photo.Owner
	path  string // of the record's photos
}

// withRecord reads whose photos are meant.
func (p *Photos) withRecord(path, collection string, h func(w http.ResponseWriter, c photoCall) error) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		for _, name := range [...]string{"id", "photo"} {
			v := c.PathValue(name)
			if id, err := uuid.Parse(v); v != "" && (err != nil || id.String() != strings.ToLower(v)) {
				return noRecord()
			}
		}
		of, ok := photo.OwnerOf(collection, strings.ToLower(c.PathValue("id")))
		if !ok {
			return noRecord()
		}
		return h(w, photoCall{c.Request, c.Actor, of, strings.Replace(path, "{id}", of.ID, 1)})
	}
}

// photoView is a photo as the API shows it.
type photoView struct {
	ID        string  `json:"id"`
	Incident  string  `json:"incident_id,omitempty"`
	Run       string  `json:"run_id,omitempty"`
	Caption   *string `json:"caption"`
	Width     int64   `json:"width"`
	Height    int64   `json:"height"`
	Size      int64   `json:"size" unit:"bytes"`
	SHA256    string  `json:"sha256"`
	CreatedAt string  `json:"created_at" format:"date-time"`
	URL       string  `json:"url"`
}

func (c photoCall) viewOf(row store.Row) photoView {
	v := photoView{
		ID: row.Text("id"), Incident: row.Text("incident_id"), Run: row.Text("run_id"),
		Width: row.Integer("width"), Height: row.Integer("height"), Size: row.Integer("size"),
		SHA256: row.Text("sha256"), CreatedAt: row.Text("created_at"),
	}
	if c, ok := row["caption"].(string); ok {
		v.Caption = &c
	}
	v.URL = c.path + "/" + v.ID
	return v
}

func (p *Photos) listPhotos(w http.ResponseWriter, c photoCall) error {
	rows, err := p.album.List(c.r.Context(), c.actor, c.of)
	if err != nil {
		return err
	}
	out := make([]photoView, len(rows))
	for i, row := range rows {
		out[i] = c.viewOf(row)
	}
	w.Header().Set("Cache-Control", "no-store")
	return web.JSON(w, http.StatusOK, out)
}

func (p *Photos) addPhoto(w http.ResponseWriter, c photoCall) error {
	form, err := readUpload(w, c.r, p.album, photo.FormBytes)
	if err != nil {
		return err
	}
	defer form.Close()
	caption, digest := strings.TrimSpace(strings.Join(form.Texts["caption"], " ")), ""
	if c.r.Header.Get(keyHeader) != "" {
		if digest, err = digestFile(form.Photo, caption); err != nil {
			return err
		}
	}
	return serveIdempotent(p.keys, w, request{c.r, c.actor, digest},
		func(w http.ResponseWriter, claim *idempotency.Claim) error {
			r := keepAnswerWith(c.r, claim, func(w http.ResponseWriter, done any) error {
				return c.sendAdded(w, done.(store.Row))
			})
			row, err := p.album.Add(r.Context(), c.actor, c.of, caption, form.Photo)
			if err != nil {
				return err
			}
			return c.sendAdded(w, row)
		})
}

func (c photoCall) sendAdded(w http.ResponseWriter, row store.Row) error {
	v := c.viewOf(row)
	w.Header().Set("Location", v.URL)
	return web.JSON(w, http.StatusCreated, v)
}

// servePhoto answers with the picture. It never changes, so its hash is its tag.
func (p *Photos) servePhoto(w http.ResponseWriter, c photoCall) error {
	row, f, err := p.album.View(c.r.Context(), c.actor, c.of, strings.ToLower(c.r.PathValue("photo")))
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	tag, _ := row["sha256"].(string)
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Content-Type", "image/jpeg")
	h.Set("Content-Disposition", `inline; filename="photo.jpg"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, c.r, "", time.Time{}, f)
	return nil
}

// digestFile digests a form's file, which it winds back, and its other parts.
func digestFile(file io.ReadSeeker, parts ...string) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("api: digest an upload: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("api: digest an upload: %w", err)
	}
	return idempotency.Fingerprint(append(parts, string(h.Sum(nil)))...), nil
}
