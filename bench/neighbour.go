package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/bench/data"
)

// bookRows are the rows of the workbook that is read.
const bookRows = 100_000

// alonePart runs one of this program's parts and gives the CPU-seconds it says
// it took.
func alonePart(ctx context.Context, args ...string) (float64, error) {
	cmd, err := self(ctx, args...)
	if err != nil {
		return 0, err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	var done struct{ CPU, Rows float64 }
	if err := json.Unmarshal(out, &done); err != nil || done.CPU == 0 || done.Rows == 0 {
		return 0, fmt.Errorf("%s: %q %w", args[0], out, err)
	}
	return done.CPU / done.Rows, nil
}

// xlsx measures the product's reader of workbooks against excelize's streaming
// reader on the same file.
func (m *measurement) xlsx(ctx context.Context) error {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := writeBook(dir, bookRows)
	if err != nil {
		return err
	}
	var ratios, speed []float64
	for range m.rounds {
		ours, err := alonePart(ctx, "book", "holdfast", path)
		if err != nil {
			return err
		}
		theirs, err := alonePart(ctx, "book", "excelize", path)
		if err != nil {
			return err
		}
		ratios, speed = append(ratios, theirs/ours), append(speed, 1/ours)
	}
	return m.add(of(fmt.Sprintf("workbook of %d rows, reading", bookRows), "", ratios,
		fmt.Sprintf("%.0f rows/CPU-s; against excelize's streaming reader", median(speed))).atLeast(0.6, ""))
}

// staged measures an import of a workbook from the upload to its staged rows,
// checked and ready to be applied, against readers that only hand out the cells:
// excelize's streaming one, and the product's own.
func (m *measurement) staged(ctx context.Context, engine string) (err error) {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := writeBook(dir, bookRows)
	if err != nil {
		return err
	}
	s, err := m.tenantOf(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.start(ctx); err != nil {
		return err
	}
	token, err := s.token(ctx, importer)
	if err != nil {
		return err
	}
	var theirs, ours []float64
	var last span
	for range m.rounds {
		last, err = timed(append([]int{s.server.pid()}, s.pids...), func() error {
			job, err := s.upload(ctx, token, "items.xlsx", path)
			if err == nil {
				_, err = s.step(ctx, token, "process", job)
			}
			return err
		})
		if err != nil {
			return err
		}
		for reader, ratios := range map[string]*[]float64{"excelize": &theirs, "holdfast": &ours} {
			cost, err := alonePart(ctx, "book", reader, path)
			if err != nil {
				return err
			}
			*ratios = append(*ratios, cost*bookRows/last.CPU)
		}
	}
	name := fmt.Sprintf("workbook of %d rows, upload to staged rows", bookRows)
	return errors.Join(
		m.add(of(name, engine, theirs, fmt.Sprintf("%v; against excelize's streaming reader alone", last)).atLeast(0.6, "")),
		m.add(of("  against our own reader alone", engine, ours, "which reads the file once; the import reads it twice")))
}

// limiter measures what counting one request costs in memory.
func (m *measurement) limiter(ctx context.Context) error {
	var cost []float64
	for range m.rounds {
		c, err := alonePart(ctx, "take")
		if err != nil {
			return err
		}
		cost = append(cost, c*1e6)
	}
	return m.add(of("rate limiter, one request", "", cost, "CPU-microseconds, 1,000 tenants, in memory").atMost(2, " us"))
}

// neighbourRows are the rows of the import that others write beside.
const neighbourRows = 200_000

// neighbour measures how long another tenant's writes wait while an import is
// applied.
func (m *measurement) neighbour(ctx context.Context, engine string) (err error) {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "items.csv")
	if err := writeItems(path, neighbourRows); err != nil {
		return err
	}
	s, err := m.tenantOf(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	other := data.Number(2)
	d, err := s.open(ctx)
	if err == nil {
		err = errors.Join(data.WriteTenant(ctx, d, data.Tenant{ID: other, Name: "Bench 2"}), d.Close())
	}
	if err == nil {
		err = s.owner(ctx, other)
	}
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	token, err := s.token(ctx, importer)
	if err != nil {
		return err
	}
	theirs, err := s.token(ctx, other)
	if err != nil {
		return err
	}
	job, err := s.upload(ctx, token, "items.csv", path)
	if err != nil {
		return err
	}
	for _, verb := range []string{"process", "apply"} {
		done := make(chan error, 1)
		go func() {
			_, err := s.step(ctx, token, verb, job)
			done <- err
		}()
		waits, err := s.writeUntil(ctx, theirs, done)
		if err != nil {
			return err
		}
		slices.Sort(waits)
		p99 := waits[len(waits)*99/100]
		if err := m.add(of(fmt.Sprintf("foreign write, p99 during %s", verb), engine, []float64{p99},
			fmt.Sprintf("s; %d writes beside %d rows, most %.2f s", len(waits), neighbourRows, waits[len(waits)-1])).atMost(1,
			" s")); err != nil {
			return err
		}
	}
	return nil
}

// writeUntil inserts an order every 10 ms until done, and says how long each
// took.
func (s *site) writeUntil(ctx context.Context, token string, done <-chan error) (waits []float64, err error) {
	for {
		begin := time.Now()
		if _, err := s.call(ctx, "POST", "/rest/v1/orders", token, "application/json",
			strings.NewReader(`{"type":"outbound","party_name":"Beside"}`)); err != nil {
			return nil, err
		}
		waits = append(waits, time.Since(begin).Seconds())
		select {
		case err := <-done:
			return waits, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
