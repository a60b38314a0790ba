package output_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
)

type inner struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
}

type sample struct {
	output.Kept
	Text    string           `json:"text"`
	Whole   int64            `json:"whole"`
	Figures []float64        `json:"figures"`
	Amount  decimal.Dec      `json:"amount"`
	Maybe   *decimal.Dec     `json:"maybe"`
	Count   map[string]int64 `json:"count"`
	Inner   []inner          `json:"inner"`
	Any     any              `json:"any"`
	ID      uuid.UUID        `json:"id"`
	At      time.Time        `json:"at"`
	Left    json.RawMessage  `json:"left,omitempty"`
	Absent  string           `json:"absent,omitempty"`
	Secret  string           `json:"-"`
	hidden  int
}

func filled() *sample {
	one := 1.5
	return &sample{Kept: output.KeptOf("t", time.Unix(0, 0)), Text: "a\"b\\c\n\x01é", Whole: -7,
		Figures: []float64{0, 0.1, 1e6, 123456789.5, 1e-7, 1e21, -2},
		Amount:  decimal.One, Count: map[string]int64{"b": 2, "a": 1}, Inner: []inner{{"x", &one}, {"y", nil}},
		Any: []string{"k"},
		ID:  uuid.MustParse("0190a000-0000-7000-8000-000000000001"), At: time.Unix(0, 0).UTC(),
		Left: json.RawMessage(`[{"a":1}]`), Secret: "s", hidden: 1}
}

// What is written is what encoding/json writes.
func TestEncodeIsJSON(t *testing.T) {
	got, err := output.Encode(filled())
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(filled())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Error(d)
	}
}

func TestWhatHasNoForm(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if b, err := output.Encode(&struct{ F float64 }{f}); err == nil {
			t.Errorf("%v became %s", f, b)
		}
	}
	got, err := output.Encode(&struct {
		List []int            `json:"list"`
		Map  map[string]int64 `json:"map"`
		Raw  json.RawMessage  `json:"raw"`
	}{})
	if want := `{"list":[],"map":{},"raw":null}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// An answer that tells whether it was kept says so; others are left alone.
func TestKeep(t *testing.T) {
	s := filled()
	if !output.Keep(s) || !s.Cached {
		t.Error("a kept answer does not say so")
	}
	if output.Keep(&output.Head{}) {
		t.Error("an answer without the member is taken for one that has it")
	}
}

type pieces struct {
	bytes.Buffer
	n    int
	fail int // the write that fails, 0 = none
}

func (p *pieces) Write(b []byte) (int, error) {
	if p.n++; p.n == p.fail {
		return 0, errors.New("gone")
	}
	return p.Buffer.Write(b)
}

type long struct {
	Before int                `json:"before"`
	Rows   output.Rows[inner] `json:"rows"`
	After  int                `json:"after"`
}

// Rows are made while they are sent, in blocks, and no further than somebody
// takes them.
func TestRowsAreSentInBlocks(t *testing.T) {
	made := 0
	rows := func(yield func(*inner) bool) {
		var x inner
		for made = range 10_000 {
			if x.Name = strings.Repeat("n", 20); !yield(&x) {
				return
			}
		}
	}
	var all pieces
	if err := output.Write(&all, &long{1, rows, 2}); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Rows  []inner
		After int
	}
	if err := json.Unmarshal(all.Bytes(), &back); err != nil || len(back.Rows) != 10_000 || back.After != 2 {
		t.Errorf("%d rows, %v", len(back.Rows), err)
	}
	if all.n < 10 {
		t.Errorf("sent in %d pieces", all.n)
	}
	if err := output.Write(&pieces{fail: 2}, &long{1, rows, 2}); err == nil || made > 5000 {
		t.Errorf("%d rows were made for nobody, %v", made, err)
	}
	got, err := output.Encode(&long{1, func(func(*inner) bool) {}, 2})
	if want := `{"before":1,"rows":[],"after":2}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

func BenchmarkEncode(b *testing.B) {
	s := filled()
	s.Left = json.RawMessage(`["` + strings.Repeat("x", 160_000) + `"]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := output.Encode(s); err != nil {
			b.Fatal(err)
		}
	}
}
