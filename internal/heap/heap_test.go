package heap

import (
	"runtime/debug"
	"testing"
)

func TestThrifty(t *testing.T) {
	usual := debug.SetGCPercent(200)
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	is := func(want int, when string) {
		t.Helper()
		now := debug.SetGCPercent(want)
		if now != want {
			t.Errorf("%s: %d, want %d", when, now, want)
		}
	}
	import1 := LimitGrowth(110)
	is(110, "one asks")
	scores := LimitGrowth(40)
	is(40, "another asks for less")
	import2 := LimitGrowth(110)
	is(40, "a third asks for more")
	scores()
	is(110, "who asked for least has ended")
	scores()
	import1()
	is(110, "one is left")
	import2()
	is(200, "all have ended")
	debug.SetGCPercent(20)
	done := LimitGrowth(110)
	is(20, "the operator wants less")
	done()
	debug.SetGCPercent(-1)
	done = LimitGrowth(110)
	is(-1, "the operator turned it off")
	done()
	is(-1, "and it stays off")
}
