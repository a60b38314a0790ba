// Package load is a closed-loop HTTP driver: a number of keep-alive
// connections each send a request, wait for the answer and send the next. It
// reads the CPU time of the servers' process trees from /proc, because requests
// per CPU-second compare programs where requests per second compare schedulers.
package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Plan is one run.
type Plan struct {
	Address string        // host:port
	Conns   int           // connections
	Time    time.Duration // how long
	Warm    time.Duration // before that, unmeasured
	PIDs    []int         // roots of the process trees to charge
	Request Request
	Turns   []Request     // that each connection sends in turn after Request, so that noise hits all alike
	Seeds   []string      // first value of {carry}, one for each connection
	Choices []string      // what {choice} is one of
	Every   time.Duration // from one request of a connection to the next, if the answer is there by then; 0 = at once
}

// Request is a template. {i} is a number that rises with every request,
// {rand:a-b} a random one, {choice} one of the plan's choices at random, {carry}
// what the connection's last answer had as Carry.
type Request struct {
	Method string
	Path   string
	Header []string // "Name: value"
	Body   string
	Status int    // the status that counts as success
	Carry  string // JSON member of the answer, a string, that the next request takes
}

// Report is what a run showed. Times are milliseconds.
type Report struct {
	Requests  int     `json:"requests"`
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"`
	CPU       float64 `json:"cpu_seconds"`
	PerCPU    float64 `json:"requests_per_cpu_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
	Bytes     int64   `json:"body_bytes"`
	RSS       int64   `json:"rss_bytes"` // of the first tree, at the end
	FirstFail string  `json:"first_failure,omitempty"`

	Turns []Report `json:"turns,omitempty"` // of the plan's turns: counts and times only
}

// Run drives the plan and reports.
func Run(p Plan) (Report, error) {
	parts := make([][][]part, 1+len(p.Turns))
	for i, r := range p.turns() {
		parts[i] = compile(p.Address, r)
	}
	if p.Warm > 0 {
		if _, err := drive(p, parts, p.Warm); err != nil {
			return Report{}, err
		}
	}
	cpu, err := CPU(p.PIDs)
	if err != nil {
		return Report{}, err
	}
	begin := time.Now()
	workers, err := drive(p, parts, p.Time)
	if err != nil {
		return Report{}, err
	}
	seconds := time.Since(begin).Seconds()
	after, err := CPU(p.PIDs)
	if err != nil {
		return Report{}, err
	}
	r := sum(workers, 0)
	for i := range p.Turns {
		r.Turns = append(r.Turns, sum(workers, 1+i))
	}
	r.Seconds, r.CPU = seconds, after-cpu
	r.PerSecond = float64(r.Requests) / seconds
	if r.CPU > 0 && len(p.Turns) == 0 { // else it is spent on all of them
		r.PerCPU = float64(r.Requests) / r.CPU
	}
	r.RSS, err = RSS(p.PIDs[:min(1, len(p.PIDs))])
	return r, err
}

// turns are the requests that follow each other on a connection.
func (p *Plan) turns() []Request { return append([]Request{p.Request}, p.Turns...) }

// turn is what one connection saw of one of the requests it sends in turn.
type turn struct {
	took   []time.Duration
	failed int
	bytes  int64
	first  string
}

type worker struct {
	turns []turn
	carry []byte
}

func drive(p Plan, parts [][][]part, d time.Duration) ([]worker, error) {
	workers := make([]worker, p.Conns)
	errs := make([]error, p.Conns)
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for i := range workers {
		workers[i].turns = make([]turn, len(parts))
		if i < len(p.Seeds) {
			workers[i].carry = []byte(p.Seeds[i])
		}
		wg.Go(func() { errs[i] = workers[i].run(p, parts, end, uint64(i)) })
	}
	wg.Wait()
	return workers, errors.Join(errs...)
}

func (w *worker) run(p Plan, parts [][][]part, end time.Time, seed uint64) error {
	c, err := net.Dial("tcp", p.Address)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 64<<10)
	rng := rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano())))
	var out []byte
	requests := p.turns()
	for n := uint64(0); ; n++ {
		k := n % uint64(len(requests))
		request, t := &requests[k], &w.turns[k]
		begin := time.Now()
		if begin.After(end) {
			return nil
		}
		out = write(out[:0], parts[k], filling{seed<<40 | n, rng, w.carry, p.Choices})
		if _, err := c.Write(out); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		status, size, head, err := read(in, request.Status, request.Carry, &w.carry)
		if err != nil {
			return fmt.Errorf("load: %s %s: %w", request.Method, request.Path, err)
		}
		t.took = append(t.took, time.Since(begin))
		t.bytes += size
		if status != request.Status {
			t.failed++
			if t.first == "" {
				t.first = fmt.Sprintf("status %d: %s", status, head)
			}
		}
		if p.Every > 0 {
			time.Sleep(time.Until(begin.Add(p.Every)))
		}
	}
}

// sum reports on the nth of the requests sent in turn.
func sum(workers []worker, n int) Report {
	var r Report
	var all []time.Duration
	for i := range workers {
		w := &workers[i].turns[n]
		all = append(all, w.took...)
		r.Failed += w.failed
		r.Bytes += w.bytes
		if r.FirstFail == "" {
			r.FirstFail = w.first
		}
	}
	r.Requests = len(all) - r.Failed
	if len(all) == 0 {
		return r
	}
	r.Bytes /= int64(len(all))
	slices.Sort(all)
	ms := func(q float64) float64 {
		return float64(all[min(len(all)-1, int(q*float64(len(all))))].Microseconds()) / 1000
	}
	r.P50, r.P99, r.Max = ms(0.5), ms(0.99), ms(1)
	return r
}

// part is a piece of a template: text, the counter, or a random number.
type part struct {
	text   string
	lo, hi int64 // random when hi > lo
	count  bool
	carry  bool
	choice bool
}

// filling is what placeholders become.
type filling struct {
	n       uint64
	rng     *rand.Rand
	carry   []byte
	choices []string
}

// compile prepares head and body apart: the length of the body is only known
// once it is filled in.
func compile(address string, r Request) [][]part {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.Path, address)
	for _, h := range r.Header {
		b.WriteString(h + "\r\n")
	}
	return [][]part{split(b.String()), split(r.Body)}
}

func split(s string) []part {
	var out []part
	for {
		i := strings.IndexByte(s, '{')
		j := strings.IndexByte(s[max(i, 0):], '}') + max(i, 0)
		if i < 0 || j <= i {
			return append(out, part{text: s})
		}
		name := s[i+1 : j]
		if p, ok := placeholder(name); ok {
			out = append(out, part{text: s[:i]}, p)
			s = s[j+1:]
			continue
		}
		out = append(out, part{text: s[:i+1]})
		s = s[i+1:]
	}
}

func placeholder(name string) (part, bool) {
	switch name {
	case "i":
		return part{count: true}, true
	case "carry":
		return part{carry: true}, true
	case "choice":
		return part{choice: true}, true
	}
	span, ok := strings.CutPrefix(name, "rand:")
	if !ok {
		return part{}, false
	}
	lo, hi, _ := strings.Cut(span, "-")
	a, err1 := strconv.ParseInt(lo, 10, 64)
	b, err2 := strconv.ParseInt(hi, 10, 64)
	return part{lo: a, hi: b + 1}, err1 == nil && err2 == nil && b >= a
}

func write(b []byte, parts [][]part, f filling) []byte {
	b = fill(b, parts[0], f)
	body := fill(nil, parts[1], f)
	if len(body) > 0 {
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10), "\r\n"...)
	}
	return append(append(b, "\r\n"...), body...)
}

func fill(b []byte, parts []part, f filling) []byte {
	for _, p := range parts {
		switch {
		case p.count:
			b = strconv.AppendUint(b, f.n, 10)
		case p.carry:
			b = append(b, f.carry...)
		case p.choice:
			b = append(b, f.choices[f.rng.IntN(len(f.choices))]...)
		case p.hi > p.lo:
			b = strconv.AppendInt(b, p.lo+f.rng.Int64N(p.hi-p.lo), 10)
		default:
			b = append(b, p.text...)
		}
	}
	return b
}

// read reads one answer. head is the start of a body whose status is not the
// wanted one. Where member is not "", its value is kept in carry.
func read(in *bufio.Reader, want int, member string, carry *[]byte) (status int, size int64, head string, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, 0, "", err
	}
	if len(line) < 12 {
		return 0, 0, "", fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, "", fmt.Errorf("status line %q", line)
	}
	length, chunked := int64(0), false
	for {
		line, err = in.ReadSlice('\n')
		if err != nil {
			return 0, 0, "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if v, ok := header(line, "Content-Length"); ok {
			if length, err = strconv.ParseInt(v, 10, 64); err != nil {
				return 0, 0, "", err
			}
		}
		if v, ok := header(line, "Transfer-Encoding"); ok && v == "chunked" {
			chunked = true
		}
	}
	if status == 204 || status == 304 {
		return status, 0, "", nil
	}
	if status != want {
		b, err := in.Peek(int(min(length, 300)))
		if err != nil {
			return 0, 0, "", err
		}
		head = string(b)
	}
	if member != "" && status == want {
		b, err := in.Peek(int(length))
		if err != nil {
			return 0, 0, "", err
		}
		_, rest, ok := bytes.Cut(b, []byte(`"`+member+`":"`))
		value, _, closed := bytes.Cut(rest, []byte{'"'})
		if !ok || !closed || chunked {
			return 0, 0, "", fmt.Errorf("no member %q in an answer of known length: %.200q", member, b)
		}
		*carry = append((*carry)[:0], value...)
	}
	if chunked {
		size, err = chunks(in)
		return status, size, head, err
	}
	_, err = in.Discard(int(length))
	return status, length, head, err
}

func header(line []byte, name string) (string, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !strings.EqualFold(string(line[:len(name)]), name) {
		return "", false
	}
	return strings.TrimSpace(string(line[len(name)+1:])), true
}

func chunks(in *bufio.Reader) (int64, error) {
	var total int64
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 64)
		if err != nil {
			return total, fmt.Errorf("chunk size %q", line)
		}
		if _, err := io.CopyN(io.Discard, in, n+2); err != nil {
			return total, err
		}
		if total += n; n == 0 {
			return total, nil
		}
	}
}
