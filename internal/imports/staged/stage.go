package staged

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// Staged rows are kept in chunks: for each row its line and one tagged value
// per staged field. Applying reads one chunk, writes one batch.

// ChunkRows is the most rows of a chunk, and chunkBytes the text of their cells
// past which no more are added.
const (
	ChunkRows  = 1000
	ChunkBytes = 4 << 20
)

// Tags of a staged value.
const (
	tagAbsent byte = iota
	tagText
	tagInt
	tagDec
	tagFloat
	tagTrue
	tagFalse
	tagJSON
)

// Row is one checked row: values in the order of the plan's fields, nil
// where the file gave nothing.
type Row struct {
	Line   int
	values []any
}

// Fields is a staged row by field, only what the file gave.
func (s Row) Fields(fields []string, spare int) store.Row {
	row := make(store.Row, spare)
	for i, f := range fields {
		if s.values[i] != nil {
			row[f] = s.values[i]
		}
	}
	return row
}

// Append appends a row: its line, then the values of fields in their order.
func Append(b []byte, fields []string, line int, row store.Row) []byte {
	b = binary.AppendUvarint(b, uint64(line))
	for _, f := range fields {
		b = appendValue(b, row[f])
	}
	return b
}

func appendValue(b []byte, v any) []byte {
	switch x := v.(type) {
	case string:
		b = binary.AppendUvarint(append(b, tagText), uint64(len(x)))
		return append(b, x...)
	case int64:
		return binary.AppendVarint(append(b, tagInt), x)
	case decimal.Dec:
		return binary.AppendVarint(append(b, tagDec), int64(x))
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, tagFloat), math.Float64bits(x))
	case bool:
		if x {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case json.RawMessage:
		b = binary.AppendUvarint(append(b, tagJSON), uint64(len(x)))
		return append(b, x...)
	}
	return append(b, tagAbsent)
}

// packedMark begins a chunk that is compressed: no row stands on line 0.
const packedMark = 0

// Rows compresses a chunk of staged rows.
func (p *Packer) Rows(rows []byte) ([]byte, error) {
	z, err := p.packText(rows)
	return append([]byte{packedMark}, z...), err
}

// unpackStaged gives back what Rows got; chunks of former versions are not
// compressed.
func unpackStaged(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != packedMark {
		return b, nil
	}
	return unpackText(b[1:])
}

var errStaged = errors.New("imports: a staged chunk is damaged")

// Decode reads a chunk of rows with n fields each.
func Decode(b []byte, n, rows int) ([]Row, error) {
	b, err := unpackStaged(b)
	if err != nil {
		return nil, errors.Join(errStaged, err)
	}
	d := decoder{b: b, text: string(b)}
	out := make([]Row, 0, rows)
	values := make([]any, rows*n)
	for len(d.b) > 0 && len(out) < rows {
		s := Row{Line: int(d.readUvarint()), values: values[:n:n]}
		values = values[n:]
		for i := range s.values {
			s.values[i] = d.readValue()
		}
		out = append(out, s)
	}
	if d.bad || len(d.b) > 0 || len(out) != rows {
		return nil, errStaged
	}
	return out, nil
}

// decoder cuts texts out of one string instead of copying each.
type decoder struct {
	b    []byte
	text string
	bad  bool
}

func (d *decoder) skipBytes(n int) {
	if n < 0 || n > len(d.b) {
		d.bad, n = true, len(d.b)
	}
	d.b = d.b[n:]
}

// tookBytes skips a number of n bytes, or all when none was there.
func (d *decoder) tookBytes(n int) {
	if n <= 0 {
		d.bad, n = true, len(d.b)
	}
	d.skipBytes(n)
}

func (d *decoder) readUvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.tookBytes(n)
	return v
}

func (d *decoder) readVarint() int64 {
	v, n := binary.Varint(d.b)
	d.tookBytes(n)
	return v
}

func (d *decoder) readText() string {
	n := d.readUvarint()
	if n > uint64(len(d.b)) {
		d.bad, n = true, uint64(len(d.b))
	}
	at := len(d.text) - len(d.b)
	d.skipBytes(int(n))
	return d.text[at : at+int(n)]
}

func (d *decoder) readValue() any {
	if len(d.b) == 0 {
		d.bad = true
		return nil
	}
	tag := d.b[0]
	d.skipBytes(1)
	switch tag {
	case tagText:
		return d.readText()
	case tagInt:
		return d.readVarint()
	case tagDec:
		return decimal.Dec(d.readVarint())
	case tagFloat:
		if len(d.b) < 8 {
			d.bad = true
			return nil
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
		d.skipBytes(8)
		return v
	case tagTrue, tagFalse:
		return tag == tagTrue
	case tagJSON:
		return json.RawMessage(d.readText())
	case tagAbsent:
		return nil
	}
	d.bad = true
	return nil
}
