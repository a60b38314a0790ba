package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// killRounds is how often the server is killed; `make kill` asks for more.
func killRounds(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_KILL_ROUNDS"))
	if err != nil && os.Getenv("HOLDFAST_KILL_ROUNDS") != "" {
		t.Fatal(err)
	}
	return max(n, 2)
}

// triples are writes of three records each, by the prefix of their codes.
type triples struct {
	sync.Mutex
	begun, acked map[string]bool
}

func (x *triples) note(of map[string]bool, code string) {
	x.Lock()
	defer x.Unlock()
	of[code] = true
}

// write writes until the server is gone. An answer that is none says nothing of
// what became of the write; one that refuses is an error.
func (x *triples) write(v *program.Server, bearer, prefix string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer c.CloseIdleConnections()
	for i := 0; ; i++ {
		code := fmt.Sprintf("%s-%d", prefix, i)
		var rows []map[string]any
		for _, part := range []string{"a", "b", "c"} {
			rows = append(rows, map[string]any{"code": code + part, "name": code, "max_capacity": 5})
		}
		body, err := json.Marshal(rows)
		if err != nil {
			v.Error(err)
			return
		}
		req, err := http.NewRequest("POST", v.URL+"/v1/zones", io.NopCloser(bytes.NewReader(body))) // never sent twice
		if err != nil {
			v.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
		req.Header.Set("Content-Type", "application/json")
		x.note(x.begun, code)
		res, err := c.Do(req)
		if err != nil {
			return
		}
		res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			v.Errorf("a write before the kill: %d", res.StatusCode)
			return
		}
		x.note(x.acked, code)
	}
}

// A server that is killed at a random moment under the writes of eight clients
// has all that it acknowledged when it is started again, and of the rest each
// write whole or not at all; totals and the audit log agree.
func TestKilledKeepsAcknowledged(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		x := &triples{begun: map[string]bool{}, acked: map[string]bool{}}
		slowest := time.Duration(0)
		rounds := killRounds(s.T)
		for round := range rounds {
			begin := time.Now()
			v := s.Serve("--dev")
			slowest = max(slowest, time.Since(begin))
			bearer := v.Token("admin@north.example", "holdfast-demo")
			var load sync.WaitGroup
			for w := range 8 {
				load.Go(func() { x.write(v, bearer, fmt.Sprintf("KILL-%d-%d", round, w)) })
			}
			time.Sleep(50*time.Millisecond + rand.N(350*time.Millisecond))
			v.Cmd.Process.Kill()
			<-v.Gone
			load.Wait()
			if round%10 == 9 || round == rounds-1 {
				x.compare(s)
			}
		}
		s.Exec("verify")
		s.Exec("verify", "--audit")
		s.Logf("%d rounds: %d writes acknowledged, %d begun, slowest start %v", rounds, len(x.acked), len(x.begun), slowest)
		if len(x.acked) == 0 {
			s.Error("nothing was acknowledged")
		}
	})
}

// compare holds what is there against what was acknowledged.
func (x *triples) compare(s *program.Site) {
	s.Helper()
	have := map[string]int{}
	for code := range s.Codes("KILL-") {
		have[strings.TrimRight(code, "abc")]++
	}
	for code := range x.acked {
		if have[code] != 3 {
			s.Errorf("%s was acknowledged, and %d of its 3 records are there", code, have[code])
		}
	}
	for code, n := range have {
		if n != 3 || !x.begun[code] {
			s.Errorf("of %s, %d of 3 records are there; begun: %v", code, n, x.begun[code])
		}
	}
}
