package password

import (
	"bufio"
	"encoding/gob"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/crypto/argon2"
)

// WorkerCommand is the command of the program that runs Work on its standard
// input and output; with the flag WorkerIdle it calls GiveWay first.
const (
	WorkerCommand = "hash-passwords"
	WorkerIdle    = "idle"
)

// task is a hash to check, or with Hash "" to make.
type task struct {
	ID             uint64
	Hash, Password string
}

// outcome is what became of a task: the hash that was made, or whether the
// password was right.
type outcome struct {
	ID   uint64
	Hash string
	OK   bool
}

func (t task) runHere() outcome {
	if t.Hash == "" {
		salt := randomSalt()
		return outcome{ID: t.ID, Hash: formatHash(salt, argon2.IDKey([]byte(t.Password), salt, passes, memoryKiB, lanes,
			keyLen))}
	}
	return outcome{ID: t.ID, OK: verifyHash(t.Hash, t.Password)}
}

// Work hashes for the process at the other end of in and out until in ends,
// all that it is given at once: the other end counts. The process must have
// nothing else to do: its memory is bounded to what that many hashes need and two
// more, and collected only when that is full, so that the next hash finds it there
// and the machine need not find other; collected after each hash, half of it went
// back to the machine and was fetched again. It returns without waiting for
// hashes that run, which nobody is there to read.
func Work(in io.Reader, out io.Writer) error {
	room := (atOnce() + 2) * memoryKiB << 10
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(int64(room + room/8))
	onHugePages(room)
	runtime.GC()
	var mu sync.Mutex
	tasks, results := gob.NewDecoder(bufio.NewReader(in)), gob.NewEncoder(out)
	for {
		var t task
		err := tasks.Decode(&t)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			o := t.runHere()
			mu.Lock()
			_ = results.Encode(o) // an end that is gone shows in the input
			mu.Unlock()
		}()
	}
}
