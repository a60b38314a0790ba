package password

import "runtime"

// calmly runs f on a thread of its own that yields to every other of the
// process: a hash takes milliseconds of a processor, and requests that take
// microseconds should not stand behind a crowd that signs in. A panic of f is
// the caller's.
func calmly(f func()) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		runtime.LockOSThread() // never unlocked: the thread ends with f
		yieldToOthers()
		f()
	}()
	if p := <-done; p != nil {
		panic(p)
	}
}

// Threads is how many hashes run at once; a server that wants its other work to
// go on beside them gives the scheduler so many processors more.
func Threads() int { return runtime.NumCPU() }
