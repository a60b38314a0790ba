package store

import (
	"encoding/json"
	"slices"
	"strconv"

	"holdfast/internal/db"
	"holdfast/internal/query"
)

// batch holds the rows of one node of a read, written as JSON (or CSV at the
// root) with holes where embeds go. Rows are written straight from the
// database's cells: no maps, no reflection.
type batch struct {
	node     *query.Node
	embed    *query.Embed // nil at the root
	shape    query.Shape
	prefix   [][]byte // `,"key":` of each output
	buf      []byte
	rows     []record
	holes    []hole
	keys     [][]string       // per embed of the node: the parent keys seen
	byKey    map[string][]int // rows by the key that joins them to their parent
	children []*batch
	idAt     int // place of id, -1 = not needed
	byID     map[string]int
	verAt    int
	version  int64
	places   []query.Key       // of the place behind a row
	next     []json.RawMessage // behind the last row of a full page
}

type record struct{ start, end, hole, holeEnd int }

// hole is where an embed's rows belong.
type hole struct {
	at    int
	embed int
	key   string
}

func newBatch(n *query.Node, shape query.Shape) *batch {
	b := &batch{node: n, shape: shape, idAt: -1, verAt: -1, children: make([]*batch, len(n.Embeds)),
		keys: make([][]string, len(n.Embeds))}
	if shape.CSV {
		return b
	}
	b.prefix = make([][]byte, len(n.Out))
	text := make([]byte, 0, 24*len(n.Out)) // of all; where it moves, those before stay where they are
	for i, o := range n.Out {
		from := len(text)
		text = append(db.AppendString(append(text, ','), o.Key), ':')
		b.prefix[i] = text[from:len(text):len(text)]
	}
	return b
}

// joinKey is what joins rows: the id, and across tenants the tenant too.
func joinKey(n *query.Node, r *db.Row, at int) string {
	if r.Null(at) {
		return ""
	}
	if t := n.TenantAt(); t >= 0 {
		return r.Text(t) + r.Text(at)
	}
	return r.Text(at)
}

// addRow writes one row.
func (b *batch) addRow(r *db.Row) error {
	if b.node.Capped() {
		if err := b.node.Enough(r.Int(b.node.Width())); err != nil {
			return err
		}
	}
	if b.embed != nil {
		k := joinKey(b.node, r, b.embed.ChildAt)
		b.byKey[k] = append(b.byKey[k], len(b.rows))
	}
	if b.idAt >= 0 {
		b.byID[joinKey(b.node, r, b.idAt)] = len(b.rows)
	}
	if b.verAt >= 0 {
		b.version = r.Int(b.verAt)
	}
	rec := record{start: len(b.buf), hole: len(b.holes)}
	if b.shape.CSV {
		b.csvRow(r)
	} else {
		b.jsonRow(r, rec.hole)
	}
	rec.end, rec.holeEnd = len(b.buf), len(b.holes)
	b.rows = append(b.rows, rec)
	if b.places != nil && len(b.rows) == b.node.PageSize() {
		b.next = cursorBehind(b.places, r)
	}
	if len(b.rows) == 2 { // not a single record: make room for a page like these at once
		b.buf = slices.Grow(b.buf, 30*(rec.end-rec.start))
		b.rows = slices.Grow(b.rows, 60)
	}
	return nil
}

// cursorBehind is the place behind a row.
func cursorBehind(keys []query.Key, r *db.Row) []json.RawMessage {
	out := make([]json.RawMessage, len(keys))
	for i, k := range keys {
		switch {
		case r.Null(k.At):
			out[i] = json.RawMessage("null")
		case k.Field != nil:
			out[i] = appendJSON(nil, readField(k.Field, r, k.At))
		case k.Float:
			out[i] = strconv.AppendFloat(nil, r.Float(k.At), 'g', -1, 64)
		default:
			out[i] = db.AppendString(nil, r.Text(k.At))
		}
	}
	return out
}

func (b *batch) jsonRow(r *db.Row, firstHole int) {
	b.buf = append(b.buf, '{')
	open := len(b.buf)
	for i := range b.node.Out {
		o := &b.node.Out[i]
		if o.Embed != nil {
			b.addHole(r, o)
			continue
		}
		if b.shape.Stripped && (o.Form == query.AsNull || r.Null(o.At)) {
			continue
		}
		p := b.prefix[i]
		if len(b.buf) == open && len(b.holes) == firstHole {
			p = p[1:]
		}
		b.buf = append(b.buf, p...)
		b.buf = appendCell(b.buf, o, r)
	}
	b.buf = append(b.buf, '}')
}

func (b *batch) addHole(r *db.Row, o *query.Out) {
	k := joinKey(b.node, r, o.Embed.ParentAt)
	b.holes = append(b.holes, hole{at: len(b.buf), embed: o.At, key: k})
	if k != "" {
		b.keys[o.At] = append(b.keys[o.At], r.Text(o.Embed.ParentAt))
	}
}

// appendCell writes one value as JSON.
func appendCell(dst []byte, o *query.Out, r *db.Row) []byte {
	if o.Form == query.AsNull || r.Null(o.At) {
		return append(dst, "null"...)
	}
	if !o.Quoted {
		return appendValue(dst, o, r)
	}
	dst = append(dst, '"')
	start := len(dst)
	dst = appendValue(dst, o, r)
	if o.Form == query.AsRaw {
		dst = db.EscapeTail(dst, start)
	}
	return append(dst, '"')
}

func appendValue(dst []byte, o *query.Out, r *db.Row) []byte {
	switch o.Form {
	case query.AsText:
		dst = append(dst, '"')
		start := len(dst)
		dst = db.EscapeTail(r.AppendText(dst, o.At), start)
		return append(dst, '"')
	case query.AsPlain:
		dst = append(dst, '"')
		return append(r.AppendText(dst, o.At), '"')
	case query.AsInt:
		return strconv.AppendInt(dst, r.Int(o.At), 10)
	case query.AsDec:
		return r.Dec(o.At).Append(dst)
	case query.AsWhole:
		return strconv.AppendInt(dst, roundDecimal(int64(r.Dec(o.At))), 10)
	case query.AsFloat:
		return strconv.AppendFloat(dst, r.Float(o.At), 'g', -1, 64)
	case query.AsBool:
		return strconv.AppendBool(dst, r.Bool(o.At))
	case query.AsDay:
		dst = append(dst, '"')
		start := len(dst)
		dst = r.AppendText(dst, o.At)
		return append(dst[:min(start+len("2006-01-02"), len(dst))], '"')
	case query.AsSum, query.AsMean:
		return appendTotal(dst, o, r)
	case query.AsMidnight:
		dst = append(dst, '"')
		return append(r.AppendText(dst, o.At), `T00:00:00.000000Z"`...)
	}
	return r.AppendText(dst, o.At)
}

// roundDecimal rounds a scaled decimal half away from zero.
func roundDecimal(d int64) int64 {
	if d < 0 {
		return (d - 5000) / 10000
	}
	return (d + 5000) / 10000
}

// csvRow writes one record, RFC 4180: null is an empty cell, the empty string
// is "", and a text that a spreadsheet would run is guarded.
func (b *batch) csvRow(r *db.Row) {
	for i := range b.node.Out {
		if i > 0 {
			b.buf = append(b.buf, ',')
		}
		o := &b.node.Out[i]
		switch {
		case o.Embed != nil:
			b.addHole(r, o)
		case o.Form == query.AsNull || r.Null(o.At):
		default:
			start := len(b.buf)
			switch o.Form {
			case query.AsText:
				b.buf = append(b.buf, query.Guard(r.Text(o.At))...)
			case query.AsPlain, query.AsRaw:
				b.buf = r.AppendText(b.buf, o.At)
			default:
				b.buf = stripQuotes(appendValue(b.buf, o, r), start)
			}
			b.buf = csvQuote(b.buf, start)
		}
	}
}

// stripQuotes takes the quotes off a JSON string written from start on.
func stripQuotes(b []byte, start int) []byte {
	if len(b) > start && b[start] == '"' {
		copy(b[start:], b[start+1:])
		return b[:len(b)-2]
	}
	return b
}

// csvQuote puts the cell written from start on in quotes where it needs them.
func csvQuote(b []byte, start int) []byte {
	quote := len(b) == start
	for _, c := range b[start:] {
		quote = quote || c == ',' || c == '"' || c == '\n' || c == '\r'
	}
	if !quote {
		return b
	}
	cell := append([]byte(nil), b[start:]...)
	b = append(b[:start], '"')
	for _, c := range cell {
		if c == '"' {
			b = append(b, '"')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

// csvHeader is the CSV header line.
func (b *batch) csvHeader(dst []byte) []byte {
	for i, o := range b.node.Out {
		if i > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		dst = csvQuote(append(dst, query.Guard(o.Key)...), start)
	}
	return dst
}

// appendRow writes row i with its holes filled.
func (b *batch) appendRow(dst []byte, i int) []byte {
	rec := b.rows[i]
	at := rec.start
	for _, h := range b.holes[rec.hole:rec.holeEnd] {
		dst = appendMember(dst, b.buf[at:h.at])
		if b.shape.CSV {
			start := len(dst)
			dst = csvQuote(b.writeEmbedded(dst, h), start)
		} else {
			dst = b.fillHole(dst, h)
		}
		at = h.at
	}
	return appendMember(dst, b.buf[at:rec.end])
}

// appendMember appends a piece of an object, without its comma when it comes first.
func appendMember(dst, piece []byte) []byte {
	if len(piece) > 0 && piece[0] == ',' && len(dst) > 0 && dst[len(dst)-1] == '{' {
		piece = piece[1:]
	}
	return append(dst, piece...)
}

// fillHole writes an embed as a member of the object under way.
func (b *batch) fillHole(dst []byte, h hole) []byte {
	e := b.node.Embeds[h.embed]
	c := b.children[h.embed]
	if e.Spread {
		return c.spreadRow(dst, h.key)
	}
	if b.shape.Stripped && !e.Many && !e.Alone() && (c == nil || len(c.byKey[h.key]) == 0) {
		return dst
	}
	dst = appendMember(dst, []byte{','})
	dst = append(db.AppendString(dst, e.Name()), ':')
	return b.writeEmbedded(dst, h)
}

// writeEmbedded writes the embedded rows themselves.
func (b *batch) writeEmbedded(dst []byte, h hole) []byte {
	e := b.node.Embeds[h.embed]
	c := b.children[h.embed]
	var list []int
	if c != nil && h.key != "" {
		list = c.byKey[h.key]
	}
	switch {
	case len(list) == 0 && e.Alone():
		return c.writeEmptyAggregates(dst)
	case len(list) == 0 && !e.Many:
		return append(dst, "null"...)
	case !e.Many:
		return c.appendRow(dst, list[0])
	}
	dst = append(dst, '[')
	for n, i := range list[:min(len(list), query.MaxRows)] {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = c.appendRow(dst, i)
	}
	return append(dst, ']')
}

// writeEmptyAggregates writes what aggregates make of no rows: counts of 0, and null. A page may
// have passed that over.
func (b *batch) writeEmptyAggregates(dst []byte) []byte {
	e := b.embed
	if e.Many && (e.Offset > 0 || e.PageSize() == 0) {
		return append(dst, "[]"...)
	}
	open, end := "{", "}"
	if e.Many {
		open, end = "[{", "}]"
	}
	dst = append(dst, open...)
	for i, o := range b.node.Out {
		zero := "null"
		if b.node.Counts(&o) {
			if zero = "0"; o.Quoted {
				zero = `"0"`
			}
		} else if b.shape.Stripped {
			continue
		}
		dst = append(appendMember(dst, b.prefix[i]), zero...)
	}
	return append(dst, end...)
}

// spreadRow lifts a to-one row's members into the object under way; an absent
// row's members are null.
func (b *batch) spreadRow(dst []byte, k string) []byte {
	start := len(dst)
	if list := b.byKey[k]; k != "" && len(list) > 0 {
		dst = b.appendRow(dst, list[0])
		dst = dst[:len(dst)-1]
		if len(dst) == start+1 {
			return dst[:start]
		}
		if start > 0 && dst[start-1] == '{' {
			copy(dst[start:], dst[start+1:])
			return dst[:len(dst)-1]
		}
		dst[start] = ','
		return dst
	}
	if b.shape.Stripped {
		return dst
	}
	for i, o := range b.node.Out {
		if o.Embed != nil && o.Embed.Spread {
			dst = b.children[o.At].spreadRow(dst, "")
			continue
		}
		dst = append(appendMember(dst, b.prefix[i]), "null"...)
	}
	return dst
}
