package password

import (
	"sync"
	"sync/atomic"
	"time"
)

// share says how much of the machine hashes may take: all of it while nobody
// else is served, half of it while others are. A hash reads and writes 19 MiB all
// over; two processors that do so beside those who answer requests leave them
// no cache, however low their priority.
type share struct {
	answered func() int64 // requests so far; nil where none are answered
	hashing  atomic.Int64 // of these, those that asked for a hash and have it, or never will

	mu     sync.Mutex
	looked time.Time
	others int64 // requests without a hash, when looked at
	busy   bool
}

// Others are served when so many requests a second ask for no hash, looked at
// so often.
const (
	someOthers = 20
	lookAgain  = 100 * time.Millisecond
)

// isCrowded reports that others are served.
func (s *share) isCrowded(now time.Time) bool {
	if s.answered == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	past := now.Sub(s.looked)
	if past < lookAgain {
		return s.busy
	}
	others := s.answered() - s.hashing.Load()
	s.busy = float64(others-s.others) >= someOthers*past.Seconds()
	s.looked, s.others = now, others
	return s.busy
}
