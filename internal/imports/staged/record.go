package staged

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/sheet"
)

// RowError is one thing wrong with one row: the physical line the record
// starts on, the column's header, and a code for programs.
type RowError struct {
	Line    int    `json:"line"`
	Column  string `json:"column"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Record is a row of the file as it was read, or as somebody corrected it. A
// chunk of records and the staged rows of the same number belong together.
type Record struct {
	Line   int           `json:"l"`
	Cells  []string      `json:"c"`
	Kinds  []sheet.Kind  `json:"k,omitempty"`
	Bad    *sheet.Damage `json:"b,omitempty"`
	Errors []RowError    `json:"e,omitempty"`
	Edited bool          `json:"d,omitempty"`
}

// RecordOf copies a record out of the reader's memory.
func RecordOf(rec *sheet.Record) Record {
	r := Record{Line: rec.Line, Cells: slices.Clone(rec.Cells), Bad: rec.Bad}
	if slices.ContainsFunc(rec.Kinds, func(k sheet.Kind) bool { return k != sheet.Written }) {
		r.Kinds = slices.Clone(rec.Kinds)
	}
	return r
}

// Sheet is the record as its reader gave it.
func (r Record) Sheet() *sheet.Record {
	return &sheet.Record{Line: r.Line, Cells: r.Cells, Kinds: r.Kinds, Bad: r.Bad}
}

// Size is how many bytes of text the cells hold.
func (r *Record) Size() (n int) {
	for _, c := range r.Cells {
		n += len(c)
	}
	return n
}

// ErrRecords: what was kept of a file's records cannot be read.
var ErrRecords = errors.New("imports: a chunk of records is damaged")

// Packer compresses what is kept of a file. One serves chunk after chunk: what
// it works with is larger than most chunks.
type Packer struct {
	text []byte
	out  bytes.Buffer
	z    *flate.Writer
}

func (p *Packer) packText(text []byte) (_ []byte, err error) {
	p.out.Reset()
	if p.z == nil {
		p.z, err = flate.NewWriter(&p.out, flate.BestSpeed)
	} else {
		p.z.Reset(&p.out)
	}
	if err == nil {
		_, err = p.z.Write(text)
		err = errors.Join(err, p.z.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("imports: compress: %w", err)
	}
	return bytes.Clone(p.out.Bytes()), nil
}

// Records packs a chunk of records as a JSON array.
func (p *Packer) Records(list []Record) ([]byte, error) {
	b := append(p.text[:0], '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = list[i].appendJSON(b); err != nil {
			return nil, fmt.Errorf("imports: records: %w", err)
		}
	}
	p.text = append(b, ']')
	return p.packText(p.text)
}

// appendJSON writes what encoding/json would, the usual record without it.
func (r *Record) appendJSON(b []byte) ([]byte, error) {
	if r.Bad != nil || len(r.Errors) > 0 || len(r.Kinds) > 0 || r.Edited {
		text, err := json.Marshal(r)
		return append(b, text...), err
	}
	b = append(strconv.AppendInt(append(b, `{"l":`...), int64(r.Line), 10), `,"c":[`...)
	for i, c := range r.Cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = db.AppendString(b, c)
	}
	return append(b, ']', '}'), nil
}

func unpackRecords(b []byte) (list []Record, err error) {
	text, err := unpackText(b)
	if fault.HasCode(err, "import_state") {
		return nil, err
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, errors.Join(ErrRecords, err)
	}
	return list, nil
}

// EachRecord gives what Packer.Records packed one record after the other. Whoever
// writes them to a slow reader holds the chunk as it was packed, and no more.
func EachRecord(packed []byte, each func(*Record) error) error {
	in := json.NewDecoder(flate.NewReader(bytes.NewReader(packed)))
	if _, err := in.Token(); err != nil {
		return errors.Join(ErrRecords, err)
	}
	for in.More() {
		var r Record
		if err := in.Decode(&r); err != nil {
			return errors.Join(ErrRecords, err)
		}
		if err := each(&r); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return errors.Join(ErrRecords, err)
	}
	return nil
}

// maxUnpacked is more than a chunk of today unpacks to, with all its errors.
const maxUnpacked = 128 << 20

// unpackText undoes pack. Chunks that former versions made may be too large.
func unpackText(b []byte) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxUnpacked+1))
	if len(text) > maxUnpacked {
		return nil, fault.New(fault.Conflict, "import_state",
			"the rows of the import job are too large to be read again: upload its file anew")
	}
	return text, err
}

// ReadRecords reads one chunk of a job's records.
func ReadRecords(tx *db.Tx, tenant, job string, seq int) ([]Record, error) {
	b, err := ReadPacked(tx, tenant, job, seq)
	if err != nil {
		return nil, err
	}
	return unpackRecords(b)
}

// ReadPacked reads one chunk of a job's records for EachRecord.
func ReadPacked(tx *db.Tx, tenant, job string, seq int) (packed []byte, err error) {
	err = tx.One(`
		SELECT data
		FROM import_records
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq = $3`,
		[]any{tenant, job, seq}, func(r *db.Row) error {
			packed = r.Bytes(0)
			return nil
		})
	return packed, err
}
