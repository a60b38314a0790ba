package api

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/safety/evidence"
	"holdfast/internal/safety/photo"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

// Files serves the bytes of files that are kept with records; what they are, notes
// and deleting are the collection's (files).
type Files struct {
	files *evidence.Store
	album *photo.Store // reads forms
	keys  *idempotency.Keys
}

// NewFiles returns the endpoints of a store of files; keys keep the answers of uploads.
func NewFiles(files *evidence.Store, album *photo.Store, keys *idempotency.Keys) *Files {
	return &Files{files, album, keys}
}

// fileFormBytes is how large a form with a file may be.
const fileFormBytes = evidence.MaxBytes + 64<<10

// Routes lists what is served.
func (f *Files) Routes() []route.Route {
	out := []route.Route{
		{Method: "GET", Pattern: "/v1/files/{id}/content", Handle: f.serveFile, Media: "application/octet-stream",
			Doc: "A file itself: a picture to be shown, anything else to be saved"},
		{Method: "GET", Pattern: "/v1/files/{id}/thumbnail", Handle: f.serveThumbnail, Media: "image/jpeg",
			Doc: "A small JPEG of a picture, 320 pixels at most"},
	}
	for _, collection := range f.files.Collections() {
		path := "/v1/" + strings.ReplaceAll(collection, "_", "-") + "/{id}/files"
		out = append(out, route.Route{Method: "POST", Pattern: path, Handle: f.addTo(path, collection), Out: fileView{},
			Status: http.StatusCreated, Keyed: true, Body: map[string]string{"file": "file", "note": "string"},
			Doc: "Keep a file with a record (multipart part file: JPEG, PNG, WebP, PDF or office document, " +
				"25 MB at most; note)"})
		path = strings.TrimSuffix(path, "/files") + "/timeline"
		out = append(out, route.Route{Method: "GET", Pattern: path, Handle: f.timelineOf(collection), Out: []evidence.Entry{},
			Doc: "What happened to a record, oldest first: comments, files, photos, " +
				"and changes to those who read the audit log"})
	}
	for i := range out {
		out[i].Tag, out[i].Who = "files", route.TenantMember
	}
	return out
}

// fileView is a kept file as the API shows it.
type fileView struct {
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	Note         *string `json:"note"`
	Kind         string  `json:"kind" oneof:"picture pdf document spreadsheet presentation"`
	MediaType    string  `json:"media_type"`
	Size         int64   `json:"size" unit:"bytes"`
	SHA256       string  `json:"sha256"`
	CreatedAt    string  `json:"created_at" format:"date-time"`
	URL          string  `json:"url"`
	ThumbnailURL string  `json:"thumbnail_url,omitempty" doc:"Of a picture."`
}

func viewOfFile(row store.Row) fileView {
	v := fileView{ID: row.Text("id"), Name: row.Text("name"), Kind: row.Text("kind"), MediaType: row.Text("media_type"),
		Size: row.Integer("size"), SHA256: row.Text("sha256"), CreatedAt: row.Text("created_at")}
	if note := row.Text("note"); note != "" {
		v.Note = &note
	}
	v.URL = "/v1/files/" + v.ID + "/content"
	if row.Text("thumbnail_key") != "" {
		v.ThumbnailURL = "/v1/files/" + v.ID + "/thumbnail"
	}
	return v
}

// addTo keeps the files that come for records of a collection.
func (f *Files) addTo(path, collection string) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		id, err := readID(c)
		if err != nil {
			return err
		}
		form, err := readUpload(w, c.Request, f.album, fileFormBytes)
		if err != nil {
			return err
		}
		defer form.Close()

		note, digest := strings.TrimSpace(strings.Join(form.Texts["note"], " ")), ""
		if c.Header.Get(keyHeader) != "" {
			if digest, err = digestFile(form.Photo, note, form.Name); err != nil {
				return err
			}
		}
		upload := evidence.Upload{Name: form.Name, Note: note, File: form.Photo, Size: form.Size}
		return serveIdempotent(f.keys, w, request{c.Request, c.Actor, digest},
			func(w http.ResponseWriter, claim *idempotency.Claim) error {
				r := keepAnswerWith(c.Request, claim, func(w http.ResponseWriter, done any) error {
					return sendFile(w, done.(store.Row))
				})
				row, err := f.files.Add(r.Context(), c.Actor, f.files.RecordOf(collection, id), upload)
				if err != nil {
					return err
				}
				return sendFile(w, row)
			})
	}
}

// timelineOf answers with what happened to a record of a collection.
func (f *Files) timelineOf(collection string) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		id, err := readID(c)
		if err != nil {
			return err
		}
		list, err := f.files.Timeline(c.Context(), c.Actor, f.files.RecordOf(collection, id))
		if err != nil {
			return err
		}
		if list == nil {
			list = []evidence.Entry{}
		}
		w.Header().Set("Cache-Control", "no-store")
		return web.JSON(w, http.StatusOK, list)
	}
}

func sendFile(w http.ResponseWriter, row store.Row) error {
	v := viewOfFile(row)
	w.Header().Set("Location", v.URL)
	return web.JSON(w, http.StatusCreated, v)
}

// readID reads the id in a path, in lower case; another text names no record.
func readID(c *route.Call) (string, error) {
	text := c.PathValue("id")
	if id, err := uuid.Parse(text); err != nil || id.String() != strings.ToLower(text) {
		return "", noRecord()
	}
	return strings.ToLower(text), nil
}

func (f *Files) serveFile(w http.ResponseWriter, c *route.Call) error {
	return f.serveBytes(w, c, false)
}

func (f *Files) serveThumbnail(w http.ResponseWriter, c *route.Call) error {
	return f.serveBytes(w, c, true)
}

// serveBytes answers with a file or its thumbnail. Neither ever changes, so the
// hash of the file is the tag. Only pictures are shown in a browser.
func (f *Files) serveBytes(w http.ResponseWriter, c *route.Call, thumbnail bool) error {
	id, err := readID(c)
	if err != nil {
		return err
	}
	row, file, err := f.files.Open(c.Context(), c.Actor, id, thumbnail)
	if err != nil {
		return err
	}
	defer file.Close()

	shown, tag := "attachment", row.Text("sha256")
	if row.Text("kind") == "picture" {
		shown = "inline"
	}
	if thumbnail {
		tag += "-thumbnail"
	}
	h := w.Header()
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Content-Type", row.Text("media_type"))
	h.Set("Content-Disposition", mime.FormatMediaType(shown, map[string]string{"filename": row.Text("name")}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, c.Request, "", time.Time{}, file)
	return nil
}

// readUpload reads a form with exactly one file, the part file. What it is, its
// bytes decide.
func readUpload(w http.ResponseWriter, r *http.Request, album *photo.Store, limit int64) (*photo.Form, error) {
	if mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mt != "multipart/form-data" {
		return nil, fault.New(fault.Unsupported, "22023", "send the file as multipart/form-data with the part file")
	}
	parts, err := web.Parts(w, r, limit)
	if err != nil {
		return nil, err
	}
	form, err := album.ReadForm(parts, "file")
	if err != nil {
		return nil, err
	}
	if form.Files != 1 || form.Photo == nil {
		form.Close()
		return nil, fault.New(fault.Invalid, "22023", "the form needs exactly one part called file").At("file",
			"missing or repeated")
	}
	return form, nil
}
