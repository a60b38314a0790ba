package programme

import "io"

// answer is a function's answer that is made while it is sent: that of a large
// tenant is never there as a whole.
type answer func(o *output)

// block is how much of an answer gathers before it is sent.
const block = 32 << 10

// output is an answer on its way. buf is what was made and not sent yet.
type output struct {
	to   io.Writer
	buf  []byte
	sent int64
	err  error
}

// WriteTo makes the answer and sends it to w.
func (f answer) WriteTo(w io.Writer) (int64, error) {
	o := &output{to: w, buf: make([]byte, 0, 2048)}
	f(o)
	o.send()
	return o.sent, o.err
}

// flush sends what has gathered when it is enough, and reports whether anybody
// still takes it.
func (o *output) flush() bool {
	if len(o.buf) >= block {
		o.send()
	}
	return o.err == nil
}

func (o *output) send() {
	if o.err != nil || len(o.buf) == 0 {
		return
	}
	n, err := o.to.Write(o.buf)
	o.sent, o.err, o.buf = o.sent+int64(n), err, o.buf[:0]
}
