package pgtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// A Tap counts what clients say to a server, by the messages of PostgreSQL's
// frontend protocol.
type Tap struct {
	net.Listener
	network, address string // the server's

	Parses atomic.Int64 // statements the server had to parse
	Sets   atomic.Int64 // of these, SET LOCAL
	Runs   atomic.Int64 // statements the server had to run, by Execute
	Trips  atomic.Int64 // times a client waits for an answer: Sync and Query

	Cut atomic.Bool // the next Sync reaches the server, its answer nobody
}

// Through returns a Tap on the server at dsn, and the address that leads
// through it. It listens until the test ends.
func Through(t testing.TB, dsn string) (*Tap, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	q := u.Query()
	tap := &Tap{Listener: l, network: "unix", address: filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))}
	if !filepath.IsAbs(q.Get("host")) {
		tap.network, tap.address = "tcp", u.Host
	}
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	go tap.serveClients()
	return tap, u.String()
}

// Reset counts from nothing again.
func (t *Tap) Reset() {
	t.Parses.Store(0)
	t.Sets.Store(0)
	t.Runs.Store(0)
	t.Trips.Store(0)
}

func (t *Tap) serveClients() {
	for {
		client, err := t.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.Dial(t.network, t.address)
			if err != nil {
				return
			}
			defer server.Close()
			go func() {
				io.Copy(client, server)
				client.Close()
			}()
			t.passMessages(server, bufio.NewReader(client))
		}()
	}
}

// passMessages hands the client's messages on, one by one: the first has a length and
// its content, the others a letter before that.
func (t *Tap) passMessages(to io.Writer, from *bufio.Reader) {
	for letters := 0; ; letters = 1 {
		head, err := from.Peek(letters + 4)
		if err != nil {
			return
		}
		message := make([]byte, letters+int(binary.BigEndian.Uint32(head[letters:])))
		if _, err := io.ReadFull(from, message); err != nil {
			return
		}
		if letters == 1 {
			t.noteMessage(message)
		}
		cut := letters == 1 && message[0] == 'S' && t.Cut.Swap(false)
		if _, err := to.Write(message); err != nil || cut {
			return
		}
	}
}

func (t *Tap) noteMessage(message []byte) {
	switch message[0] {
	case 'P':
		t.Parses.Add(1)
		if bytes.Contains(message, []byte("SET LOCAL ")) {
			t.Sets.Add(1)
		}
	case 'E':
		t.Runs.Add(1)
	case 'S', 'Q':
		t.Trips.Add(1)
	}
}
