package evidence

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"holdfast/internal/fault"
)

// MaxBytes bounds a file as uploaded.
const MaxBytes = 25 << 20

// format is a kind of file that is kept.
type format struct {
	kind       string // as the collection says it
	media      string
	extensions []string // the first is the usual one
}

var (
	picture = format{"picture", "image/jpeg", []string{".jpg", ".jpeg", ".jfif", ".png", ".webp"}}
	pdfFile = format{"pdf", "application/pdf", []string{".pdf"}}
)

// openXML lists the formats of ECMA-376 by the directory that their archive has.
var openXML = map[string]format{
	"word/": {"document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", []string{".docx"}},
	"xl/":   {"spreadsheet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", []string{".xlsx"}},
	"ppt/": {"presentation", "application/vnd.openxmlformats-officedocument.presentationml.presentation",
		[]string{".pptx"}},
}

// openDocument lists the formats of ISO/IEC 26300 by the media type that their
// archive begins with.
var openDocument = map[string]format{
	"application/vnd.oasis.opendocument.text": {"document", "application/vnd.oasis.opendocument.text",
		[]string{".odt"}},
	"application/vnd.oasis.opendocument.spreadsheet": {"spreadsheet", "application/vnd.oasis.opendocument.spreadsheet",
		[]string{".ods"}},
	"application/vnd.oasis.opendocument.presentation": {"presentation",
		"application/vnd.oasis.opendocument.presentation", []string{".odp"}},
}

// detectFormat says what a file is by its content. It fails with
// fault.Unsupported for what is not kept, and leaves the file at its beginning.
func detectFormat(f io.ReadSeeker, size int64) (format, error) {
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return format{}, err
	}
	head = head[:n]
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return format{}, err
	}

	isWebP := bytes.HasPrefix(head, []byte("RIFF")) && bytes.HasSuffix(head[:min(12, n)], []byte("WEBP"))
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")), bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")), isWebP:
		return picture, nil
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return pdfFile, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return detectOffice(f, size)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return format{}, refuseFormat(
			"an office file of the old kind, or one with a password: save it as .docx, .xlsx, .pptx or PDF")
	case n == 0:
		return format{}, fault.New(fault.Invalid, "22023", "the file is empty").At("file", "is empty")
	}
	return format{}, refuseFormat("none of these")
}

// detectOffice says which office format a zip archive is.
func detectOffice(f io.ReadSeeker, size int64) (format, error) {
	at, ok := f.(io.ReaderAt)
	if !ok {
		return format{}, errors.New("evidence: an upload that cannot be read anywhere")
	}
	archive, err := zip.NewReader(at, size)
	if err != nil {
		return format{}, fault.Wrap(err, fault.Invalid, "22023", "the file is a broken archive").At("file", "is broken")
	}

	found, isOpenXML := format{}, false
	for i, entry := range archive.File {
		name := entry.Name
		if i == 0 && name == "mimetype" {
			return detectOpenDocument(entry)
		}
		if strings.EqualFold(path.Base(name), "vbaProject.bin") {
			return format{}, refuseFormat("an office file with macros: save it without")
		}
		isOpenXML = isOpenXML || name == "[Content_Types].xml"
		if directory, _, inside := strings.Cut(name, "/"); inside && openXML[directory+"/"].kind != "" {
			found = openXML[directory+"/"]
		}
	}
	if !isOpenXML || found.kind == "" {
		return format{}, refuseFormat("an archive: upload the files in it")
	}
	return found, nil
}

// detectOpenDocument reads the media type that an OpenDocument archive begins with.
func detectOpenDocument(entry *zip.File) (format, error) {
	r, err := entry.Open()
	if err != nil {
		return format{}, fault.Wrap(err, fault.Invalid, "22023", "the file is a broken archive").At("file", "is broken")
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 100))
	if err != nil {
		return format{}, fault.Wrap(err, fault.Invalid, "22023", "the file is a broken archive").At("file", "is broken")
	}
	if found, ok := openDocument[strings.TrimSpace(string(text))]; ok {
		return found, nil
	}
	return format{}, refuseFormat("an archive of a kind that is not kept")
}

func refuseFormat(what string) error {
	return fault.New(fault.Unsupported, "22023",
		"pictures (JPEG, PNG, WebP), PDF and office documents are kept; this file is %s", what).
		At("file", "is no picture, PDF or office document")
}

// longestName bounds a file's name, in characters.
const longestName = 200

// labelFile makes the name by which a file is shown out of the one that it came
// with: its last part, without control characters, and with an extension of its
// format. A name that promises another format is refused.
func labelFile(name string, f format) (string, error) {
	label := path.Base(strings.ReplaceAll(name, `\`, "/"))
	label = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, label))

	stem, extension := label, path.Ext(label)
	switch {
	case slices.Contains(f.extensions, strings.ToLower(extension)):
		stem = strings.TrimSuffix(label, extension)
	case isKnownExtension(extension):
		return "", fault.New(fault.Unsupported, "22023", "the file is called %s and is a %s", extension, f.kind).
			At("file", "is not what its name says")
	}
	if strings.Trim(stem, "./ ") == "" {
		stem = f.kind
	}

	usual := f.extensions[0]
	if letters := []rune(stem); len(letters) > longestName-len(usual) {
		stem = string(letters[:longestName-len(usual)])
	}
	return stem + usual, nil
}

// isKnownExtension reports an extension that promises a format, or a program.
func isKnownExtension(extension string) bool {
	known := []string{".exe", ".bat", ".cmd", ".com", ".js", ".html", ".htm", ".svg", ".zip", ".doc", ".xls", ".ppt",
		".docm", ".xlsm", ".pptm", ".csv", ".txt", ".heic", ".gif", ".mp4", ".mov"}
	for _, f := range []format{picture, pdfFile} {
		known = append(known, f.extensions...)
	}
	for _, f := range openXML {
		known = append(known, f.extensions...)
	}
	for _, f := range openDocument {
		known = append(known, f.extensions...)
	}
	return slices.Contains(known, strings.ToLower(extension))
}

// inspection lets one archive be looked at, at a time: a directory of 25 MB takes
// much more memory when it is read.
type inspection chan struct{}

// detectInTurn waits for its turn and says what a file is.
func (turn inspection) detectInTurn(ctx context.Context, f io.ReadSeeker, size int64) (format, error) {
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return format{}, fault.Wrap(ctx.Err(), fault.Unavailable, "57014", "the server is busy with other files")
	}
	return detectFormat(f, size)
}
