package photo

import (
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"os"

	"holdfast/internal/blob"
	"holdfast/internal/fault"
)

// FormBytes is how large a form with a photo may be.
const FormBytes = MaxBytes + 64<<10

const (
	formTexts = 1 << 20 // bytes of all texts
	formParts = 100
)

// Form is a sent multipart form with a photo. Close it.
type Form struct {
	Texts map[string][]string
	Files int      // parts that are files
	Photo *os.File // the first of these with the photo's name; nil when none came
	Size  int64    // of Photo, in bytes
	Name  string   // that Photo came with

	texts int // bytes
}

// Close lets go of the photo.
func (f *Form) Close() {
	if f.Photo != nil {
		f.Photo.Close() // it is gone in any case
	}
}

// ReadForm reads a form whose photo is in a part of that name. The photo waits
// in the data directory, in a file without a name, for its turn to be developed.
// Errors are fault.TooLarge past a bound, fault.NoSpace for a full disk and
// fault.Invalid for a form that cannot be read (RFC 7578).
func (al *Store) ReadForm(parts *multipart.Reader, name string) (_ *Form, err error) {
	f := &Form{Texts: map[string][]string{}}
	defer func() {
		if err != nil {
			f.Close()
			err = classifyFormError(err)
		}
	}()
	for n := 0; ; n++ {
		p, err := parts.NextPart()
		if err == io.EOF { // behind the last boundary; without that one it is wrapped
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		if n == formParts {
			return nil, fault.New(fault.Invalid, "22023", "the form has more than %d parts", formParts)
		}
		if err := f.readPart(p, name, al.scratch); err != nil {
			return nil, err
		}
	}
}

// readPart reads a part. One without a name is nobody's.
func (f *Form) readPart(p *multipart.Part, name, dir string) (err error) {
	switch {
	case p.FormName() == "":
	case p.FileName() == "":
		text, err := io.ReadAll(io.LimitReader(p, formTexts+1))
		if err != nil {
			return err
		}
		if f.texts += len(text); f.texts > formTexts {
			return fault.New(fault.TooLarge, "54000", "the form's texts are larger than %d MB", formTexts>>20)
		}
		f.Texts[p.FormName()] = append(f.Texts[p.FormName()], string(text))
	default:
		if f.Files++; p.FormName() == name && f.Photo == nil {
			f.Name = p.FileName()
			f.Photo, f.Size, err = blob.Scratch(dir, p)
		}
	}
	return err
}

// classifyFormError tells what is wrong with our disk from a broken form.
func classifyFormError(err error) error {
	var ours *fs.PathError
	if fault.As(err).Kind != fault.Internal || errors.As(err, &ours) {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "22023", "the multipart form cannot be read")
}
