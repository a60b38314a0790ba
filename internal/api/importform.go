package api

import (
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/web"
)

// importForm is what the form of an upload held. Its file is kept already, and
// no job has it.
type importForm struct {
	req   imports.Request
	file  *imports.File
	given map[string]bool
	room  int // bytes left for the small parts
}

// formParts is how many parts a form may have, those without a name included.
const formParts = 100

// receiveForm reads a form part by part, in whatever order they come (RFC 7578,
// section 5.2: as the form has them), and keeps the file as it comes, without a
// temporary copy. admit is asked before that, with the parts that came first.
// On an error nothing is left.
func (i *Imports) receiveForm(
	w http.ResponseWriter, r *http.Request, admit func(sofar imports.Request) error,
) (_ *importForm, err error) {
	f := &importForm{given: map[string]bool{}, room: formMemory}
	defer func() {
		if err != nil {
			i.jobs.Discard(r.Context(), f.file)
		}
	}()
	r.Body = boundUpload(w, r)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, brokenForm(err)
	}
	for n := 0; ; n++ {
		p, err := parts.NextPart()
		if err == io.EOF { // behind the last boundary; without that one it is wrapped
			break
		}
		if err != nil {
			return nil, brokenForm(err)
		}
		if n == formParts {
			return nil, fault.New(fault.Invalid, "22023",
				"the form has more than %d parts; use file, target, mapping and options", formParts)
		}
		if err := f.notePart(p.FormName()); err != nil {
			return nil, err
		}
		switch p.FormName() {
		case "":
		case "file":
			if err := admit(f.req); err != nil {
				return nil, err
			}
			if f.file, err = i.jobs.Keep(r.Context(), p.FileName(), p); err != nil {
				return nil, err
			}
		default:
			if err := f.readSmallPart(p); err != nil {
				return nil, err
			}
		}
	}
	if f.file == nil {
		return nil, fault.New(fault.Invalid, "22023", "the form needs exactly one part called file").At("file",
			"missing or repeated")
	}
	return f, nil
}

// notePart refuses parts that are not known, or given twice. A part without a name
// is nobody's.
func (f *importForm) notePart(name string) error {
	switch name {
	case "":
		return nil
	case "file", "target", "mapping", "options":
	default:
		return fault.New(fault.Invalid, "22023", "part %q is not known; use file, target, mapping and options",
			route.Clip(name)).At(route.Clip(name), "unknown")
	}
	if f.given[name] {
		return fault.New(fault.Invalid, "22023", "part %s is given more than once", name).At(name, "missing or repeated")
	}
	f.given[name] = true
	return nil
}

// readSmallPart reads a part that is the text itself, or JSON for mapping and options.
func (f *importForm) readSmallPart(p *multipart.Part) error {
	name := p.FormName()
	text, err := io.ReadAll(io.LimitReader(p, int64(f.room)+1))
	if err != nil {
		return brokenForm(err)
	}
	if f.room -= len(text); f.room < 0 {
		return fault.New(fault.TooLarge, "54000", "the form's parts besides the file are larger than %d MB",
			formMemory>>20).At(name, "too large")
	}
	switch name {
	case "target":
		f.req.Target = string(text)
		return nil
	case "mapping":
		f.req.Mapping = json.RawMessage(text)
	case "options":
		f.req.Options = json.RawMessage(text)
	}
	if len(text) == 0 {
		return nil
	}
	if err := web.CheckJSON(text); err != nil {
		bad := fault.As(err)
		return fault.Wrap(err, fault.Invalid, "22023", "%s: %s", name, bad.Msg).At(name, "%s", bad.Msg)
	}
	return nil
}

func brokenForm(err error) error {
	if f := fault.As(err); f.Kind != fault.Internal {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "22023",
		"the multipart form cannot be read, or broke off before its end: send it again")
}

// boundUpload is the body of an upload. Past what may be sent it fails with
// fault.TooLarge.
func boundUpload(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return web.Bounded(w, r, uploadBody, fault.New(fault.TooLarge, "file_too_large",
		"the file is larger than 200 MB: split it and import the parts"))
}
