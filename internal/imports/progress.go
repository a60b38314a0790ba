package imports

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/imports/jobs"
)

// Progress is how far a job is. While it is processed Done counts the rows
// checked of all the Total, which is 0 until the file was read once; while it is
// applied they count rows applied and to apply, and while it is rolled back those that are back and
// all. Percent is 0 to 100.
type Progress struct {
	JobID   string  `json:"job_id"`
	Status  string  `json:"status"`
	Done    int64   `json:"done"`
	Total   int64   `json:"total"`
	Percent float64 `json:"percent"`
	Message string  `json:"message,omitempty"`
}

// Working reports that something is under way.
func (p *Progress) Working() bool {
	return p.Status == jobs.Processing || p.Status == jobs.Applying || p.Status == jobs.RollingBack
}

// Over reports that nothing more can come.
func (p *Progress) Over() bool { return p.Status == jobs.RolledBack || p.Status == jobs.Cancelled }

// Progress tells how far a job is.
func (m *Importer) Progress(ctx context.Context, a actor.Actor, jobID string) (*Progress, error) {
	job, err := m.jobs.Load(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	p := &Progress{JobID: job.ID, Status: job.Status, Message: job.Message}
	switch job.Status {
	case jobs.Processing:
		p.Done, p.Total = job.ValidRows+job.InvalidRows, job.TotalRows
	case jobs.Created, jobs.Uploaded, jobs.Cancelled:
	case jobs.RollingBack:
		p.Done, p.Total = job.RolledBackCount, job.ImportedCount
	case jobs.RolledBack:
		p.Done, p.Total = job.RolledBackCount, job.RolledBackCount
	default:
		p.Done, p.Total = job.ImportedCount, job.ValidRows
	}
	if job.Status == jobs.Completed || job.Status == jobs.RolledBack {
		p.Total, p.Percent = p.Done, 100
	} else if p.Total > 0 {
		p.Percent = float64(1000*p.Done/p.Total) / 10
	}
	return p, nil
}
