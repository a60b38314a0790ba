package prefer

import (
	"strings"
	"testing"

	"holdfast/internal/fault"
)

// The first of a preference wins; strict handling names what is unknown.
func TestParse(t *testing.T) {
	p, err := Parse([]string{
		"return=representation, count=exact",
		"resolution=merge-duplicates,return=minimal, nonsense",
	})
	if err != nil || p.Return != Representation || p.Count != Exact || p.Resolution != "merge-duplicates" {
		t.Errorf("%+v %v", p, err)
	}
	want := "resolution=merge-duplicates, return=representation, count=exact"
	if got := strings.Join(p.Applied(Use{Method: "POST"}), ", "); got != want {
		t.Error(got)
	}
	if _, err := Parse([]string{"handling=strict, foo=bar, max-affected=2"}); !fault.HasCode(err, "PGRST122") ||
		!strings.Contains(fault.As(err).Details, "foo=bar") {
		t.Error(err)
	}
}
