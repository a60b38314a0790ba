package load

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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
	r, err := Run(Plan{Address: s.Listener.Addr().String(), Conns: 3, Time: 50 * time.Millisecond, PIDs: []int{os.Getpid()},
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
	r, err := Run(Plan{Address: s.Listener.Addr().String(), Conns: 1, Time: 20 * time.Millisecond, Request: Request{Method: "GET", Path: "/", Status: 200}})
	if err != nil || r.Requests != 0 || r.Failed == 0 || !strings.Contains(r.FirstFail, "404") {
		t.Errorf("%+v %v", r, err)
	}
}

func TestTemplates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for in, want := range map[string]string{
		"plain": "plain", "a{i}b": "a42b", `{"k":"{i}"}`: `{"k":"42"}`, "{rand:3-3}": "3", "{other}": "{other}", "{": "{", "}{": "}{", "{rand:9-1}": "{rand:9-1}",
	} {
		if got := string(fill(nil, split(in), 42, rng)); got != want {
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
