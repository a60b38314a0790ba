package access

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A script that uses up its own limit stops nobody else; the forty people of a shift who
// open the console within ten seconds, 17 requests each, are all let in.
func TestScriptStopsItselfAlone(t *testing.T) {
	d := open()
	if n := d.spend(call{tenant: north, user: "script"}); n != 200 {
		t.Fatalf("the script: %d passed", n)
	}
	for person := range 40 {
		for request := range 17 {
			w := d.call(call{tenant: north, user: fmt.Sprint("person ", person)})
			if used := w.Header().Get("X-RateLimit-Used"); w.Code != 200 || used != strconv.Itoa(request+1) {
				t.Fatalf("person %d, request %d: %d, used %s", person, request+1, w.Code, used)
			}
		}
	}
}

// All of a tenant together end at the ceiling of its plan, which says so; a refusal
// takes nothing from the caller's own limit, and no other tenant notices.
func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		plan     string
		ceiling  int // in ten seconds
		perBurst int
	}{{"standard", 2000, 200}, {"enterprise", 20_000, 2000}} {
		t.Run(c.plan, func(t *testing.T) {
			d := open()
			for n := range c.ceiling {
				user := fmt.Sprint(n / c.perBurst)
				if w := d.call(call{tenant: north, user: user, plan: c.plan}); w.Code != 200 {
					t.Fatalf("request %d: %d %s", n+1, w.Code, w.Body)
				}
			}
			w := d.call(call{tenant: north, user: "late", plan: c.plan})
			if w.Code != 429 || !strings.Contains(w.Body.String(), "whole organisation") ||
				w.Header().Get("X-RateLimit-Limit") != strconv.Itoa(c.ceiling) {
				t.Errorf("above the ceiling: %d %v %s", w.Code, w.Header(), w.Body)
			}
			if w := d.call(call{tenant: south, plan: c.plan}); w.Code != 200 {
				t.Errorf("another tenant: %d", w.Code)
			}

			d.now = d.now.Add(11 * time.Second)
			w = d.call(call{tenant: north, user: "late", plan: c.plan})
			if used := w.Header().Get("X-RateLimit-Used"); w.Code != 200 || used != "1" {
				t.Errorf("after it: %d, used %s", w.Code, used)
			}
		})
	}
}
