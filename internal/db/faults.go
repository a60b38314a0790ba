package db

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"holdfast/internal/fault"
)

// Violation names what a constraint fault broke; it is the fault's Data.
type Violation struct {
	Table      string
	Constraint string   // PostgreSQL only
	Columns    []string // SQLite only (unique and not-null)
}

// classifyError turns driver errors into faults with the SQLSTATE as code. Faults
// and unknown errors pass unchanged.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	var pe *pgconn.PgError
	var ce *pgconn.ConnectError
	if errors.As(err, &pe) {
		if strings.HasPrefix(pe.Message, "unsupported startup parameter") {
			return unavailableFault(err, pe.Code,
				"a connection pooler stands before the database that was not declared: set database_pooler = transaction")
		}
		f := pgFault(err, pe)
		if f.Kind == fault.Internal && errors.As(err, &ce) { // a password that is no longer the right one
			return unavailableFault(err, pe.Code, "the database refuses the server")
		}
		return f
	}
	var se *sqlite.Error
	if errors.As(err, &se) {
		return liteFault(err, se)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return unavailableFault(err, "57014", "the database did not answer in time")
	}
	if errors.Is(err, context.Canceled) {
		return unavailableFault(err, "57014", "the request was cancelled")
	}
	if errors.As(err, &ce) || pgconn.SafeToRetry(err) || lostConnection(err) {
		return unavailableFault(err, "08006", "the database cannot be reached")
	}
	return err
}

func lostConnection(err error) bool {
	s := err.Error()
	return strings.Contains(s, "unexpected EOF") || strings.Contains(s, "conn closed") ||
		strings.Contains(s, "connection reset") || strings.Contains(s, "broken pipe") || strings.Contains(s, "closed pool")
}

func unavailableFault(err error, code, msg string) *fault.Error {
	f := fault.Wrap(err, fault.Unavailable, code, "%s; try again", msg)
	f.RetryAfter = time.Second
	return f
}

// shard matches the suffix Citus appends to constraint names.
var shard = regexp.MustCompile(`_\d{5,}$`)

func pgFault(err error, pe *pgconn.PgError) *fault.Error {
	v := &Violation{Table: shard.ReplaceAllString(pe.TableName, ""),
		Constraint: shard.ReplaceAllString(pe.ConstraintName, "")}
	if pe.ColumnName != "" {
		v.Columns = []string{pe.ColumnName}
	}
	f := fault.Wrap(err, fault.Internal, pe.Code, "%s", "database error")
	f.Data = v
	switch {
	case pe.Code == "23505":
		f.Kind, f.Msg = fault.Conflict, "duplicate key value violates a unique constraint"
	case pe.Code == "23503", pe.Code == "23001": // PostgreSQL 18 has a code of its own for ON DELETE RESTRICT
		f.Kind, f.Code, f.Msg = fault.Conflict, "23503", "a referenced row is missing or still referenced"
	case pe.Code == "42501":
		f.Kind, f.Msg = fault.Forbidden, "row level security refuses this row"
	case strings.HasPrefix(pe.Code, "23"), strings.HasPrefix(pe.Code, "22"):
		f.Kind, f.Msg = fault.Invalid, "a value is not acceptable"
	case pe.Code == "53100":
		f.Kind, f.Msg = fault.NoSpace, "the database has no room left"
	case pe.Code == "42P01": // each statement has run in a test: the database is another one
		return unavailableFault(err, pe.Code, "the database is not the one that the server began with")
	case pe.Code == "40001", pe.Code == "40P01", pe.Code == "55P03", pe.Code == "57014",
		strings.HasPrefix(pe.Code, "08"), strings.HasPrefix(pe.Code, "53"), strings.HasPrefix(pe.Code, "57P"),
		pe.Code == "25006":
		return unavailableFault(err, pe.Code, "the database is busy or restarting")
	}
	return f
}

// Extended SQLite result codes, sqlite.org/rescode.html.
const (
	liteBusy, liteLocked, liteReadonly, liteIOErr    = 5, 6, 8, 10
	liteCorrupt, liteFull, liteCantOpen, liteNotADB  = 11, 13, 14, 26
	liteCheck, liteFK, liteNotNull, litePK, liteUniq = 275, 787, 1299, 1555, 2067
	liteInterrupt, liteTooBig                        = 9, 18
	liteIOErrWrite, liteIOErrShmSize                 = 778, 4874
)

func liteFault(err error, se *sqlite.Error) error {
	f := fault.Wrap(err, fault.Internal, "", "database error")
	f.Data = liteViolation(se.Error())
	switch se.Code() {
	case liteUniq, litePK:
		f.Kind, f.Code, f.Msg = fault.Conflict, "23505", "duplicate key value violates a unique constraint"
		return f
	case liteFK:
		f.Kind, f.Code, f.Msg = fault.Conflict, "23503", "a referenced row is missing or still referenced"
		return f
	case liteNotNull:
		f.Kind, f.Code, f.Msg = fault.Invalid, "23502", "a required value is missing"
		return f
	case liteCheck:
		f.Kind, f.Code, f.Msg = fault.Invalid, "23514", "a value is not acceptable"
		return f
	case liteIOErrShmSize: // the index of the log finds no room
		f.Kind, f.Code, f.Msg = fault.NoSpace, "53100", "the disk is full; nothing was written"
		return f
	}
	switch se.Code() & 0xff {
	case liteBusy, liteLocked:
		return unavailableFault(err, "55P03", "the database is busy")
	case liteInterrupt:
		return unavailableFault(err, "57014", "the database did not answer in time")
	case liteFull:
		f.Kind, f.Code, f.Msg = fault.NoSpace, "53100", "the disk is full; nothing was written"
	case liteReadonly, liteIOErr, liteCantOpen, liteCorrupt, liteNotADB:
		return unavailableFault(err, "58030", "the database file cannot be read or written")
	case liteTooBig:
		f.Kind, f.Code, f.Msg = fault.Invalid, "22001", "a value is too long"
	}
	return f
}

// liteViolation reads the table and columns out of SQLite's message, the only
// place it names them: "... failed: zones.tenant_id, zones.code (2067)".
func liteViolation(msg string) *Violation {
	_, list, ok := strings.Cut(msg, "constraint failed: ")
	if !ok {
		return &Violation{}
	}
	if i := strings.LastIndex(list, " ("); i >= 0 {
		list = list[:i]
	}
	if _, rest, again := strings.Cut(list, "constraint failed: "); again {
		list = rest
	}
	v := &Violation{}
	for _, c := range strings.Split(list, ", ") {
		table, col, ok := strings.Cut(c, ".")
		if !ok {
			return &Violation{Constraint: list}
		}
		v.Table, v.Columns = table, append(v.Columns, col)
	}
	return v
}
