package checklist

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
)

func items(list string) string { return `[{"title":"T","items":[` + list + `]}]` }

const yes = `{"key":"a","prompt":"A","type":"yes_no_na"}`

// What cannot be a template is refused, and the item that is wrong is named.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ sections, words string }{
		"no array":         {`{}`, "array"},
		"unknown member":   {items(`{"key":"a","prompt":"A","type":"text","size":3}`), "size"},
		"no key":           {items(`{"prompt":"A","type":"text"}`), "item 1"},
		"key with a space": {items(`{"key":"a b","prompt":"A","type":"text"}`), `"a b"`},
		"key twice":        {items(yes + `,` + yes), `"a" is there twice`},
		"no prompt":        {items(`{"key":"a","type":"text"}`), `"a": prompt`},
		"unknown type":     {items(`{"key":"a","prompt":"A","type":"slider"}`), `"a": type`},
		"negative weight":  {items(`{"key":"a","prompt":"A","type":"text","weight":-1}`), `"a": weight`},
		"choice of one":    {items(`{"key":"a","prompt":"A","type":"choice","options":["x"]}`), `"a": a choice`},
		"options twice":    {items(`{"key":"a","prompt":"A","type":"choice","options":["x","x"]}`), `"a": options`},
		"options of a number": {items(`{"key":"a","prompt":"A","type":"number","options":["x","y"]}`),
			`"a": only a choice`},
		"fail_when without op": {items(`{"key":"a","prompt":"A","type":"number","fail_when":{"value":3}}`), `"a": op`},
		"fail_when of another": {items(yes + `,{"key":"b","prompt":"B","type":"number","fail_when":{"item":"a","op":"==","value":"no"}}`), `"b": fail_when`},
		"value of the wrong kind": {items(`{"key":"a","prompt":"A","type":"number","fail_when":{"op":">","value":"3"}}`),
			`"a": no answer`},
		"more than a text": {items(`{"key":"a","prompt":"A","type":"text","fail_when":{"op":">","value":"3"}}`),
			`"a": > compares`},
		"value no choice": {items(`{"key":"a","prompt":"A","type":"choice","options":["x","y"],"fail_when":{"op":"in","value":["x","z"]}}`),
			`"a": no answer`},
		"photo compared": {items(`{"key":"a","prompt":"A","type":"photo","fail_when":{"op":"==","value":"x"}}`),
			`"a": a photo`},
		"shown by nothing": {items(`{"key":"a","prompt":"A","type":"text","show_when":{"item":"z","op":"answered"}}`),
			`"a": show_when asks about "z"`},
		"shown by itself": {items(`{"key":"a","prompt":"A","type":"yes_no_na","show_when":{"item":"a","op":"==","value":"yes"}}`),
			`"a": show_when leads back`},
		"cycle of three": {items(`{"key":"a","prompt":"A","type":"text","show_when":{"item":"c","op":"answered"}},` +
			`{"key":"b","prompt":"B","type":"text","show_when":{"item":"a","op":"answered"}},` +
			`{"key":"c","prompt":"C","type":"text","show_when":{"any":[{"item":"b","op":"answered"}]}}`),
			`show_when leads back`},
		"all and op": {items(yes +
			`,{"key":"b","prompt":"B","type":"text","show_when":{"op":"answered","item":"a","all":[{"item":"a","op":"answered"}]}}`), `"b": a condition`},
		"nested without end": {items(yes +
			`,{"key":"b","prompt":"B","type":"text","show_when":{"all":[{"all":[{"all":[{"all":[{"item":"a","op":"answered"}]}]}]}]}}`), `"b": conditions are nested`},
		"unknown consequence": {items(`{"key":"a","prompt":"A","type":"text","on_fail":"alarm"}`), `"a": on_fail`},
		"more sections than a day has": {`[` + strings.Repeat(`{"title":"x","items":[]},`,
			maxSections) + `{"title":"x","items":[]}]`, "sections"},
	} {
		_, err := Parse([]byte(c.sections))
		f := fault.As(err)
		if err == nil || f.Kind != fault.Invalid || f.Code != Code || len(f.Fields) != 1 || f.Fields[0].Name != "sections" ||
			!strings.Contains(f.Fields[0].Msg, c.words) {
			t.Errorf("%s: %v, want a fault at sections with %q", name, err, c.words)
		}
	}
}

func review(t *testing.T, sections, answers string) *Review {
	t.Helper()
	tpl, err := Parse([]byte(sections))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(answers), &values); err != nil {
		t.Fatal(err)
	}
	return tpl.Review(values)
}

// A truck's check: brakes are critical, the leak asks how bad it is only where
// there is one, the battery must hold at least 20 %.
var truck = items(`{"key":"brakes","prompt":"Brakes hold","type":"yes_no_na","required":true,"critical":true,"weight":5},
	{"key":"leak","prompt":"Leak","type":"choice","options":["none","drops","pool"],"required":true,"fail_when":{"op":"in","value":["drops","pool"]}},
	{"key":"oil","prompt":"What leaks","type":"text","required":true,"show_when":{"item":"leak","op":"!=","value":"none"}},
	{"key":"colour","prompt":"Colour","type":"text","required":true,"show_when":{"item":"oil","op":"answered"}},
	{"key":"battery","prompt":"Charge","type":"number","unit":"%","fail_when":{"op":"<","value":20}},
	{"key":"who","prompt":"Signed","type":"signature"}`)

func TestReview(t *testing.T) {
	for name, c := range map[string]struct {
		answers string
		want    Review
	}{
		"nothing answered": {`{}`, Review{Missing: []string{"brakes", "leak"}}},
		"all well": {`{"brakes":"yes","leak":"none","battery":80,"who":"Ada"}`,
			Review{Passed: 4, PassedWeight: 7}},
		"not applicable counts for nothing": {`{"brakes":"na","leak":"none"}`, Review{Passed: 1, PassedWeight: 1}},
		"brakes fail": {`{"brakes":"no","leak":"none"}`,
			Review{Passed: 1, PassedWeight: 1, Failed: 1, FailedWeight: 5, FailedCritical: 1}},
		"a leak asks on": {`{"brakes":"yes","leak":"drops"}`,
			Review{Passed: 1, PassedWeight: 5, Failed: 1, FailedWeight: 1, Missing: []string{"oil"}}},
		"and on": {`{"brakes":"yes","leak":"pool","oil":"hydraulic"}`,
			Review{Passed: 2, PassedWeight: 5, Failed: 1, FailedWeight: 1, Missing: []string{"colour"}}},
		"what is not asked has no say": {`{"brakes":"yes","leak":"none","oil":"left over"}`,
			Review{Passed: 2, PassedWeight: 6}},
		"the bound itself passes": {`{"brakes":"yes","leak":"none","battery":20}`,
			Review{Passed: 3, PassedWeight: 7}},
		"below the bound": {`{"brakes":"yes","leak":"none","battery":19.9}`,
			Review{Passed: 2, PassedWeight: 6, Failed: 1, FailedWeight: 1}},
		"no answer of the kind counts as none": {`{"brakes":1,"leak":"flood"}`,
			Review{Missing: []string{"brakes", "leak"}}},
		"an answer to no item counts for nothing": {`{"brakes":"yes","leak":"none","x":"yes"}`,
			Review{Passed: 2, PassedWeight: 6}},
	} {
		got := *review(t, truck, c.answers)
		got.asked = nil
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Review{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(truck, `{"brakes":"yes","leak":"pool","battery":3e400}`)
	f.Add(items(yes), `{"a":null}`)
	f.Fuzz(func(t *testing.T, sections, answers string) {
		tpl, err := Parse([]byte(sections))
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%v is no fault of the input", err)
			}
			return
		}
		var values map[string]json.RawMessage
		if json.Unmarshal([]byte(answers), &values) != nil {
			return
		}
		r := tpl.Review(values)
		if int(r.Passed+r.Failed)+len(r.Missing) > len(tpl.Items()) || r.FailedCritical > r.Failed {
			t.Fatalf("%+v of %d items", r, len(tpl.Items()))
		}
	})
}
