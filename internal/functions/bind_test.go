package functions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/functions"
)

type sample struct {
	Page  int64   `query:"page" default:"1" min:"1"`
	Size  int64   `query:"pageSize" default:"50" min:"1" clamp:"200"`
	Days  int64   `query:"days" default:"30" min:"1" max:"365"`
	Light bool    `query:"lightweight"`
	Kind  string  `query:"entity_type" oneof:"zone driver"`
	ID    string  `query:"entity_id" format:"uuid"`
	Score float64 `query:"min_score" default:"0" min:"0" max:"100"`
}

func values(q string) func(string) []string {
	return func(name string) []string {
		var out []string
		for _, p := range strings.Split(q, "&") {
			if n, v, ok := strings.Cut(p, "="); ok && n == name {
				out = append(out, v)
			}
		}
		return out
	}
}

// Numbers of functions: plain integers within their bounds,
// page sizes over the limit clamped, everything else refused by name.
func TestBind(t *testing.T) {
	def := sample{Page: 1, Size: 50, Days: 30}
	with := func(f func(*sample)) *sample {
		s := def
		f(&s)
		return &s
	}
	for _, c := range []struct {
		query, body string
		want        *sample // nil = refused
		field       string
	}{
		{"", "", &def, ""},
		{"other=1", `{"other":1}`, &def, ""},
		{"page=2&pageSize=200", "", with(func(s *sample) { s.Page, s.Size = 2, 200 }), ""},
		{"pageSize=201", "", with(func(s *sample) { s.Size = 200 }), ""},
		{"pageSize=2147483648", "", with(func(s *sample) { s.Size = 200 }), ""},
		{"pageSize=9223372036854775808", "", nil, "pageSize"},
		{"page=9223372036854775807", "", with(func(s *sample) { s.Page = 1<<63 - 1 }), ""},
		{"page=0", "", nil, "page"}, {"page=-1", "", nil, "page"}, {"page=1e3", "", nil, "page"},
		{"page=NaN", "", nil, "page"},
		{"page=", "", nil, "page"}, {"page= 1", "", nil, "page"}, {"page=+1", "", nil, "page"}, {"page=1.0", "", nil, "page"},
		{"page=\u0661", "", nil, "page"}, {"page=1&page=1", "", nil, "page"}, {"page=0x1", "", nil, "page"},
		{"days=365", "", with(func(s *sample) { s.Days = 365 }), ""}, {"days=366", "", nil, "days"},
		{"days=0", "", nil, "days"},
		{"lightweight=true", "", with(func(s *sample) { s.Light = true }), ""}, {"lightweight=false", "", &def, ""},
		{"lightweight=1", "", nil, "lightweight"}, {"lightweight=TRUE", "", nil, "lightweight"},
		{"lightweight=", "", nil, "lightweight"},
		{"entity_type=zone", "", with(func(s *sample) { s.Kind = "zone" }), ""},
		{"entity_type=tenant", "", nil, "entity_type"},
		{"entity_id=0190A000-0000-7000-8000-000000000001", "", with(func(s *sample) { s.ID = north }), ""},
		{"entity_id=1", "", nil, "entity_id"}, {"entity_id={" + north + "}", "", nil, "entity_id"},
		{"", `{"days":7,"lightweight":true,"entity_type":"driver","min_score":12.5}`, with(func(s *sample) {
			s.Days, s.Light, s.Kind, s.Score = 7, true,
				"driver", 12.5
		}), ""},
		{"days=9", `{"days":7}`, nil, "days"}, {"days=07", `{"days":7}`, with(func(s *sample) { s.Days = 7 }), ""},
		{"", `{"days":null}`, &def, ""},
		{"", `{"days":"7"}`, nil, "days"}, {"", `{"days":7.5}`, nil, "days"}, {"", `{"days":[7]}`, nil, "days"},
		{"", `{"entity_type":1}`, nil, "entity_type"},
		{"min_score=100.1", "", nil, "min_score"}, {"min_score=Inf", "", nil, "min_score"},
		{"min_score=1e999", "", nil, "min_score"},
	} {
		var body map[string]json.RawMessage
		if c.body != "" {
			if err := json.Unmarshal([]byte(c.body), &body); err != nil {
				t.Fatal(err)
			}
		}
		var got sample
		err := functions.Bind(&got, values(c.query), body)
		switch {
		case c.want == nil:
			if !fault.Is(err, fault.Invalid) || fault.As(err).Fields[0].Name != c.field {
				t.Errorf("%s%s: %v, want a refusal of %s", c.query, c.body, err, c.field)
			}
		case err != nil:
			t.Errorf("%s%s: %v", c.query, c.body, err)
		default:
			if d := cmp.Diff(*c.want, got); d != "" {
				t.Errorf("%s%s: %s", c.query, c.body, d)
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	a, b := &functions.SnapshotIn{Page: 1, PageSize: 200}, &functions.SnapshotIn{}
	if err := functions.Bind(b, values("pageSize=999&lightweight=false"), nil); err != nil {
		t.Fatal(err)
	}
	if functions.Canonical(a) != functions.Canonical(b) {
		t.Errorf("%s differs from %s", functions.Canonical(a), functions.Canonical(b))
	}
	b.Lightweight = true
	if functions.Canonical(a) == functions.Canonical(b) {
		t.Error("different inputs have one text")
	}
}

func FuzzBind(f *testing.F) {
	for _, s := range []string{"1", "-1", "1e3", "", "9223372036854775808", "true", "NaN", "0.5"} {
		f.Add(s, `{"days":`+s+`}`)
	}
	f.Fuzz(func(t *testing.T, text, raw string) {
		var body map[string]json.RawMessage
		if json.Unmarshal([]byte(raw), &body) != nil {
			body = nil
		}
		var in sample
		err := functions.Bind(&in, func(string) []string { return []string{text} }, body)
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatalf("%q %q: %v", text, raw, err)
		}
		if err == nil && (in.Page < 1 || in.Size < 1 || in.Size > 200 || in.Days < 1 || in.Days > 365 || in.Score < 0 ||
			in.Score > 100) {
			t.Fatalf("%q %q gave %+v", text, raw, in)
		}
	})
}
