package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// repeats are adjustments by one piece each, and what they were answered: nothing,
// where the server was killed before.
type repeats struct {
	sync.Mutex
	answers map[string]string // by key
	in      map[string]any
}

func (x *repeats) body(key string) map[string]any {
	in := map[string]any{"idempotency_key": key}
	for n, v := range x.in {
		in[n] = v
	}
	return in
}

// say asks with keys of its own until the server is gone.
func (x *repeats) say(v *program.Server, bearer, prefix string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer c.CloseIdleConnections()
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s-%d", prefix, i)
		status, text, err := asked(c, "POST", v.URL+"/v1/rpc/adjust_stock", bearer, x.body(key))
		if err == nil && status != http.StatusOK {
			v.Errorf("before the kill: %d %s", status, text)
		}
		x.Lock()
		x.answers[key] = string(text)
		x.Unlock()
		if err != nil || status != http.StatusOK {
			return
		}
	}
}

// A verb that is repeated with its key after the server was killed is done once,
// whether it was answered or not; what was answered is answered so again. What was
// under way is done anew once its hold of the key has ended, and not at all before.
func TestVerbsAreRepeatedAcrossKill(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		bearer := v.Token("admin@north.example", "holdfast-demo")
		f := &floor{Site: s, bearer: map[string]string{v.URL: bearer}}
		item := f.made(v, "items", map[string]any{"sku": "AGAIN", "name": "Again"})
		zone := f.made(v, "zones", map[string]any{"code": "AGAIN", "name": "Again", "kind": "bin"})
		x := &repeats{answers: map[string]string{}, in: map[string]any{"item_id": item, "zone_id": zone, "quantity": 1,
			"reason_code": "found"}}
		var clients sync.WaitGroup
		for n := range 8 {
			clients.Go(func() { x.say(v, bearer, fmt.Sprintf("again-%d", n)) })
		}
		s.Eventually("some are answered", func() bool {
			x.Lock()
			defer x.Unlock()
			return len(x.answers) >= 40
		})
		v.Cmd.Process.Kill()
		<-v.Gone
		clients.Wait()
		quiet(s)
		v = s.Serve("--dev")
		bearer = v.Token("admin@north.example", "holdfast-demo")
		silent, held := 0, 0
		for key, was := range x.answers {
			status, text, err := asked(http.DefaultClient, "POST", v.URL+"/v1/rpc/adjust_stock", bearer, x.body(key))
			if was == "" {
				silent++
			}
			switch {
			case was == "" && status == http.StatusConflict && strings.Contains(string(text), "HF015"):
				held++
			case err != nil || status != http.StatusOK:
				s.Errorf("%s again: %d %s %v", key, status, text, err)
			case was != "" && string(text) != was:
				s.Errorf("%s is answered otherwise: %s\nbefore: %s", key, text, was)
			}
		}
		var have []struct {
			OnHand int `json:"on_hand"`
		}
		v.Call("GET", "/v1/items?select=on_hand&id=eq."+item, bearer, nil).Into(s.T, &have)
		if len(have) != 1 || have[0].OnHand != len(x.answers)-held {
			s.Errorf("%d keys, %d of them held, and on hand are %+v", len(x.answers), held, have)
		}
		s.Logf("%d keys, %d of them without an answer, %d held", len(x.answers), silent, held)
		v.Stop()
		s.Exec("verify")
	})
}
