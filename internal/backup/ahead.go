package backup

import (
	"io"
	"sync"
)

// Blocks that are read ahead: as large as pays for handing them over, and as
// many as let the slower side never wait for one hiccup of the other.
const (
	aheadBlock  = 256 << 10
	aheadBlocks = 8
)

// ahead reads, and so decrypts, on one processor while another hashes and
// writes what was read before.
type ahead struct {
	full  chan block
	empty chan []byte
	over  chan struct{}
	done  sync.WaitGroup
	now   block
	rest  []byte
}

// block is a piece of what is read, and the error that came behind it.
type block struct {
	text []byte
	err  error
}

// readAhead begins to read from r. Close must be called before r goes.
func readAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan block, aheadBlocks), empty: make(chan []byte, aheadBlocks), over: make(chan struct{})}
	for range aheadBlocks {
		a.empty <- make([]byte, aheadBlock)
	}
	a.done.Go(func() { a.readAhead(r) })
	return a
}

func (a *ahead) readAhead(r io.Reader) {
	for {
		select {
		case <-a.over:
			return
		case b := <-a.empty:
			n, err := fillBlock(r, b)
			a.full <- block{b[:n], err} // never waits: no more blocks are made than it holds
			if err != nil {
				return
			}
		}
	}
}

// fillBlock reads until b is full. Unlike io.ReadFull it tells the error of r.
func fillBlock(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		more, err = r.Read(b[n:])
		n += more
	}
	return n, err
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.text != nil {
			a.empty <- a.now.text[:aheadBlock]
		}
		a.now = <-a.full
		a.rest = a.now.text
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the reading and waits for it.
func (a *ahead) Close() error {
	close(a.over)
	a.done.Wait()
	return nil
}
