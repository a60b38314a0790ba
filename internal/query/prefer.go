package query

import (
	"strconv"
	"strings"

	"holdfast/internal/fault"
)

// Returning says what a write answers with.
type Returning uint8

// What a write answers with.
const (
	Minimal Returning = iota
	Headers
	Representation
)

// Counting says how the total is found.
type Counting uint8

// How the total is found; planned and estimated are exact on the embedded
// engine and bounded by it elsewhere.
const (
	NoCount Counting = iota
	Exact
	Planned
	Estimated
)

// Prefer is a Prefer header, read.
type Prefer struct {
	Return      Returning
	ReturnGiven bool
	Count       Counting
	Resolution  string // "", merge-duplicates, ignore-duplicates
	Missing     bool   // missing=default
	MissingSet  bool
	Strict      bool
	HandlingSet bool
	MaxAffected int // -1 = not given
}

// ParsePrefer reads all Prefer header lines; the first of a key wins. Strict
// handling refuses what it does not know.
func ParsePrefer(lines []string) (Prefer, error) {
	p := Prefer{MaxAffected: -1}
	var unknown []string
	seen := map[string]bool{}
	for _, line := range lines {
		for _, tok := range strings.Split(line, ",") {
			tok = strings.TrimSpace(tok)
			key, val, _ := strings.Cut(tok, "=")
			key = strings.ToLower(strings.TrimSpace(key))
			if tok == "" || seen[key] {
				continue
			}
			if !p.setPreference(key, strings.TrimSpace(val)) {
				unknown = append(unknown, clipText(tok))
				continue
			}
			seen[key] = true
		}
	}
	if p.Strict && len(unknown) > 0 {
		return p, fault.New(fault.Invalid, "PGRST122", "invalid preferences given with handling=strict").
			With("Invalid preferences: "+strings.Join(unknown, ", "), "")
	}
	return p, nil
}

func (p *Prefer) setPreference(key, val string) bool {
	switch key + "=" + val {
	case "return=minimal":
		p.Return, p.ReturnGiven = Minimal, true
	case "return=headers-only":
		p.Return, p.ReturnGiven = Headers, true
	case "return=representation":
		p.Return, p.ReturnGiven = Representation, true
	case "count=exact":
		p.Count = Exact
	case "count=planned":
		p.Count = Planned
	case "count=estimated":
		p.Count = Estimated
	case "resolution=merge-duplicates", "resolution=ignore-duplicates":
		p.Resolution = val
	case "missing=default", "missing=null":
		p.Missing, p.MissingSet = val == "default", true
	case "handling=strict", "handling=lenient":
		p.Strict, p.HandlingSet = val == "strict", true
	case "tx=rollback", "tx=commit":
	default:
		return p.setOtherPreference(key, val)
	}
	return true
}

func (p *Prefer) setOtherPreference(key, val string) bool {
	switch key {
	case "max-affected":
		n, err := strconv.Atoi(val)
		if err != nil || n < 0 {
			return false
		}
		p.MaxAffected = n
		return true
	case "timezone":
		return true
	}
	return false
}

// Applied returns what was honoured on a request with this method, in the
// order of Preference-Applied.
func (p Prefer) Applied(method string) []string {
	var out []string
	write := method != "GET" && method != "HEAD"
	if method == "POST" && p.Resolution != "" {
		out = append(out, "resolution="+p.Resolution)
	}
	if method == "POST" && p.MissingSet {
		missing := "missing=null"
		if p.Missing {
			missing = "missing=default"
		}
		out = append(out, missing)
	}
	if write && p.ReturnGiven {
		out = append(out, "return="+[...]string{"minimal", "headers-only", "representation"}[p.Return])
	}
	if p.Count != NoCount {
		out = append(out, "count="+[...]string{"", "exact", "planned", "estimated"}[p.Count])
	}
	if p.HandlingSet {
		handling := "handling=lenient"
		if p.Strict {
			handling = "handling=strict"
		}
		out = append(out, handling)
	}
	if p.Strict && p.MaxAffected >= 0 && (method == "PATCH" || method == "DELETE") {
		out = append(out, "max-affected="+strconv.Itoa(p.MaxAffected))
	}
	return out
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
