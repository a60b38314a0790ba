package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// kept bounds the buffer that is used again, in bytes.
const kept = 64 << 10

// A link is one connection. Who asks while nobody writes writes for all that
// ask meanwhile; one goroutine reads the answers, which come in the order of
// the commands. A link is used until it is broken.
type link struct {
	conn   net.Conn
	broken chan struct{}
	once   sync.Once
	cause  error // why it broke; read it after broken is closed

	mu       sync.Mutex
	out      []byte // to be written
	spare    []byte // what was written last, to become out again; nil while it is out
	writing  bool
	due      []*call // written or to be, and not answered
	answered int64

	before int64 // answered at the last watch
	still  int   // watches since then without an answer
}

// A call is a command on its way. Who waits may leave before the answer comes.
type call struct {
	link  *link
	done  chan struct{} // closed with value
	value Value
}

func newLink(conn net.Conn, r *reader) *link {
	l := &link{conn: conn, broken: make(chan struct{})}
	go l.read(r)
	return l
}

// end breaks the link: every call on it fails with the cause.
func (l *link) end(cause error) {
	l.once.Do(func() {
		l.cause = fmt.Errorf("redis: the connection is lost: %w", cause)
		close(l.broken)
		_ = l.conn.Close() // it is given up
	})
}

func (l *link) send(args []string) *call {
	c := &call{link: l, done: make(chan struct{})}
	l.mu.Lock()
	l.out = command(l.out, args)
	l.due = append(l.due, c)
	if l.writing {
		l.mu.Unlock()
		return c
	}
	l.writing = true
	for len(l.out) > 0 {
		b := l.out
		l.out, l.spare = l.spare[:0], nil
		l.mu.Unlock()
		err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if err == nil {
			_, err = l.conn.Write(b)
		}
		if err != nil {
			l.end(err) // and nobody writes any more
			return c
		}
		l.mu.Lock()
		if cap(b) <= kept {
			l.spare = b
		}
	}
	l.writing = false
	l.mu.Unlock()
	return c
}

// wait returns the answer, or why there is none.
func (c *call) wait(ctx context.Context) (Value, error) {
	select {
	case <-c.done:
		return c.value, c.value.Err()
	case <-c.link.broken:
		return Value{}, c.link.cause
	case <-ctx.Done():
		return Value{}, ctx.Err()
	}
}

// read hears a server that hangs up also while nothing is asked of it.
func (l *link) read(r *reader) {
	for {
		v, err := r.value()
		if err != nil {
			l.end(err)
			return
		}
		c := l.next()
		if c == nil {
			l.end(errUnasked)
			return
		}
		c.value = v
		close(c.done)
	}
}

var errUnasked = errors.New("an answer to nothing")

// next is the call whose answer has come.
func (l *link) next() *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.due) == 0 {
		return nil
	}
	c := l.due[0]
	l.due[0] = nil
	if l.due = l.due[1:]; len(l.due) == 0 {
		l.due = nil
	}
	l.answered++
	return c
}

// watch is called every redialEvery and ends a link on which nothing was
// answered for lostAfter, although something is due.
func (l *link) watch() {
	l.mu.Lock()
	due, answered := len(l.due), l.answered
	l.mu.Unlock()
	if due == 0 || answered != l.before {
		l.before, l.still = answered, 0
		return
	}
	if l.still++; l.still > int(lostAfter/redialEvery) {
		l.end(os.ErrDeadlineExceeded)
	}
}
