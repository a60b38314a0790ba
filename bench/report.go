package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"holdfast/bench/load"
)

// result is one line of the table.
type result struct {
	Case   string        `json:"case"`
	Engine string        `json:"engine,omitempty"`
	Value  float64       `json:"value"` // ratio, seconds or megabytes
	Low    float64       `json:"low"`   // least and greatest of the rounds
	High   float64       `json:"high"`
	Goal   string        `json:"goal"` // ">= 0.5", "<= 60 MB"; empty = for orientation
	Pass   bool          `json:"pass"`
	Note   string        `json:"note,omitempty"`
	Server []load.Report `json:"server,omitempty"`
	Limit  []load.Report `json:"limit,omitempty"`
	At     time.Time     `json:"at"`
}

func (r *result) atLeast(goal float64, unit string) *result {
	r.Goal, r.Pass = fmt.Sprintf(">= %.4g%s", goal, unit), r.Value >= goal
	return r
}

func (r *result) atMost(goal float64, unit string) *result {
	r.Goal, r.Pass = fmt.Sprintf("<= %.4g%s", goal, unit), r.Value <= goal
	return r
}

// of makes a result from one value per round.
func of(name, engine string, values []float64, note string) *result {
	return &result{Case: name, Engine: engine, Value: median(values), Low: slices.Min(values), High: slices.Max(values),
		Note: note, Pass: true, At: time.Now()}
}

func median(list []float64) float64 {
	s := slices.Clone(list)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func each(list []load.Report, f func(load.Report) float64) []float64 {
	out := make([]float64, len(list))
	for i, r := range list {
		out[i] = f(r)
	}
	return out
}

func perCPU(r load.Report) float64 { return r.PerCPU }

func perSecond(r load.Report) float64 { return r.PerSecond }

// compare makes the result of an A B A B run: the median of the rounds' ratios
// of requests per CPU-second.
func compare(name, engine string, server, limit []load.Report) *result {
	ratios := make([]float64, len(server))
	for i := range server {
		ratios[i] = server[i].PerCPU / limit[i].PerCPU
	}
	ms := func(r load.Report) float64 { return r.P99 }
	size := func(r load.Report) float64 { return float64(r.Bytes) / 1000 }
	note := fmt.Sprintf("%.0f against %.0f req/CPUs, %.1f against %.1f kB, %.0f against %.0f req/s, p50 %.2f p99 %.1f ms against %.1f, RSS %d MB",
		median(each(server, perCPU)), median(each(limit, perCPU)), median(each(server, size)), median(each(limit, size)),
		median(each(server, perSecond)), median(each(limit, perSecond)),
		median(each(server, func(r load.Report) float64 {
			return r.P50
		})), median(each(server, ms)), median(each(limit, ms)), server[len(server)-1].RSS>>20)
	r := of(name, engine, ratios, note)
	r.Server, r.Limit = server, limit
	return r
}

// table prints results as they come and keeps count of the goals missed.
type table struct {
	file   *os.File
	failed int
}

func newTable(path string) (*table, error) {
	t := &table{}
	if path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		t.file = f
	}
	fmt.Printf("%-34s %-11s %10s %-19s %-10s %s\n", "case", "engine", "median", "(least - greatest)", "goal", "")
	return t, nil
}

func (t *table) add(r *result) error {
	word := ""
	if r.Goal != "" {
		word = "ok"
		if !r.Pass {
			word = "MISSED"
			t.failed++
		}
	}
	fmt.Printf("%-34s %-11s %10.3g (%.3g - %.3g)%*s %-10s %-6s %s\n", r.Case, r.Engine, r.Value, r.Low, r.High,
		max(0, 15-len(fmt.Sprintf("%.3g - %.3g", r.Low, r.High))), "", r.Goal, word, r.Note)
	if t.file == nil {
		return nil
	}
	return json.NewEncoder(t.file).Encode(r)
}
