package plan

import (
	"encoding/json"

	"holdfast/internal/db"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/jobs"
)

// Of reads what was decided about a job's file, and its options as they
// are now.
func Of(tx *db.Tx, job *jobs.Job) (*Plan, Settings, error) {
	settings, err := ParseSettings(job.Options)
	if err != nil {
		return nil, settings, err
	}
	p, err := Read(tx, job)
	return p, settings, err
}

// Fingerprint is what a staged file depends on, as text.
func Fingerprint(s Settings, mapping json.RawMessage) string {
	s.Force, s.DryRun = false, false
	b, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(b) + cell.Line(string(mapping))
}
