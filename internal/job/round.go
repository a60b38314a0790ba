package job

import (
	"context"
	"errors"
	"fmt"
)

const (
	mostRefusals = 3 // failures in a row to claim a job, or to note its outcome, that end a round
	shownErrors  = 5 // errors of a round that its own error names; the rest are counted
)

// round is one pass over the jobs of a kind that are due.
type round struct {
	runner *Runner
	kind   Kind
	done   int
	faults int       // in a row: what the jobs need may be away
	failed errorList // of single jobs, which are tried again by themselves
}

// doRound returns the failures of single jobs apart from err, which says why the
// round could not go on.
func (r *Runner) doRound(ctx context.Context, kind string) (done int, failed, err error) {
	k, ok := r.kinds[kind]
	if !ok {
		return 0, nil, fmt.Errorf("job: there is no kind %q", kind)
	}
	if k.Idle != nil && k.Idle() {
		return 0, nil, nil
	}
	pass := &round{runner: r, kind: k}
	for more := true; more && err == nil && ctx.Err() == nil; {
		var page []Job
		if page, err = r.listDue(ctx, k); err != nil || len(page) == 0 {
			break
		}
		more, err = pass.doPage(ctx, page)
	}
	return pass.done, pass.failed.err(), err
}

// doPage does some jobs. It reports whether the next page may hold others: it
// would hold the same ones where none could be claimed, or where one was refused.
func (p *round) doPage(ctx context.Context, page []Job) (more bool, err error) {
	refused, inRow := errorList{}, 0
	for _, j := range page {
		mine, err := p.runner.doJob(ctx, p.kind, j)
		more = more || mine
		if isUnstored(err) {
			refused.add(err)
			if inRow++; inRow >= mostRefusals {
				break
			}
			continue
		}
		inRow = 0
		p.count(mine, err)
		if ctx.Err() != nil {
			return false, nil
		}
		if p.kind.Faults > 0 && p.faults >= p.kind.Faults {
			return false, fmt.Errorf("job: what %s needs is away: %w", p.kind.Name, p.failed.err())
		}
	}
	return more, refused.err()
}

// count records how a job ended whose outcome was noted.
func (p *round) count(mine bool, err error) {
	if err != nil {
		p.failed.add(err)
		if !isStopped(err) && !isLone(err) {
			p.faults++
		}
	} else if mine {
		p.done++
		p.faults = 0
	}
}

// errorList keeps the first of many errors and counts the rest.
type errorList struct {
	shown []error
	more  int
}

func (e *errorList) add(err error) {
	if len(e.shown) == shownErrors {
		e.more++
		return
	}
	e.shown = append(e.shown, err)
}

// err is nil when there was none.
func (e *errorList) err() error {
	err := errors.Join(e.shown...)
	if e.more > 0 {
		return fmt.Errorf("%w\nand %d more", err, e.more)
	}
	return err
}

// unstored marks an error of the job's row: the job was not claimed, or what
// became of it was not noted.
type unstored struct{ error }

func (u unstored) Unwrap() error { return u.error }

func isUnstored(err error) bool {
	var u unstored
	return errors.As(err, &u)
}
