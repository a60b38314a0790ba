package peers

import (
	"encoding/json"
	"os"
	"slices"
	"time"
)

// Run is what one run of the comparison found.
type Run struct {
	At         time.Time         `json:"at"`
	Processors int               `json:"processors"`
	Load       [2]float64        `json:"load"` // of the last minute, at the start and at the end
	Rounds     int               `json:"rounds"`
	Seconds    float64           `json:"seconds"` // of each turn
	Tenants    int               `json:"tenants"`
	Records    int               `json:"records"`  // of each tenant
	Orders     int               `json:"orders"`   // of each tenant
	Versions   map[string]string `json:"versions"` // of the peers that were had
	Figures    []Figure          `json:"figures"`
}

// Figure is a row with what each round found, in the row's unit.
type Figure struct {
	Row
	Holdfast []float64 `json:"holdfast,omitempty"`
	Other    []float64 `json:"other,omitempty"` // the peer
	ByHand   []float64 `json:"by_hand,omitempty"`
	Why      string    `json:"why,omitempty"` // it was not measured
}

// Value is a median of rounds and the least and the greatest of them.
type Value struct{ Median, Low, High float64 }

// Ratio divides each round's a by its b. Nothing is known without both.
func Ratio(a, b []float64) (Value, bool) {
	if len(a) == 0 || len(a) != len(b) {
		return Value{}, false
	}
	list := make([]float64, len(a))
	for i := range a {
		if b[i] == 0 {
			return Value{}, false
		}
		list[i] = a[i] / b[i]
	}
	return Of(list), true
}

// Of is the value of rounds.
func Of(list []float64) Value {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	return Value{(s[(n-1)/2] + s[n/2]) / 2, s[0], s[n-1]}
}

// Add enters a figure in the place of its row's.
func (r *Run) Add(f Figure) {
	if i := slices.IndexFunc(r.Figures, func(x Figure) bool { return x.Row == f.Row }); i >= 0 {
		r.Figures[i] = f
		return
	}
	r.Figures = append(r.Figures, f)
}

// Find returns the row's figure; one that nobody entered says so.
func (r *Run) Find(row Row) Figure {
	if i := slices.IndexFunc(r.Figures, func(x Figure) bool { return x.Row == row }); i >= 0 {
		return r.Figures[i]
	}
	return Figure{Row: row, Why: "not in this run"}
}

// Load reads a run as Save wrote it.
func Load(path string) (*Run, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Run{}
	return r, json.Unmarshal(raw, r)
}

// Save writes the run, each row in its place.
func (r *Run) Save(path string) error {
	whole := *r
	whole.Figures = nil
	for _, row := range Rows {
		whole.Figures = append(whole.Figures, r.Find(row))
	}
	raw, err := json.MarshalIndent(whole, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
