package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticks is the unit of /proc's CPU times: USER_HZ, 100 on every Linux that Go
// runs on.
const ticks = 100

type process struct {
	pid, parent int
	own, reaped int64 // ticks: its own, and those of children it has waited for
}

// CPU is the CPU time in seconds that the process trees below the given roots
// have used, ended children included. Differences of two calls count.
func CPU(roots []int) (float64, error) {
	var sum int64
	err := walk(roots, func(p process) { sum += p.own + p.reaped })
	return float64(sum) / ticks, err
}

// RSS is the memory in bytes the trees hold. Shared pages count once per
// process, so the sum over PostgreSQL's backends is an overestimate.
func RSS(roots []int) (int64, error) {
	var sum int64
	err := walk(roots, func(p process) { sum += field(p.pid, "VmRSS:") })
	return sum, err
}

// Resident is the memory in bytes one process holds.
func Resident(pid int) int64 { return field(pid, "VmRSS:") }

// Peak is the most memory in bytes one process has held.
func Peak(pid int) int64 { return field(pid, "VmHWM:") }

// ForgetPeak makes Peak begin anew (proc(5), clear_refs).
func ForgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

func field(pid int, name string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // ended between two looks
	}
	_, rest, _ := strings.Cut(string(text), name)
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kb, 10, 64)
	return n << 10
}

func walk(roots []int, each func(process)) error {
	all, err := processes()
	if err != nil {
		return err
	}
	below := map[int][]int{}
	for pid, p := range all {
		below[p.parent] = append(below[p.parent], pid)
	}
	for queue := append([]int{}, roots...); len(queue) > 0; queue = queue[1:] {
		p, ok := all[queue[0]]
		if !ok {
			continue
		}
		each(p)
		queue = append(queue, below[p.pid]...)
	}
	for _, r := range roots {
		if _, ok := all[r]; !ok {
			return fmt.Errorf("load: process %d is gone", r)
		}
	}
	return nil
}

func processes() (map[int]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("load: no /proc to read: %w", err)
	}
	all := map[int]process{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		if p, ok := parse(string(text)); ok {
			all[p.pid] = p
		}
	}
	return all, nil
}

// parse reads /proc/PID/stat (proc_pid_stat(5)): the name in parentheses may
// hold anything, so fields are counted from the last one.
func parse(stat string) (process, bool) {
	end := strings.LastIndexByte(stat, ')')
	first, _, _ := strings.Cut(stat, " ")
	pid, err := strconv.Atoi(first)
	if err != nil || end < 0 {
		return process{}, false
	}
	f := strings.Fields(stat[end+1:])
	if len(f) < 15 {
		return process{}, false
	}
	n := func(i int) int64 { v, _ := strconv.ParseInt(f[i], 10, 64); return v }
	return process{pid: pid, parent: int(n(1)), own: n(11) + n(12), reaped: n(13) + n(14)}, true
}
