package photo

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"holdfast/internal/blob"
	"holdfast/internal/fault"
)

// shelf notes what is deleted.
type shelf struct{ gone []string }

func (s *shelf) Put(context.Context, io.Reader, int64) (blob.Ref, error) { return blob.Ref{}, nil }
func (s *shelf) Open(context.Context, string) (io.ReadSeekCloser, error) { return nil, nil }
func (s *shelf) Delete(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.gone = append(s.gone, key)
	return nil
}

// A picture goes when its record was refused. When nobody knows whether the
// commit came through it stays, for the record that may name it.
func TestDiscard(t *testing.T) {
	unknown := fault.Wrap(context.DeadlineExceeded, fault.Unavailable, "08007",
		"the outcome of the transaction is unknown")
	for what, c := range map[string]struct {
		err  error
		gone bool
	}{
		"refused": {fault.New(fault.Conflict, "23505", "taken"), true},
		"no room": {fault.New(fault.TooLarge, CodeFull, "full"),
			true}, "broken": {errors.New("a fault of ours"), true},
		"unknown": {unknown, false}, "unknown, told by a caller": {errors.Join(errors.New("report: write"), unknown), false},
	} {
		s := &shelf{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the client has gone: what is to be dropped is dropped all the same
		New(nil, s, 0, "").Discard(ctx, &Kept{ref: blob.Ref{Key: "k"}}, c.err)
		if slices.Contains(s.gone, "k") != c.gone {
			t.Errorf("%s: deleted %v, want %v", what, s.gone, c.gone)
		}
	}
}
