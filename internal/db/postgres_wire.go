package db

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/internal/decimal"
)

// sent remembers what was put on the wire, to read the answers in order.
type sent struct {
	prepare string // statement text to remember once its parse succeeded
	name    string // and the name it was given
	stmt    *stmt  // nil = housekeeping
	commit  bool
}

// commitment is the last statement of a transaction that begin opened.
var commitment = stmt{sql: "commit"}

// pgWire puts statements into a pipeline.
type pgWire struct {
	pipe  *pgconn.Pipeline
	p     *pgStatements
	named bool
	fresh map[string]string // names of the texts prepared in this pipeline
	sent  []sent
}

// encodeBatch puts in what opens the transaction, what is to be closed, the statements
// and, if they are the last, the commit; a whole transaction has none.
func (w *pgWire) encodeBatch(x *pgTx, q []stmt, commit, whole bool) error {
	if !x.begun {
		head := x.p.openingStatements(x.tx, whole)
		for i := range head {
			if err := w.encodeStatement(&head[i]); err != nil {
				return err
			}
		}
		x.begun = !whole
	}
	for _, name := range w.p.drop {
		w.pipe.SendDeallocate(name)
		w.sent = append(w.sent, sent{})
	}
	w.p.drop = w.p.drop[:0]
	for i := range q {
		if err := w.encodeStatement(&q[i]); err != nil {
			return err
		}
	}
	if !commit || whole {
		return nil
	}
	err := w.encodeStatement(&commitment)
	w.sent[len(w.sent)-1].commit = true
	return err
}

// encodeStatement puts in one statement, prepared under a name that the connection keeps
// unless its text comes once.
func (w *pgWire) encodeStatement(s *stmt) error {
	args := &w.p.args
	if err := args.setArguments(s.args); err != nil {
		return err
	}
	if !w.named || s.once {
		w.pipe.SendQueryParams(s.sql, args.values, nil, args.formats, binary1)
		w.sent = append(w.sent, sent{stmt: s})
		return nil
	}
	if sd := w.p.known[s.sql]; sd != nil {
		w.pipe.SendQueryStatement(sd, args.values, args.formats, binary1)
		w.sent = append(w.sent, sent{stmt: s})
		return nil
	}
	name := w.fresh[s.sql]
	if name == "" {
		w.p.made++
		name = "hf" + strconv.Itoa(w.p.made)
		if w.fresh == nil {
			w.fresh = map[string]string{}
		}
		w.fresh[s.sql] = name
		w.pipe.SendPrepare(name, s.sql, nil)
		w.sent = append(w.sent, sent{prepare: s.sql, name: name})
	}
	w.pipe.SendQueryPrepared(name, args.values, args.formats, binary1)
	w.sent = append(w.sent, sent{stmt: s})
	return nil
}

// wireArgs are a statement's parameters as they travel. pgconn copies them when
// the statement is put in, so the room serves the next one.
type wireArgs struct {
	values  [][]byte
	formats []int16 // nil where all are text
	text    []byte
	kinds   []int16
}

// keptText is the most room that is kept for the next statement.
const keptText = 64 << 10

// setArguments makes every parameter text and lets the server infer its type from the
// statement, so that one Go value fits uuid, timestamptz and bigint columns
// alike. Only bytes, which are never anything else, go as they are.
func (w *wireArgs) setArguments(args []any) error {
	clear(w.values) // of what the caller owns
	w.values, w.formats = w.values[:0], nil
	if w.text = w.text[:0]; w.text == nil || cap(w.text) > keptText {
		w.text = make([]byte, 0, 512) // never nil, for an empty text is none
	}
	for i, a := range args {
		if b, ok := a.([]byte); ok && b != nil {
			if w.formats == nil {
				w.kinds = append(w.kinds[:0], make([]int16, len(args))...)
				w.formats = w.kinds
			}
			w.formats[i] = 1
			w.values = append(w.values, b)
			continue
		}
		from := len(w.text)
		text, null, err := appendArg(w.text, a)
		if err != nil {
			return err
		}
		if w.text = text; null {
			w.values = append(w.values, nil)
		} else {
			w.values = append(w.values, text[from:len(text):len(text)])
		}
	}
	return nil
}

// appendArg writes what encode makes of an argument.
func appendArg(b []byte, a any) (text []byte, null bool, err error) {
	switch v := a.(type) {
	case string:
		return append(b, v...), false, nil
	case time.Time:
		return v.UTC().AppendFormat(b, TimeLayout), false, nil
	case int64:
		return strconv.AppendInt(b, v, 10), false, nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), false, nil
	case decimal.Dec:
		return strconv.AppendInt(b, int64(v), 10), false, nil
	case bool:
		return strconv.AppendBool(b, v), false, nil
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64), false, nil
	}
	v, err := encodeArgument(a)
	if err != nil || v == nil {
		return b, true, err
	}
	return appendArg(b, v)
}
