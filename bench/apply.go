package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
)

// applyRows are the rows of the import; fewRows those of the one that memory
// is compared with.
const (
	applyRows = 100_000
	fewRows   = 10_000
)

// apply measures the apply step of an import of items against a bare reader
// that inserts the same rows under the same indexes. Each has a fresh
// database.
func (m *measurement) apply(ctx context.Context, engine string) error {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	few, many := filepath.Join(dir, "few.csv"), filepath.Join(dir, "many.csv")
	rows := int(applyRows * m.scale)
	if err := errors.Join(writeItems(few, int(fewRows*m.scale)), writeItems(many, rows)); err != nil {
		return err
	}
	var r applied
	for range m.rounds {
		small, err := m.imported(ctx, engine, few)
		if err != nil {
			return err
		}
		large, err := m.imported(ctx, engine, many)
		if err != nil {
			return err
		}
		bare, err := m.bare(ctx, engine, many)
		if err != nil {
			return err
		}
		r.add(small, large, bare)
		if engine != "postgresql" {
			continue
		}
		copied, err := m.bare(ctx, engine, many, "-copy")
		if err != nil {
			return err
		}
		r.copied = append(r.copied, copied/large.apply)
	}
	r.note += fmt.Sprintf(", %.0f rows/s", float64(rows)/r.last)
	for _, x := range r.results(engine, rows) {
		if err := m.add(x); err != nil {
			return err
		}
	}
	return nil
}

// applied gathers the rounds' ratios.
type applied struct {
	ratios, whole, growth, copied []float64
	last                          float64
	note                          string
}

func (r *applied) add(small, large imported, bare float64) {
	r.ratios = append(r.ratios, bare/large.apply)
	r.whole = append(r.whole, bare/(large.process+large.apply))
	r.growth = append(r.growth, float64(large.peak)/float64(small.peak))
	r.last = large.apply
	r.note = fmt.Sprintf("by hand %.2f s, process %.2f s, apply %.2f s", bare, large.process, large.apply)
}

func (r *applied) results(engine string, rows int) []*result {
	list := []*result{
		of(fmt.Sprintf("apply of %d rows of items", rows), engine, r.ratios, r.note).atLeast(0.5, ""),
		of("  with processing", engine, r.whole, "the check of every row included"),
	}
	if len(r.copied) > 0 {
		list = append(list, of("  apply against COPY", engine, r.copied, "the same file by COPY"))
	}
	return append(list, of("  peak memory, ten times the rows", engine, r.growth, "peak of the server's memory, ratio").atMost(1.5, ""))
}

type imported struct {
	process, apply float64 // seconds
	peak           int64   // bytes
}

func (m *measurement) imported(ctx context.Context, engine, file string) (r imported, err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	t := data.Tenant{ID: data.Number(1), Name: "Bench 1"}
	if err := s.fillBare(ctx, t); err != nil {
		return r, err
	}
	if err := s.owner(ctx, t.ID); err != nil {
		return r, err
	}
	if err := s.start(ctx); err != nil {
		return r, err
	}
	token, err := s.token(ctx, t.ID)
	if err != nil {
		return r, err
	}
	job, err := s.upload(ctx, token, file)
	if err != nil {
		return r, err
	}
	if r.process, err = s.step(ctx, token, "process-import-job", job); err != nil {
		return r, err
	}
	if r.apply, err = s.step(ctx, token, "apply-import-job", job); err != nil {
		return r, err
	}
	r.peak = load.Peak(s.server.pid())
	return r, nil
}

func (s *site) upload(ctx context.Context, token, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("target", "items"); err != nil {
		return "", err
	}
	part, err := form.CreateFormFile("file", "items.csv")
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(part, f); err != nil {
		return "", err
	}
	if err := form.Close(); err != nil {
		return "", err
	}
	raw, err := s.call(ctx, "POST", "/v1/import-jobs", token, form.FormDataContentType(), &body)
	if err != nil {
		return "", err
	}
	var job struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(raw, &job); err != nil || job.ID == "" {
		return "", fmt.Errorf("no job in %s", raw)
	}
	return job.ID, nil
}

// step calls a function of the import and says how long it took.
func (s *site) step(ctx context.Context, token, function, job string) (float64, error) {
	begin := time.Now()
	raw, err := s.call(ctx, "POST", "/functions/v1/"+function, token, "application/json", strings.NewReader(`{"job_id":"`+job+`"}`))
	if err != nil {
		return 0, err
	}
	var done struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(raw, &done); err != nil || !done.Success {
		return 0, fmt.Errorf("%s: %.500s", function, raw)
	}
	return time.Since(begin).Seconds(), nil
}

// bare has the same file read by hand.
func (m *measurement) bare(ctx context.Context, engine, file string, flags ...string) (seconds float64, err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	t := data.Tenant{ID: data.Number(1), Name: "Bench 1"}
	if err := s.fillBare(ctx, t); err != nil {
		return 0, err
	}
	args := append([]string{"read", "-tenant", t.ID, "-file", file}, flags...)
	if s.url != "" {
		args = append(args, "-database", s.url)
	} else {
		args = append(args, "-data", s.dir)
	}
	cmd, err := self(ctx, args...)
	if err != nil {
		return 0, err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("read by hand: %w", err)
	}
	var done struct {
		Seconds float64 `json:"seconds"`
		Rows    int     `json:"rows"`
	}
	if err := json.Unmarshal(out, &done); err != nil {
		return 0, err
	}
	return done.Seconds, nil
}

// fillBare writes a tenant without records.
func (s *site) fillBare(ctx context.Context, t data.Tenant) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(data.WriteTenant(ctx, d, t), d.Close())
}

// writeItems writes a CSV file of items.
func writeItems(path string, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, strings.Join(limit.ItemHeader, ","))
	for i := range rows {
		fmt.Fprintf(w, "SKU-%07d,\"Item number %d, grade %d\",Category %d,EA,%d.%02d,%d.5,0.%03d,%d,%d,active\n", i, i, i%7, i%40, 1+i%900, i%100, 2+i%1800, 1+i%900, i%50, 1+i%30)
	}
	return errors.Join(w.Flush(), f.Close())
}
