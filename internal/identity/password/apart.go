package password

import (
	"cmp"
	"encoding/gob"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// apart hashes in a process of its own: a hash takes milliseconds of a
// processor and 19 MiB that are thrown away, and neither the scheduler nor the
// collector of the process that answers requests should know of it. The process
// is started when it is needed and ended when it no longer is. What it does not
// do somebody else has to.
type apart struct {
	command  []string
	patience time.Duration // that a hash may take before it is given to somebody else
	rest     time.Duration // before a process that failed, or was late, is asked again
	idle     time.Duration // without work after which the process is ended

	mu    sync.Mutex
	last  *worker // may have ended
	after time.Time
	shut  bool
}

func newApart(patience time.Duration, command ...string) *apart {
	return &apart{command: command, patience: patience, rest: 10 * time.Second, idle: time.Minute}
}

// runTask runs a task in the process; not ok means that the process did not.
func (a *apart) runTask(t task) (o outcome, ok bool) {
	w, answer := a.giveTask(t)
	if w == nil {
		return outcome{}, false
	}
	// Processors that others keep busy give the process nothing, and neither
	// does one that was stopped.
	// An imported hash may cost many times ours: that it is late says nothing.
	patience, ordinary := a.patience, t.Hash == "" || strings.HasPrefix(t.Hash, ours)
	if !ordinary {
		patience *= 10
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case o, ok = <-answer:
		return o, ok
	case <-late.C:
		if ordinary {
			a.pauseWork()
		}
		return outcome{}, false
	}
}

// pauseWork gives the process no work for a while.
func (a *apart) pauseWork() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after = time.Now().Add(a.rest)
}

// giveTask hands a task to the process, starting it if there is none. A process
// that is full of work its callers have given up gets no more.
func (a *apart) giveTask(t task) (*worker, chan outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil && a.last.hasEnded() {
		if a.last.err != nil {
			a.noteFailure(a.last.err)
		}
		a.last = nil
	}
	if a.shut || time.Now().Before(a.after) {
		return nil, nil
	}
	if a.last == nil {
		w, err := startWorker(a.command, a.idle)
		if err != nil {
			a.noteFailure(err)
			return nil, nil
		}
		a.last = w
	}
	answer, err := a.last.sendTask(t)
	if err != nil {
		a.noteFailure(err)
	}
	if answer == nil {
		return nil, nil
	}
	return a.last, answer
}

func (a *apart) noteFailure(err error) {
	slog.Warn("a process that hashes passwords failed", "error", err)
	a.after = time.Now().Add(a.rest)
}

// endProcess ends the process; none is started after that.
func (a *apart) endProcess() {
	a.mu.Lock()
	a.shut = true
	w := a.last
	a.mu.Unlock()
	if w != nil {
		w.stopWorker()
		<-w.done
	}
}

// worker is a running process.
type worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	idle time.Duration
	quit *time.Timer
	done chan struct{} // closed when the process has ended
	err  error         // why it ended by itself; to be read after done

	mu      sync.Mutex
	tasks   *gob.Encoder
	waiting map[uint64]chan outcome
	made    uint64
	stopped bool
}

func startWorker(command []string, idle time.Duration) (*worker, error) {
	w := &worker{cmd: exec.Command(command[0], command[1:]...), idle: idle, done: make(chan struct{}),
		waiting: map[uint64]chan outcome{}}
	w.cmd.Env = []string{} // it needs none of our secrets
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("password: worker: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("password: worker: %w", err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("password: worker: %w", err)
	}
	w.tasks = gob.NewEncoder(w.in)
	w.quit = time.AfterFunc(idle, w.stopWorker)
	go w.readOutcomes(out)
	return w, nil
}

func (w *worker) hasEnded() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// sendTask sends a task; a nil channel says that the process is full or gone.
func (w *worker) sendTask(t task) (chan outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil || len(w.waiting) >= atOnce() {
		return nil, nil
	}
	w.quit.Reset(w.idle)
	w.made++
	t.ID = w.made
	if err := w.tasks.Encode(t); err != nil {
		return nil, fmt.Errorf("password: worker: %w", err)
	}
	answer := make(chan outcome, 1)
	w.waiting[t.ID] = answer
	return answer, nil
}

// readOutcomes hands outcomes to their callers until the process ends, and tells
// those whose outcome is lost.
func (w *worker) readOutcomes(out io.Reader) {
	defer close(w.done)
	results := gob.NewDecoder(out)
	for {
		var o outcome
		if results.Decode(&o) != nil {
			break
		}
		w.mu.Lock()
		if answer := w.waiting[o.ID]; answer != nil {
			answer <- o
			delete(w.waiting, o.ID)
		}
		w.mu.Unlock()
	}
	w.mu.Lock()
	lost, stopped := w.waiting, w.stopped
	w.waiting = nil
	w.mu.Unlock()
	for _, answer := range lost {
		close(answer)
	}
	w.stopWorker()
	if err := w.cmd.Wait(); !stopped {
		w.err = fmt.Errorf("password: the worker ended by itself: %w", cmp.Or(err, io.EOF))
	}
}

// stopWorker ends the process; nobody waits for what it does. It may not be able to
// end itself.
func (w *worker) stopWorker() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.quit.Stop()
	_ = w.in.Close()
	_ = w.cmd.Process.Kill() // fails if it has ended
}
