package limit

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// pg is PostgreSQL by hand: one batch of begin, SET LOCAL, statements and
// commit, as the role that row level security binds.
type pg struct{ pool *pgxpool.Pool }

// Role is what the product's requests run as.
const Role = "holdfast_app"

func openPostgres(ctx context.Context, url string) (engine, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	cfg.ConnConfig.RuntimeParams["role"] = Role
	cfg.ConnConfig.RuntimeParams["jit"] = "off"
	cfg.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	return &pg{pool}, nil
}

func (p *pg) read(ctx context.Context, tenant string, list []statement, out [][]byte) error {
	b := &pgx.Batch{}
	b.Queue("begin isolation level repeatable read read only")
	b.Queue("SET LOCAL holdfast.tenant_id = '" + tenant + "'")
	for _, s := range list {
		b.Queue(s.sql, append([]any{tenant}, s.args...)...)
	}
	b.Queue("commit")
	res := p.pool.SendBatch(ctx, b)
	defer res.Close()
	for range 2 {
		if _, err := res.Exec(); err != nil {
			return err
		}
	}
	for i, s := range list {
		var err error
		if out[i], err = readRows(res, s, out[i]); err != nil {
			return err
		}
	}
	_, err := res.Exec()
	return err
}

func readRows(res pgx.BatchResults, s statement, b []byte) ([]byte, error) {
	rows, err := res.Query()
	if err != nil {
		return b, err
	}
	defer rows.Close()
	for first := true; rows.Next(); first = false {
		raw := rows.RawValues()
		if s.cols == nil {
			b = append(append(b, raw[0]...), '\t')
			b = append(strconv.AppendInt(b, int64(binary.BigEndian.Uint64(raw[1])), 10), '\n')
			continue
		}
		if !first {
			b = append(b, ',')
		}
		for i, col := range s.cols {
			b = appendRaw(append(b, col.key...), col.kind, raw[i])
		}
		b = append(b, '}')
	}
	return b, rows.Err()
}

// epoch is PostgreSQL's zero instant, 2000-01-01, in Unix microseconds.
const epoch = 946684800 * 1e6

func appendRaw(b []byte, kind catalog.Type, raw []byte) []byte {
	if raw == nil {
		return append(b, "null"...)
	}
	switch kind {
	case catalog.Int:
		return strconv.AppendInt(b, int64(binary.BigEndian.Uint64(raw)), 10)
	case catalog.Decimal:
		return decimal.Dec(binary.BigEndian.Uint64(raw)).Append(b)
	case catalog.Float:
		return strconv.AppendFloat(b, math.Float64frombits(binary.BigEndian.Uint64(raw)), 'g', -1, 64)
	case catalog.Bool:
		return strconv.AppendBool(b, raw[0] != 0)
	case catalog.UUID:
		var t [36]byte
		hex.Encode(t[0:8], raw[0:4])
		hex.Encode(t[9:13], raw[4:6])
		hex.Encode(t[14:18], raw[6:8])
		hex.Encode(t[19:23], raw[8:10])
		hex.Encode(t[24:36], raw[10:16])
		t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
		return append(append(append(b, '"'), t[:]...), '"')
	case catalog.Time:
		return append(appendTime(append(b, '"'), time.UnixMicro(int64(binary.BigEndian.Uint64(raw))+epoch).UTC()), '"')
	case catalog.JSON, catalog.Array:
		return append(b, raw...)
	}
	b = append(b, '"')
	at := len(b)
	return append(db.EscapeTail(append(b, raw...), at), '"')
}

// appendTime writes the fixed-width form without the formatter's cost.
func appendTime(b []byte, t time.Time) []byte {
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	two := func(n int, end byte) { b = append(b, byte('0'+n/10), byte('0'+n%10), end) }
	b = append(b, byte('0'+y/1000%10), byte('0'+y/100%10))
	two(y%100, '-')
	two(int(mo), '-')
	two(d, 'T')
	two(h, ':')
	two(mi, ':')
	two(s, '.')
	for us, div := t.Nanosecond()/1000, 100000; div > 0; div /= 10 {
		b = append(b, byte('0'+us/div%10))
	}
	return append(b, 'Z')
}

func (p *pg) insert(ctx context.Context, tenant, sql string, args []any) error {
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue("SET LOCAL holdfast.tenant_id = '" + tenant + "'")
	if sql == "+" {
		b.Queue(keepNumber, args[0])
		b.Queue(insertOrder, args[:8]...)
		b.Queue(keepCounter, args[0], uuid.NewString())
		b.Queue(keepAudit, args[0], args[1], args[7], args[8])
	} else {
		b.Queue(sql, args...)
	}
	b.Queue("commit")
	return p.pool.SendBatch(ctx, b).Close()
}

// insertOrders writes what arrays of the columns of insertOrder hold.
const insertOrders = `INSERT INTO orders (tenant_id, id, order_no, type, status, stage, priority, party_name, carrier, tags,
	line_count, qty_ordered, qty_allocated, qty_picked,
	qty_packed, qty_shipped, qty_received, total_value, created_at, updated_at, version)
		SELECT $1, r.id, r.order_no, r.type, 'draft', 'unallocated', r.priority, r.party_name, r.carrier, '[]', 0, 0, 0, 0, 0, 0, 0, 0, r.at, r.at, 1
		FROM unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::timestamptz[])
			AS r (id, order_no, type, priority, party_name, carrier, at)`

func (p *pg) insertMany(ctx context.Context, tenant string, rows [][]any) error {
	args := []any{tenant, gathered[string](rows, 1), gathered[string](rows, 2), gathered[string](rows, 3),
		gathered[int64](rows, 4), gathered[string](rows, 5), gathered[string](rows, 6), gathered[string](rows, 7)}
	return p.insert(ctx, tenant, insertOrders, args)
}

// gathered is a column of rows.
func gathered[T any](rows [][]any, i int) []T {
	out := make([]T, len(rows))
	for k := range rows {
		out[k] = rows[k][i].(T)
	}
	return out
}

// refresh takes two round trips: the session says whose it is.
func (p *pg) refresh(ctx context.Context, tenant, session string) error {
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	b := &pgx.Batch{}
	b.Queue("SET LOCAL holdfast.tenant_id = '" + tenant + "'")
	b.Queue(refreshSession+" FOR UPDATE", session)
	res := tx.SendBatch(ctx, b)
	if _, err := res.Exec(); err != nil {
		return errors.Join(err, res.Close())
	}
	user, err := drain(res)
	if err := errors.Join(err, res.Close()); err != nil {
		return err
	}
	b = &pgx.Batch{}
	for _, sql := range refreshUser {
		b.Queue(sql, user)
	}
	b.Queue(refreshMember, tenant, user)
	b.Queue(refreshRules, tenant)
	b.Queue(refreshAdvance, session, time.Now())
	res = tx.SendBatch(ctx, b)
	for range b.Len() - 1 {
		if _, err := drain(res); err != nil {
			return errors.Join(err, res.Close())
		}
	}
	if _, err := res.Exec(); err != nil {
		return errors.Join(err, res.Close())
	}
	if err := res.Close(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// drain reads every row and returns the second column of the first, a UUID.
func drain(res pgx.BatchResults) (second string, err error) {
	rows, err := res.Query()
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		if raw := rows.RawValues(); second == "" && len(raw) > 1 && len(raw[1]) == 16 {
			second = uuid.UUID(raw[1]).String()
		}
	}
	return second, rows.Err()
}
