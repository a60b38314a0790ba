package heap

import (
	"os"
	"strings"
	"testing"
)

func TestUnwritten(t *testing.T) {
	for line, want := range map[string][2]uintptr{
		"00400000-01ace000 r-xp 00000000 fe:00 123  /usr/bin/holdfast":           {0x400000, 0x16ce000},
		"01ace000-033cf000 r--p 016ce000 fe:00 123  /usr/bin/holdfast":           {0x1ace000, 0x1901000},
		"033cf000-03514000 rw-p 02fcf000 fe:00 123  /usr/bin/holdfast":           {}, // written
		"00400000-01ace000 r-xp 00000000 fe:00 123  /usr/bin/holdfast (deleted)": {}, // may not come back
		"7fce7dc40000-7fce7dd80000 r--p 00000000 fe:00 9  /usr/lib/libc.so.6":    {},
		"7fce7dc40000-7fce7dd80000 r--p 00000000 00:00 0":                        {},
		"7fce7dc40000 r--p 00000000 00:00 0 /usr/bin/holdfast":                   {},
		"": {},
	} {
		start, length, ok := unwritten(line, "/usr/bin/holdfast")
		if got := [2]uintptr{start, length}; got != want || ok != (want[1] > 0) {
			t.Errorf("%s: %#x %v, want %#x", line, got, ok, want)
		}
	}
}

// What was let go of is mapped no more, and comes back when it is run.
func TestReleaseImage(t *testing.T) {
	resident := func() (pages string) {
		b, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if kB, ok := strings.CutPrefix(line, "RssFile:"); ok {
				pages = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kB), "kB"))
			}
		}
		return pages
	}
	before := resident()
	if err := ReleaseImage(); err != nil {
		t.Fatal(err)
	}
	if after := resident(); len(after) > len(before) || len(after) == len(before) && after >= before {
		t.Errorf("%s kB of files are resident, %s before", after, before)
	}
}
