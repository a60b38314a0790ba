package imports

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// Create makes a job without file.
func (m *Importer) Create(ctx context.Context, a actor.Actor, r Request) (*jobs.Job, error) {
	t, err := m.checkAdmissible(a, r)
	if err != nil {
		return nil, err
	}
	var job *jobs.Job
	err = m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		if job, err = m.createJob(tx, a, t, r); err != nil {
			return err
		}
		return idempotency.Record(tx, job)
	})
	if err != nil {
		return nil, fmt.Errorf("imports: create: %w", err)
	}
	return job, nil
}

func (m *Importer) createJob(tx *db.Tx, a actor.Actor, t *targets.Target, r Request) (*jobs.Job, error) {
	row := store.Row{"target": t.Name}
	if len(r.Options) > 0 && string(r.Options) != "null" {
		row["options"] = r.Options
	}
	if len(r.Mapping) > 0 && string(r.Mapping) != "null" {
		row["mapping"] = r.Mapping
	}
	rows, err := m.store.In(tx, jobs.Server(a)).InsertRows(m.jobs.Resource.Name, []store.Row{row})
	if err != nil {
		return nil, err
	}
	return jobs.FromRow(rows[0]), tx.Flush()
}

// checkAdmissible checks who asks for what before anything is kept.
func (m *Importer) checkAdmissible(a actor.Actor, r Request) (*targets.Target, error) {
	if err := jobs.Writable(a); err != nil {
		return nil, err
	}
	if err := m.jobs.Allowed(a, ""); err != nil {
		return nil, err
	}
	t, err := m.targets.Named(r.Target)
	if err != nil {
		return nil, err
	}
	if err := m.jobs.Allowed(a, t.Name); err != nil {
		return nil, err
	}
	s, err := plan.ParseSettings(r.Options)
	if err != nil {
		return nil, err
	}
	if err := s.Unclear(t); err != nil {
		return nil, err
	}
	given, err := plan.ParseMapping(t, r.Mapping)
	for name := range given {
		err = cmp.Or(err, t.Sets(name, "mapping."+name, a.Role))
	}
	return t, err
}

// A File is an upload that is kept and that no job has yet. Who asked for it
// ends with Discard.
type File struct {
	Name   string // its label
	SHA256 string // of its bytes, in hexadecimal

	set   store.Row // what the job remembers of it
	taken bool      // by a job, or perhaps by one
}

// Attach gives a job its file, at most 200 MB (fault.TooLarge past that). The
// job becomes uploaded; a file it had before is replaced while nothing was
// applied.
func (m *Importer) Attach(
	ctx context.Context, a actor.Actor, jobID, fileName string, body io.Reader,
) (*jobs.Job, error) {
	if err := m.MayAttach(ctx, a, jobID); err != nil {
		return nil, err
	}
	f, err := m.Keep(ctx, fileName, body)
	if err != nil {
		return nil, err
	}
	defer m.Discard(ctx, f)
	return m.AttachKept(ctx, a, jobID, f)
}

// MayAttach refuses, before anything of a file is read, what Attach would.
func (m *Importer) MayAttach(ctx context.Context, a actor.Actor, jobID string) error {
	job, err := m.jobs.LoadFor(ctx, a, jobID)
	if err != nil {
		return err
	}
	if err := checkAttachable(job); err != nil {
		return err
	}
	return m.shelf.fitsNow(ctx, a, job.ID)
}

// AttachKept is Attach for a file that is kept already.
func (m *Importer) AttachKept(ctx context.Context, a actor.Actor, jobID string, f *File) (*jobs.Job, error) {
	job, err := m.jobs.LoadFor(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	fresh, err := m.attachFile(ctx, a, f, func(*db.Tx) (string, error) { return job.ID, nil })
	if err != nil {
		return nil, err
	}
	m.shelf.deleteFile(ctx, job.BlobKey)
	return fresh, nil
}

// Keep stores an upload, which no job has yet.
func (m *Importer) Keep(ctx context.Context, fileName string, body io.Reader) (*File, error) {
	name, kind, err := cleanFileName(fileName)
	if err != nil {
		return nil, err
	}
	sent := &sender{r: body}
	head := make([]byte, 512)
	n, err := io.ReadFull(sent, head)
	if sent.err != nil {
		return nil, brokenOff(sent.err)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("imports: read the upload: %w", err)
	}
	head = head[:n]
	if err := checkContent(head, kind); err != nil {
		return nil, err
	}
	ref, err := m.shelf.files.Put(ctx, io.MultiReader(bytes.NewReader(head), sent), sheet.MaxBytes)
	if sent.err != nil {
		return nil, brokenOff(sent.err)
	}
	if fault.Is(err, fault.TooLarge) {
		return nil, fault.Wrap(err, fault.TooLarge, "file_too_large", "the file is larger than 200 MB: split it")
	}
	if err != nil {
		return nil, fmt.Errorf("imports: keep the file: %w", err)
	}
	return &File{Name: name, SHA256: ref.SHA256,
		set: store.Row{"file_name": name, "file_type": kind, "size": ref.Size, "sha256": ref.SHA256, "blob_key": ref.Key,
			"status":     jobs.Uploaded,
			"total_rows": int64(0), "valid_rows": int64(0), "invalid_rows": int64(0), "encoding": nil, "delimiter": nil,
			"header_row": nil, "message": nil}}, nil
}

// Discard drops a kept file unless a job has it, or may have it. It takes nil
// too.
func (m *Importer) Discard(ctx context.Context, f *File) {
	if f != nil && !f.taken {
		m.shelf.deleteFile(ctx, f.set["blob_key"].(string))
	}
}

// sender remembers why a body could not be read, to tell the client's fault
// from the disk's.
type sender struct {
	r   io.Reader
	err error
}

func (s *sender) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.err = err
	}
	return n, err
}

func brokenOff(err error) error {
	if f := fault.As(err); f.Kind != fault.Internal {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "upload_incomplete",
		"the upload broke off before its end: send the file again").At("file", "is incomplete")
}

// attachFile makes a kept file the job's.
func (m *Importer) attachFile(
	ctx context.Context, a actor.Actor, f *File, jobOf func(tx *db.Tx) (string, error),
) (*jobs.Job, error) {
	var fresh *jobs.Job
	err := m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		id, err := jobOf(tx)
		if err != nil {
			return err
		}
		if fresh, err = m.attachTx(tx, a, id, f.set); err != nil {
			return err
		}
		return idempotency.Record(tx, fresh)
	})
	f.taken = err == nil || fault.Is(err, fault.Unavailable) // which may have been written all the same
	if err != nil {
		return nil, fmt.Errorf("imports: attach: %w", err)
	}
	return fresh, nil
}

func (m *Importer) attachTx(tx *db.Tx, a actor.Actor, jobID string, set store.Row) (*jobs.Job, error) {
	job, err := m.jobs.Locked(tx, a, jobID)
	if err != nil {
		return nil, err
	}
	if err := checkAttachable(job); err != nil {
		return nil, err
	}
	if err := m.shelf.checkQuota(tx, a, jobID, set["size"].(int64)); err != nil {
		return nil, err
	}
	if err := staged.Forget(tx, a.TenantID, jobID); err != nil {
		return nil, err
	}
	m.jobs.Audit(tx, a, job, "import_jobs.upload", map[string]any{"target": job.Target, "file": set["file_name"],
		"sha256": set["sha256"], "size": set["size"]})
	set["message"] = nil
	if w := m.jobs.Repeated(tx, a, job.Target, set["sha256"].(string), jobID); w != "" {
		set["message"] = w
	}
	return m.jobs.Set(tx, a, jobID, set)
}

func checkAttachable(job *jobs.Job) error {
	switch job.Status {
	case jobs.Created, jobs.Uploaded, jobs.Ready, jobs.Failed:
		return job.Untouched()
	}
	return jobs.WrongState(job, "takes no file")
}

// Upload makes a job with its file. A refused file leaves no job behind.
func (m *Importer) Upload(
	ctx context.Context, a actor.Actor, r Request, fileName string, body io.Reader,
) (*jobs.Job, error) {
	if err := m.Admits(a, r); err != nil {
		return nil, err
	}
	if err := m.MayUpload(ctx, a); err != nil {
		return nil, err
	}
	f, err := m.Keep(ctx, fileName, body)
	if err != nil {
		return nil, err
	}
	defer m.Discard(ctx, f)
	return m.UploadKept(ctx, a, r, f)
}

// MayUpload refuses, before anything of a file is read, a caller who may import
// nothing, and a tenant without room.
func (m *Importer) MayUpload(ctx context.Context, a actor.Actor) error {
	if err := jobs.Writable(a); err != nil {
		return err
	}
	if err := m.jobs.Allowed(a, ""); err != nil {
		return err
	}
	return m.shelf.fitsNow(ctx, a, db.NoTenant) // no job has this id
}

// Admits refuses a request that Create and Upload would.
func (m *Importer) Admits(a actor.Actor, r Request) error {
	_, err := m.checkAdmissible(a, r)
	return err
}

// UploadKept is Upload for a file that is kept already.
func (m *Importer) UploadKept(ctx context.Context, a actor.Actor, r Request, f *File) (*jobs.Job, error) {
	t, err := m.checkAdmissible(a, r)
	if err != nil {
		return nil, err
	}
	return m.attachFile(ctx, a, f, func(tx *db.Tx) (string, error) {
		job, err := m.createJob(tx, a, t, r)
		if err != nil {
			return "", err
		}
		return job.ID, nil
	})
}

// workbooks are spreadsheet and other formats that people upload by mistake,
// with what to say.
var workbooks = map[string]string{
	".xls":     "an old Excel workbook (.xls)",
	".xlsm":    "an Excel workbook with macros (.xlsm)",
	".xlsb":    "a binary Excel workbook (.xlsb)",
	".ods":     openDocument,
	".numbers": "a Numbers document",
	".zip":     "a zip archive",
	".pdf":     "a PDF document",
	".xml":     "an XML file",
}

const saveAs = "; open it, choose Save as, Excel workbook (.xlsx) or CSV (UTF-8), and upload that file"

// cleanFileName reduces a file name to a harmless label and says what the name
// promises.
func cleanFileName(name string) (label, kind string, err error) {
	label = path.Base(strings.ReplaceAll(name, `\`, "/"))
	label = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, label)
	label = strings.TrimSpace(label)
	if label == "" || label == "." || label == "/" || label == ".." {
		label = "upload.csv"
	}
	ext := strings.ToLower(path.Ext(label))
	if len(ext) > 10 {
		ext = ext[:10] // no extension we know; keep the shortening below in bounds
	}
	if r := []rune(label); len(r) > 200 {
		label = strings.ToValidUTF8(string(r[:180])+ext, "")
	}
	switch ext {
	case ".csv", ".txt", "":
		return label, sheet.CSV, nil
	case ".tsv", ".tab":
		return label, sheet.TSV, nil
	case ".xlsx":
		return label, sheet.XLSX, nil
	case ".json", ".ndjson", ".jsonl":
		return label, sheet.JSON, nil
	}
	if what := workbooks[ext]; what != "" {
		return "", "", fault.New(fault.Unsupported, "file_type", "%q is %s, which cannot be read%s", label, what,
			saveAs).At("file", "is %s", what)
	}
	return "", "",
		fault.New(fault.Unsupported, "file_type",
			"%q is no file of rows: upload one that ends in .csv, .tsv, .txt, .xlsx, .json or .ndjson", label).
			At("file", "must be CSV, TSV, XLSX or JSON")
}

// magics are the first bytes of what is no text whatever its name.
var magics = []struct{ bytes, what string }{
	{packed, "an Excel workbook or zip archive"},
	{"PK\x05\x06", "an empty zip archive"},
	{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old Excel workbook (.xls), or one with a password,"},
	{"%PDF-", "a PDF document"},
	{"\x1f\x8b", "a gzip archive"},
	{"\x89PNG", "a picture"},
	{"\xFF\xD8\xFF", "a picture"},
	{"SQLite format 3\x00", "a database"},
}

const packed = "PK\x03\x04"

// openDocumentType is the media type that the first entry of an OpenDocument spreadsheet
// holds (OpenDocument 1.3, part 2, 3.3).
const openDocumentType = "application/vnd.oasis.opendocument.spreadsheet"

const openDocument = "an OpenDocument spreadsheet (.ods)"

// refuseHidden refuses a file that is something else than its name says.
func refuseHidden(what string) error {
	f := fault.New(fault.Unsupported, "file_type", "the file is %s under another name%s", what, saveAs)
	return f.At("file", "is %s", what)
}

// checkContent refuses by content what its name hides.
func checkContent(head []byte, kind string) error {
	if len(head) == 0 {
		return fault.New(fault.Invalid, "empty_file", "the file is empty").At("file", "is empty")
	}
	isOpenDocument := bytes.HasPrefix(head, []byte(packed)) && bytes.Contains(head, []byte("mimetype"+openDocumentType))
	if isOpenDocument {
		return refuseHidden(openDocument)
	}
	if kind == sheet.XLSX && strings.HasPrefix(string(head), packed) {
		return nil
	}
	for _, m := range magics {
		if strings.HasPrefix(string(head), m.bytes) {
			return refuseHidden(m.what)
		}
	}
	if kind == sheet.XLSX {
		return fault.New(fault.Unsupported, "file_type", "the file is no Excel workbook, whatever its name says%s",
			saveAs).At("file", "is no workbook")
	}
	return nil
}
