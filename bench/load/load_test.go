package load

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunCountsAnswers(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-A") != "b" || !strings.HasPrefix(string(body), "n=") {
			t.Errorf("%v %v %s", err, r.Header, body)
		}
		if n.Load()%2 == 0 { // every second one without a length
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "hello")
	}))
	defer s.Close()
	r, err := Run(Plan{Address: s.Listener.Addr().String(), Conns: 3, Time: time.Second, PIDs: []int{os.Getpid()},
		Request: Request{Method: "POST", Path: "/{i}", Header: []string{"X-A: b"}, Body: "n={rand:5-7}", Status: 200}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != int(n.Load()) || r.Failed != 0 || r.Bytes != 5 || r.RSS == 0 || r.Max < r.P99 || r.P99 < r.P50 {
		t.Errorf("%+v after %d requests", r, n.Load())
	}
}

func TestOtherStatusIsAFailure(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	r, err := Run(Plan{Address: s.Listener.Addr().String(), Conns: 1, Time: time.Second, Request: Request{Method: "GET", Path: "/", Status: 200}})
	if err != nil || r.Requests != 0 || r.Failed == 0 || !strings.Contains(r.FirstFail, "404") {
		t.Errorf("%+v %v", r, err)
	}
}

func TestTemplates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for in, want := range map[string]string{
		"plain": "plain", "a{i}b": "a42b", `{"k":"{i}"}`: `{"k":"42"}`, "{rand:3-3}": "3", "{other}": "{other}", "a{carry}": "akept", "{choice}{choice}": "oneone",
		"{": "{", "}{": "}{", "{rand:9-1}": "{rand:9-1}",
	} {
		if got := string(fill(nil, split(in), filling{42, rng, []byte("kept"), []string{"one"}})); got != want {
			t.Errorf("%s -> %s, want %s", in, got, want)
		}
	}
}

func TestParseStat(t *testing.T) {
	p, ok := parse("12 (a) b (c)) S 7 12 12 0 -1 4194304 1 2 0 0 30 40 5 6 20 0 1 0 1 2 3")
	if !ok || p.pid != 12 || p.parent != 7 || p.own != 70 || p.reaped != 11 {
		t.Errorf("%+v %v", p, ok)
	}
	for _, bad := range []string{"", "x", "1 (a", "1 (a) S 1"} {
		if _, ok := parse(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}

// Each connection hands on what its last answer said.
func TestCarry(t *testing.T) {
	var seen sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if _, twice := seen.LoadOrStore(string(body), true); twice {
			t.Errorf("%s twice", body)
		}
		var seed string
		var n int
		if _, err := fmt.Sscanf(string(body), "%1s%d", &seed, &n); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		fmt.Fprintf(w, `{"next":"%s%d"}`, seed, n+1)
	}))
	defer s.Close()
	r, err := Run(Plan{Address: s.Listener.Addr().String(), Conns: 2, Time: time.Second, Seeds: []string{"a0", "b0"},
		Request: Request{Method: "POST", Path: "/", Body: "{carry}", Status: 200, Carry: "next"}})
	if err != nil || r.Failed != 0 || r.Requests < 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
