package plan

import (
	"fmt"

	"holdfast/internal/fault"
	"holdfast/internal/imports/staged"
)

// Stats counts a file's rows.
type Stats struct {
	TotalRows   int64 `json:"total_rows"`
	ValidRows   int64 `json:"valid_rows"`
	InvalidRows int64 `json:"invalid_rows"`
}

// Counts says what applying would do, as things are.
type Counts struct {
	Inserts   int64 `json:"inserts"`
	Updates   int64 `json:"updates"`
	Unchanged int64 `json:"unchanged"`
}

// Processed is the answer of Process.
type Processed struct {
	Success  bool              `json:"success"`
	JobID    string            `json:"job_id"`
	FileType string            `json:"file_type"`
	Stats    Stats             `json:"stats"`
	Message  string            `json:"message"`
	Mapping  map[string]string `json:"mapping"`
	Columns  []Column          `json:"columns"`
	Preview  *Counts           `json:"preview,omitempty"` // of a dry run
	Ignored  []string          `json:"ignored_columns"`
	Warnings []string          `json:"warnings"`
	Errors   []staged.RowError `json:"errors"`
}

// Say puts the numbers into a sentence, with the warnings after it.
func (p *Processed) Say() {
	n := p.Stats
	switch {
	case n.TotalRows == 0:
		p.Message = "The file has no rows below its header."
	case n.InvalidRows == 0 && n.TotalRows == 1:
		p.Message = "The row is ready to be applied."
	case n.InvalidRows == 0:
		p.Message = fmt.Sprintf("All %d rows are ready to be applied.", n.TotalRows)
	default:
		p.Message = fmt.Sprintf("%d of %s ready to be applied; %s errors and will be left out.", n.ValidRows,
			fault.Counted(n.TotalRows, "row is", "rows are"), fault.Counted(n.InvalidRows, "has", "have"))
	}
	if c := p.Preview; c != nil {
		p.Message += fmt.Sprintf(" They would make %s, change %d and leave %d as they are.",
			fault.Counted(c.Inserts, "record", "records"), c.Updates, c.Unchanged)
	}
	for _, w := range p.Warnings {
		p.Message += " " + w
	}
}
