package imports

import (
	"context"

	"holdfast/internal/fault"
)

// ClaimAsked is what a request does first that begins a step: it looks whether
// the claim still holds.
func (m *Importer) ClaimAsked(ctx context.Context) any { return m.jobs.TakeClaim(ctx) }

// Conflicts lists what a refused rollback names, nil for other errors.
func Conflicts(err error) []Conflict {
	if err == nil {
		return nil
	}
	list, _ := fault.As(err).Data.([]Conflict)
	return list
}
