package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
)

// ImportFile is one `holdfast import`.
type ImportFile struct {
	Path, Target, Tenant string
	Mapping              map[string]string
	Options              map[string]string
	DryRun               bool
	Progress             io.Writer // counts the bytes read; may be nil
}

// ImportReport says what became of the file.
type ImportReport struct {
	Job     *jobs.Job
	Checked *plan.Processed
	Applied *imports.Applied
	DryRun  bool
}

// Import uploads, checks and applies a file as the operator.
func (a *App) Import(ctx context.Context, f ImportFile) (*ImportReport, error) {
	t, err := a.Tenant(ctx, f.Tenant)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	req, err := f.importRequest()
	if err != nil {
		return nil, err
	}
	var in io.Reader = file
	if f.Progress != nil {
		in = io.TeeReader(file, f.Progress)
	}
	by := commandLineActor(t.ID)
	out := &ImportReport{DryRun: f.DryRun}
	if out.Job, err = a.Imports.Upload(ctx, by, req, filepath.Base(f.Path), in); err != nil {
		return nil, err
	}
	if out.Checked, err = a.Imports.Process(ctx, by, out.Job.ID); err != nil || f.DryRun ||
		out.Checked.Stats.ValidRows == 0 {
		return out, err
	}
	out.Applied, err = a.Imports.Apply(ctx, by, out.Job.ID)
	return out, err
}

func (f ImportFile) importRequest() (imports.Request, error) {
	req := imports.Request{Target: f.Target}
	if len(f.Mapping) > 0 {
		b, err := json.Marshal(f.Mapping)
		if err != nil {
			return req, err
		}
		req.Mapping = b
	}
	options := map[string]any{}
	for k, v := range f.Options {
		options[k] = v
		if v == "true" || v == "false" {
			options[k] = v == "true"
		}
		if n, err := strconv.Atoi(v); err == nil && k == "header_row" {
			options[k] = n
		}
	}
	if f.DryRun {
		options["dry_run"] = true
	}
	b, err := json.Marshal(options)
	req.Options = b
	return req, err
}

// Report is the outcome for a person at a terminal.
func (r *ImportReport) Report() string {
	var b strings.Builder
	if c := r.Checked; c != nil {
		fmt.Fprintf(&b, "job %s: %d rows, %d valid, %d refused\n", r.Job.ID, c.Stats.TotalRows, c.Stats.ValidRows,
			c.Stats.InvalidRows)
		for i, e := range c.Errors {
			if i == 20 {
				fmt.Fprintf(&b, "  ... and more\n")
				break
			}
			fmt.Fprintf(&b, "  line %d, %s: %s\n", e.Line, e.Column, e.Message)
		}
	}
	if r.Applied != nil {
		fmt.Fprintf(&b, "%s\n", r.Applied.Message)
	} else if r.DryRun {
		b.WriteString("dry run: nothing was written\n")
	}
	return b.String()
}
