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

// span is what a step took: seconds on the clock, and CPU-seconds of the server
// and PostgreSQL together. On a shared machine only the second compares.
type span struct {
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"`
}

func (s span) plus(t span) span { return span{s.Wall + t.Wall, s.CPU + t.CPU} }

func (s span) String() string { return fmt.Sprintf("%.1f s (%.1f CPU-s)", s.Wall, s.CPU) }

// imported is one import of a file: checked, applied, and taken back.
type imported struct {
	process, apply, rollback span
	peak                     int64 // bytes of the server's memory
}

// imports measures an import of items against a bare reader that inserts the
// same rows under the same indexes in one transaction; on PostgreSQL against
// parsing and COPY. Each has a fresh database.
func (m *measurement) imports(ctx context.Context, engine string) error {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	few, many := filepath.Join(dir, "few.csv"), filepath.Join(dir, "many.csv")
	if err := errors.Join(writeItems(few, m.rows/10), writeItems(many, m.rows)); err != nil {
		return err
	}
	t := trials{engine: engine, rows: m.rows}
	for range m.rounds {
		small, err := m.imported(ctx, engine, few, nil)
		if err != nil {
			return err
		}
		large, err := m.imported(ctx, engine, many, nil)
		if err != nil {
			return err
		}
		bare, err := m.bare(ctx, engine, many)
		if err != nil {
			return err
		}
		t.small, t.large, t.bare = append(t.small, small), append(t.large, large), append(t.bare, bare)
		if engine != "postgresql" {
			continue
		}
		copied, err := m.bare(ctx, engine, many, "-copy")
		if err != nil {
			return err
		}
		t.copied = append(t.copied, copied)
		loose, err := m.imported(ctx, engine, many, (*site).dropKeys)
		if err != nil {
			return err
		}
		t.loose = append(t.loose, loose)
	}
	for _, x := range t.results() {
		if err := m.add(x); err != nil {
			return err
		}
	}
	return nil
}

// trials are the rounds of one engine.
type trials struct {
	engine       string
	rows         int
	small, large []imported
	loose        []imported // taken back where no key refers to items
	bare, copied []span
}

func (t *trials) each(f func(i int) float64) []float64 {
	out := make([]float64, len(t.large))
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func (t *trials) results() []*result {
	last := t.large[len(t.large)-1]
	both := func(i int) span { return t.large[i].process.plus(t.large[i].apply) }
	limit, name := t.bare, "inserts by hand"
	if t.copied != nil {
		limit, name = t.copied, "parse and COPY"
	}
	cpu := func(l []span) []float64 { return t.each(func(i int) float64 { return l[i].CPU / both(i).CPU }) }
	list := []*result{
		of(fmt.Sprintf("import of %d rows of items, CPU", t.rows), t.engine, cpu(limit),
			fmt.Sprintf("%s %v; process %v, apply %v", name, limit[len(limit)-1], last.process, last.apply)).atLeast(0.4, ""),
		of("  on the clock", t.engine, t.each(func(i int) float64 { return limit[i].Wall / both(i).Wall }),
			fmt.Sprintf("%.0f rows/s", float64(t.rows)/both(len(t.large)-1).Wall)),
		of("  apply alone, CPU", t.engine, t.each(func(i int) float64 { return t.bare[i].CPU / t.large[i].apply.CPU }),
			fmt.Sprintf("inserts by hand %v", t.bare[len(t.bare)-1])).atLeast(0.5, ""),
	}
	if t.copied != nil {
		list = append(list, of("  against inserts by hand, CPU", t.engine, cpu(t.bare), ""))
	}
	if t.loose != nil {
		list = append(list, of("  rollback / apply, CPU, no key refers to items", t.engine, t.each(func(i int) float64 {
			return t.loose[i].rollback.CPU / t.loose[i].apply.CPU
		}), "rollback "+t.loose[len(t.loose)-1].rollback.String()).atMost(0.5, ""))
	}
	return append(list,
		of("  rollback / apply, on the clock", t.engine, t.each(func(i int) float64 {
			return t.large[i].rollback.Wall / t.large[i].apply.Wall
		}), "rollback "+last.rollback.String()).atMost(1, ""),
		of("  rollback / apply, CPU", t.engine, t.each(func(i int) float64 {
			return t.large[i].rollback.CPU / t.large[i].apply.CPU
		}), "").atMost(0.5, ""),
		of("  peak memory", t.engine, t.each(func(i int) float64 {
			return float64(t.large[i].peak) / (1 << 20)
		}), "MB of the server").atMost(250, " MB"),
		of("  peak memory, ten times the rows", t.engine, t.each(func(i int) float64 {
			return float64(t.large[i].peak) / float64(t.small[i].peak)
		}),
			"ratio").atMost(1.5, ""))
}

// imported measures one import. prior, if not nil, runs before it is taken back.
func (m *measurement) imported(
	ctx context.Context, engine, file string, prior func(*site, context.Context) error,
) (r imported, err error) {
	s, err := m.tenantOf(ctx, engine)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.start(ctx); err != nil {
		return r, err
	}
	token, err := s.token(ctx, importer)
	if err != nil {
		return r, err
	}
	job, err := s.upload(ctx, token, "items.csv", file)
	if err != nil {
		return r, err
	}
	for _, step := range []struct {
		name string
		took *span
	}{{"process", &r.process}, {"apply", &r.apply}, {"rollback", &r.rollback}} {
		if step.name == "rollback" && prior != nil {
			if err := prior(s, ctx); err != nil {
				return r, err
			}
		}
		if *step.took, err = m.step(ctx, s, token, step.name, job); err != nil {
			return r, err
		}
	}
	r.peak = load.Peak(s.server.pid())
	return r, nil
}

// dropKeys switches off the promise that whatever refers to an item finds it, to
// see what that promise costs a rollback.
func (s *site) dropKeys(ctx context.Context) error {
	return s.sql(ctx, `do $$ declare k record; begin
		for k in select conrelid::regclass as child, conname from pg_constraint where contype = 'f' and confrelid = 'items'::regclass loop
			execute format('alter table %s drop constraint %I', k.child, k.conname);
		end loop;
	end $$`)
}

// importer is the tenant that imports.
var importer = data.Number(1)

// tenantOf makes a fresh database with a tenant that has no records.
func (m *measurement) tenantOf(ctx context.Context, engine string) (*site, error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return nil, err
	}
	d, err := s.open(ctx)
	if err == nil {
		err = errors.Join(data.WriteTenant(ctx, d, data.Tenant{ID: importer, Name: "Bench 1"}), d.Close())
	}
	if err == nil {
		err = s.owner(ctx, importer)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) upload(ctx context.Context, token, name, file string) (string, error) {
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
	part, err := form.CreateFormFile("file", name)
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

// step calls a function of the import and says what it took, under the profiler
// if asked to.
func (m *measurement) step(ctx context.Context, s *site, token, verb, job string) (took span, err error) {
	if m.profile == "" {
		return s.step(ctx, token, verb, job)
	}
	err = s.server.record(ctx, filepath.Join(m.profile, verb+"-"+s.engine+".pprof"), m.seconds, func() error {
		took, err = s.step(ctx, token, verb, job)
		return err
	})
	return took, err
}

func (s *site) step(ctx context.Context, token, verb, job string) (span, error) {
	roots := append([]int{s.server.pid()}, s.pids...)
	var done struct {
		Success bool `json:"success"`
	}
	took, err := timed(roots, func() error {
		raw, err := s.call(ctx, "POST", "/functions/v1/"+verb+"-import-job", token, "application/json",
			strings.NewReader(`{"job_id":"`+job+`"}`))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &done); err != nil || !done.Success {
			return fmt.Errorf("%s: %.500s", verb, raw)
		}
		return nil
	})
	return took, err
}

// timed says what f took on the clock and of the processes below roots.
func timed(roots []int, f func() error) (span, error) {
	before, err := load.CPU(roots)
	if err != nil {
		return span{}, err
	}
	begin := time.Now()
	if err := f(); err != nil {
		return span{}, err
	}
	took := span{Wall: time.Since(begin).Seconds()}
	after, err := load.CPU(roots)
	took.CPU = after - before
	return took, err
}

// bare has the same file read by hand.
func (m *measurement) bare(ctx context.Context, engine, file string, flags ...string) (took span, err error) {
	s, err := m.tenantOf(ctx, engine)
	if err != nil {
		return took, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	args := append([]string{"read", "-tenant", importer, "-file", file}, flags...)
	if s.url != "" {
		args = append(args, "-database", s.url)
	} else {
		args = append(args, "-data", s.dir)
	}
	cmd, err := self(ctx, args...)
	if err != nil {
		return took, err
	}
	cmd.Stderr = os.Stderr
	var out []byte
	took, err = timed(s.pids, func() error {
		out, err = cmd.Output()
		return err
	})
	if err != nil {
		return took, fmt.Errorf("read by hand: %w", err)
	}
	var done struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(out, &done); err != nil {
		return took, err
	}
	took.CPU += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	took.Wall = done.Seconds
	return took, nil
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
		fmt.Fprintln(w, strings.Join(itemCells(i), ","))
	}
	return errors.Join(w.Flush(), f.Close())
}

// itemCells is row i of a file of items, ready for CSV.
func itemCells(i int) []string {
	return []string{
		fmt.Sprintf("SKU-%07d", i), fmt.Sprintf(`"Item number %d, grade %d"`, i, i%7),
		fmt.Sprintf("Carton of %d for shelf %d", 6+i%18, i%900), fmt.Sprintf("Category %d", i%40), "EA",
		fmt.Sprintf("%d.%02d", 1+i%900, i%100), fmt.Sprintf("%d.5", 2+i%1800), fmt.Sprintf("0.%03d", 1+i%900),
		fmt.Sprint(i % 50), fmt.Sprint(1 + i%30), "ABC"[i%3 : i%3+1], "active",
	}
}
