package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// drippers is how many connections drip at once.
const drippers = 2000

// Two thousand connections that drip, first their headers, then their bodies,
// are cut off; meanwhile others are answered about as soon as in peace, and no
// dripping body holds a connection to the database.
func TestDrippingSenders(t *testing.T) {
	t.Parallel() // it waits, and does little else
	program.EachDemo(t, func(s *program.Site) {
		admin := program.ClosedPort(s.T)
		v := s.Serve("--dev", "--admin-listen", admin)
		o := &other{Server: v, bearer: v.Token("admin@north.example", "holdfast-demo"),
			kept: &http.Client{Transport: &http.Transport{}}}
		peace := o.ask(func() bool { return o.asked >= 200 })
		bearer := "Authorization: Bearer " + o.bearer
		file := v.Uploaded(o.bearer, 1)
		for _, phase := range []struct {
			name  string
			begun []string // how the connections begin, in turn
			told  string   // what they are told before the end
		}{
			{"headers", []string{"POST /v1/zones HTTP/1.1\r\nHost: x\r\nX-A: "}, ""},
			{"bodies", []string{
				"POST /v1/zones HTTP/1.1\r\nHost: x\r\n" + bearer + "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n[",
				"POST /auth/v1/token?grant_type=password HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{",
				"POST /functions/v1/process-import-job HTTP/1.1\r\nHost: x\r\n" + bearer + "\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{",
				"PUT /v1/import-jobs/" + file + "/file?name=a.csv HTTP/1.1\r\nHost: x\r\n" + bearer + "\r\nContent-Type: text/csv\r\nContent-Length: 100000\r\n\r\ns",
			}, "HTTP/1.1 4"},
		} {
			d := drip(v, phase.begun, phase.told)
			fleeting := watchTransactions(v, admin)
			beside := o.ask(func() bool { return d.open.Load() == 0 || time.Since(d.since) > time.Minute })
			fleeting()
			if n := d.open.Load(); n > 0 {
				s.Errorf("%s: %d of %d connections that drip are still open after a minute", phase.name, n, drippers)
			}
			if n := d.odd.Load(); n > 0 {
				s.Errorf("%s: %d were not told %q, one was: %q", phase.name, n, phase.told, d.oddity.Load())
			}
			o.near(phase.name, beside, peace)
		}
		v.Stop()
	})
}

// other is a client that reads over connections of its own, and writes over one
// that it keeps.
type other struct {
	*program.Server
	bearer string
	kept   *http.Client
	asked  int // in this round
	made   int
}

// ask reads and writes in turn until over says so, and returns how long each
// request took, the shortest first.
func (o *other) ask(over func() bool) (took []time.Duration) {
	o.Helper()
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for o.asked = 0; !over(); o.asked++ {
		begin := time.Now()
		var status int
		var err error
		if o.asked%2 == 0 {
			status, err = get(once, o.URL+"/v1/zones?limit=10", o.bearer)
		} else {
			o.made++
			status, err = post(o.kept, o.URL+"/v1/zones", o.bearer, fmt.Sprintf(`{"code":"DRIP-%d","name":"x"}`, o.made))
		}
		if took = append(took, time.Since(begin)); err != nil || status >= 300 {
			o.Fatalf("request %d of others: %d %v", o.asked, status, err)
		}
		time.Sleep(5 * time.Millisecond) // a client, no flood
	}
	slices.Sort(took)
	return took
}

// fewest is how many requests say something: a busy machine answers no more while the
// dripping lasts, and a server that is held up answers hardly any.
const fewest = 20

// near holds that of a hundred requests ninety-nine took less than half a second,
// or than five times what they took in peace: the machine may be busy. It may have
// become so since, so where they were slower peace is asked for again.
func (o *other) near(when string, beside, peace []time.Duration) {
	o.Helper()
	p99 := func(took []time.Duration) time.Duration { return took[(len(took)-1)*99/100] }
	slow := func() bool { return p99(beside) > max(500*time.Millisecond, 5*p99(peace)) }
	if slow() {
		if again := o.ask(func() bool { return o.asked >= 200 }); p99(again) > p99(peace) {
			peace = again
		}
	}
	o.Logf("%s: of %d requests the median took %s, 99 in 100 %s; in peace %s and %s", when, len(beside),
		beside[len(beside)/2], p99(beside), peace[len(peace)/2], p99(peace))
	if len(beside) < fewest || slow() {
		o.Errorf("%s: of %d requests 99 in 100 took %s, in peace %s", when, len(beside), p99(beside), p99(peace))
	}
}

// A dripping is a crowd of connections that send a byte now and then.
type dripping struct {
	since  time.Time
	open   atomic.Int64 // not yet closed by the server
	odd    atomic.Int64 // ended otherwise than they should have
	oddity atomic.Value // a string: what one of them was told
}

// drip opens the connections, from ten addresses. They send a byte every second,
// which is often enough for a limit of the time between two bytes.
func drip(v *program.Server, begun []string, told string) *dripping {
	v.Helper()
	d := &dripping{since: time.Now()}
	var all []net.Conn
	for i := range drippers {
		dial := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%10))}, Timeout: 30 * time.Second}
		c, err := dial.Dial("tcp", strings.TrimPrefix(v.URL, "http://"))
		if err != nil {
			v.Fatal(err)
		}
		v.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, begun[i%len(begun)]); err != nil {
			v.Fatal(err)
		}
		all = append(all, c)
		d.open.Add(1)
		go d.until(c, told)
	}
	go func() {
		for ; d.open.Load() > 0 && time.Since(d.since) < 2*time.Minute; time.Sleep(time.Second) {
			for _, c := range all {
				c.SetWriteDeadline(time.Now().Add(time.Second))
				io.WriteString(c, "x") // one that is closed already says so to its reader
			}
		}
	}()
	return d
}

// until waits for the server to close a connection.
func (d *dripping) until(c net.Conn, told string) {
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	text, err := io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return // it is open
	}
	c.Close()
	// A reset may overtake what was told before it.
	if got := string(text); got != "" && (told == "" || !strings.HasPrefix(got, told)) {
		d.odd.Add(1)
		d.oddity.Store(got[:min(len(got), 200)])
	}
	d.open.Add(-1)
}

// watchTransactions looks, until what it returns is called, whether a transaction of the
// server lasts: by PostgreSQL's own list, and by the server's count of the
// connections it uses.
func watchTransactions(v *program.Server, admin string) (end func()) {
	v.Helper()
	var conn *pgx.Conn
	if v.DSN != "" {
		c, err := pgx.Connect(context.Background(), v.DSN)
		if err != nil {
			v.Fatal(err)
		}
		conn = c
	}
	var looks sync.WaitGroup
	over := make(chan struct{})
	looks.Go(func() {
		idle, seen := 0, 0
		for ; ; seen++ {
			select {
			case <-over:
				if idle == 0 {
					v.Errorf("in none of %d looks the server had no connection to the database in use", seen)
				}
				if conn != nil {
					conn.Close(context.Background())
				}
				return
			case <-time.After(100 * time.Millisecond):
			}
			if metric(v, admin, "holdfast_db_connections_in_use") == 0 {
				idle++
			}
			if conn == nil {
				continue
			}
			var n int
			var what string
			if err := conn.QueryRow(context.Background(), `SELECT COUNT(*), coalesce(min(state || ': ' || left(query, 200)), '') FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'holdfast'
					AND xact_start < clock_timestamp() - interval '3 seconds'`).Scan(&n, &what); err != nil {
				v.Error(err)
			} else if n > 0 {
				v.Errorf("%d transactions of the server last for seconds, as %s", n, what)
			}
		}
	})
	return func() { close(over); looks.Wait() }
}

// Sixty clients that ask for a large file, and do not read it, hold no
// connection to the database: others read and write as in peace, nothing keeps
// the embedded engine's log from being written back, and the server's memory
// stays what it was.
func TestDrippingReaders(t *testing.T) {
	t.Parallel() // it waits, and does little else
	program.EachDemo(t, func(s *program.Site) {
		admin := program.ClosedPort(s.T)
		// Of what it no longer needs it keeps little: what is measured is what it needs.
		v := s.ServeAs(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "GOGC=25") }, "--dev", "--admin-listen", admin)
		o := &other{Server: v, bearer: v.Token("admin@north.example", "holdfast-demo"),
			kept: &http.Client{Transport: &http.Transport{}}}
		file := "/v1/import-jobs/" + largeFile(v, o.bearer) + "/corrected"
		whole := v.Call("GET", file, o.bearer, nil)
		if whole.Status != http.StatusOK || len(whole.Body) < 9<<19 {
			s.Fatalf("the file: %d, %d bytes", whole.Status, len(whole.Body))
		}
		peace := o.ask(func() bool { return o.asked >= 200 })
		before := resident(v)
		readers := askedBySixty(v, file, o.bearer)
		s.Eventually("what fits the sockets is sent", func() bool {
			used := busy(v)
			time.Sleep(time.Second) // a time in which nothing is asked
			return busy(v)-used < 200*time.Millisecond
		})
		held := resident(v)
		dripped := slowly(readers)
		fleeting := watchTransactions(v, admin)
		until, most := time.Now().Add(8*time.Second), held
		beside := o.ask(func() bool {
			most = max(most, resident(v))
			return time.Now().After(until) && (o.asked >= 100 || time.Since(until) > time.Minute)
		})
		fleeting()
		if n := dripped(); n > 0 {
			s.Errorf("%d of %d readers were cut off: they are no test of what follows", n, len(readers))
		}
		s.Logf("resident: %d MB before, %d MB with %d readers, %d MB at most beside them", before>>20, held>>20,
			len(readers), most>>20)
		if held-before > int64(len(readers))<<20 || most-held > 64<<20 {
			s.Errorf("the server grew by %d MB for %d readers, and by %d MB while they dripped", (held-before)>>20,
				len(readers), (most-held)>>20)
		}
		if s.DSN == "" {
			writtenBack(s)
		}
		for _, c := range readers {
			c.Close()
		}
		s.Eventually("nobody is served any more", func() bool {
			return metric(v, admin,
				"holdfast_db_connections_in_use") == 0
		})
		o.near("readers", beside, peace)
		v.Stop()
	})
}

// largeFile is an import job whose file is larger than what a socket takes in.
func largeFile(v *program.Server, bearer string) (job string) {
	v.Helper()
	var made struct{ ID string }
	v.Call("POST", "/v1/import-jobs", bearer, map[string]string{"target": "items"}).Into(v, &made)
	var b strings.Builder
	b.WriteString("sku,name\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "LARGE-%d,%s\n", i, strings.Repeat("long name ", 25)[:240])
	}
	status, err := put(v.URL+"/v1/import-jobs/"+made.ID+"/file?name=large.csv", bearer, b.String())
	if err != nil || status >= 300 {
		v.Fatalf("upload: %d %v", status, err)
	}
	if r := v.Call("POST", "/functions/v1/process-import-job", bearer,
		map[string]string{"job_id": made.ID}); r.Status != http.StatusOK {
		v.Fatalf("process: %d %s", r.Status, r.Body)
	}
	return made.ID
}

func put(url, bearer, text string) (int, error) {
	req, err := http.NewRequest("PUT", url, strings.NewReader(text))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "text/csv")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// askedBySixty asks for a path over sixty connections with little room, one
// after the other, and reads of each how its answer begins.
func askedBySixty(v *program.Server, path, bearer string) (all []net.Conn) {
	v.Helper()
	narrow := func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF,
				4096)
		}), err)
	}
	for range 60 {
		c, err := (&net.Dialer{Control: narrow, Timeout: 30 * time.Second}).Dial("tcp", strings.TrimPrefix(v.URL, "http://"))
		if err != nil {
			v.Fatal(err)
		}
		v.Cleanup(func() { c.Close() })
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path,
			bearer); err != nil {
			v.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		head := make([]byte, 12)
		if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 200" {
			v.Fatalf("reader %d was told %q %v", len(all)+1, head, err)
		}
		all = append(all, c)
	}
	return all
}

// slowly reads ten bytes a second of each connection, until what it returns is
// called, which tells how many have ended.
func slowly(all []net.Conn) (end func() (ended int)) {
	var reading sync.WaitGroup
	var gone atomic.Int64
	over := make(chan struct{})
	reading.Go(func() {
		for {
			for _, c := range all {
				c.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
					gone.Add(1)
				}
			}
			select {
			case <-over:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func() int { close(over); reading.Wait(); return int(gone.Load()) }
}

// resident is the memory of the server that is in use.
func resident(v *program.Server) int64 {
	v.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", v.Cmd.Process.Pid))
	if err != nil {
		v.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		v.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// writtenBack has the embedded engine write all of its log back, which a
// connection that reads an old state would not let it.
func writtenBack(s *program.Site) {
	s.Helper()
	d, err := sql.Open("sqlite", filepath.Join(s.Data, db.FileName))
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	s.Eventually("the log is written back", func() bool {
		var busy, log, done int
		if err := d.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
			s.Fatal(err)
		}
		return busy == 0
	})
}
