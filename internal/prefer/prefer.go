// Package prefer reads Prefer headers (RFC 7240) as PostgREST has them: what a write
// answers with, how a total is found, whether anything is kept.
//
// Layer: foundations. Begin at [Parse].
package prefer

import (
	"slices"
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

// Preferences is a Prefer header, read.
type Preferences struct {
	Return      Returning
	ReturnGiven bool
	Count       Counting
	Resolution  string // "", merge-duplicates, ignore-duplicates
	Missing     bool   // missing=default
	MissingSet  bool
	Strict      bool
	HandlingSet bool
	MaxAffected int    // -1 = not given
	Tx          string // "", commit, rollback: with rollback nothing is written
	Zone        string // timezone as it was given; "" = not given
}

// Rollback reports a request that asks what would happen: it is done and answered,
// and nothing of it is kept.
func (p Preferences) Rollback() bool { return p.Tx == "rollback" }

// Parse reads all Prefer header lines; the first of a key wins. Strict
// handling refuses what it does not know.
func Parse(lines []string) (Preferences, error) {
	p := Preferences{MaxAffected: -1}
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
				unknown = append(unknown, fault.Clip(tok, 100))
				continue
			}
			seen[key] = true
		}
	}
	if p.Strict && len(unknown) > 0 {
		return p, refusePreferences(unknown)
	}
	return p, nil
}

func refusePreferences(list []string) error {
	return fault.New(fault.Invalid, "PGRST122", "invalid preferences given with handling=strict").
		With("Invalid preferences: "+strings.Join(list, ", "), "")
}

func (p *Preferences) setPreference(key, val string) bool {
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
		p.Tx = val
	default:
		return p.setOtherPreference(key, val)
	}
	return true
}

func (p *Preferences) setOtherPreference(key, val string) bool {
	switch key {
	case "max-affected":
		n, err := strconv.Atoi(val)
		if err != nil || n < 0 {
			return false
		}
		p.MaxAffected = n
		return true
	case "timezone": // times are in UTC, whatever is asked
		if !slices.Contains([]string{"utc", "etc/utc", "gmt"}, strings.ToLower(val)) {
			return false
		}
		p.Zone = val
		return true
	}
	return false
}

// Use is what a request is as far as its preferences go.
type Use struct {
	Method string
	Verb   bool // a verb, not a collection
}

func (u Use) isWrite() bool { return !u.Verb && u.Method != "GET" && u.Method != "HEAD" }

func (u Use) affectsRows() bool { return u.Verb || u.Method == "PATCH" || u.Method == "DELETE" }

// CheckUse refuses, with strict handling, preferences that are known and mean
// nothing for such a request.
func (p Preferences) CheckUse(u Use) error {
	if !p.Strict {
		return nil
	}
	var list []string
	add := func(given, honoured bool, text string) {
		if given && !honoured {
			list = append(list, text)
		}
	}
	inserts := u.isWrite() && u.Method == "POST"
	add(p.Resolution != "", inserts, "resolution="+p.Resolution)
	add(p.MissingSet, inserts, p.missingText())
	add(p.ReturnGiven, u.isWrite(), p.returnText())
	add(p.MaxAffected >= 0, u.affectsRows(), "max-affected="+strconv.Itoa(p.MaxAffected))
	if len(list) > 0 {
		return refusePreferences(list)
	}
	return nil
}

func (p Preferences) missingText() string {
	if p.Missing {
		return "missing=default"
	}
	return "missing=null"
}

func (p Preferences) returnText() string {
	return "return=" + [...]string{"minimal", "headers-only", "representation"}[p.Return]
}

// Applied returns what was honoured on such a request, in the order of
// Preference-Applied.
func (p Preferences) Applied(u Use) []string {
	var out []string
	method, write := u.Method, u.isWrite()
	if write && method == "POST" && p.Resolution != "" {
		out = append(out, "resolution="+p.Resolution)
	}
	if write && method == "POST" && p.MissingSet {
		out = append(out, p.missingText())
	}
	if write && p.ReturnGiven {
		out = append(out, p.returnText())
	}
	if p.Count != NoCount {
		out = append(out, "count="+[...]string{"", "exact", "planned", "estimated"}[p.Count])
	}
	if p.Tx != "" {
		out = append(out, "tx="+p.Tx)
	}
	if p.HandlingSet {
		handling := "handling=lenient"
		if p.Strict {
			handling = "handling=strict"
		}
		out = append(out, handling)
	}
	if p.Zone != "" {
		out = append(out, "timezone="+p.Zone)
	}
	if p.Strict && p.MaxAffected >= 0 && u.affectsRows() {
		out = append(out, "max-affected="+strconv.Itoa(p.MaxAffected))
	}
	return out
}
