// Package yearly knows the duties that an establishment has each year: whether it met
// them, since when one is late, and which establishments of the United States submit
// their records electronically (29 CFR 1904.41), by the most people whom they employed at
// any time of the year that the records are about, and by their industry. The designated
// industries, and those that keep no log, are data, with their year and what they rest on,
// in industries.json.
//
// Layer: domains. Begin at [DaysPast].
package yearly

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed industries.json
var industriesFile []byte

// Answer says whether a duty holds.
type Answer uint8

// Answers.
const (
	Unknown Answer = iota // the number of people, or the industry, is not on record
	No
	Yes
)

// Numbers of people from which an establishment submits (29 CFR 1904.41(a)).
const (
	fewest    = 20  // the summary, form 300A, in an industry of appendix A
	casesFrom = 100 // the log and the incident reports, forms 300 and 301, in one of appendix B
	large     = 250 // the summary, in any industry that keeps a log
)

// fewestDigits of a NAICS code name an industry group, which the appendices list.
const fewestDigits = 4

// appendix lists designated industries, and the first year whose records they submit.
type appendix struct {
	FirstYear  int `json:"first_year"`
	Industries []struct{ NAICS, Name string }
}

var industries = readIndustries()

func readIndustries() (file struct {
	Groups []string // the industry groups of the edition of NAICS in use, several a line
	A      appendix `json:"appendix_a"`
	B      appendix `json:"appendix_b"`
	Exempt appendix // from the log and all that rests on it: appendix A to subpart B
}) {
	if err := json.Unmarshal(industriesFile, &file); err != nil {
		panic(fmt.Sprintf("yearly: industries.json: %v", err)) // it is part of the program, and a test reads it
	}
	file.Groups = strings.Fields(strings.Join(file.Groups, " "))
	return file
}

// isGroup reports whether a code of NAICS is of a group of the edition in use.
func isGroup(naics string) bool {
	return len(naics) >= fewestDigits && slices.Contains(industries.Groups, naics[:fewestDigits])
}

// listsIndustry says whether an industry is designated. One that is told by its sector alone is
// known where the whole sector is; one of another edition of NAICS is not known.
func (a *appendix) listsIndustry(naics string) Answer {
	for _, industry := range a.Industries {
		if strings.HasPrefix(naics, industry.NAICS) {
			return Yes
		}
	}
	if !isGroup(naics) {
		return Unknown
	}
	return No
}

// IsExempt reports an industry whose establishments keep no log, and therefore neither
// post nor submit a summary, unless they are asked to in writing (29 CFR 1904.2(a)(1),
// 1904.41(a)(1)). One that is not on record, or told too shortly to be known, is none.
func IsExempt(naics string) bool { return industries.Exempt.listsIndustry(naics) == Yes }

// Establishment is what the duty of one rests on. The zero value is one of which nothing
// is on record.
type Establishment struct {
	NAICS string

	peaks       map[int]int64 // the most people of a year, where its summary states that
	means       map[int]int64 // else those it states on average, of which there were no fewer
	employments []employment
}

// employment is when people were employed, from the first day to the last. A zero day is
// one that nobody wrote down.
type employment struct {
	from, until time.Time
	people      int64
	isPossible  bool // they left, and nobody knows when
}

// StatePeople notes what the summary of a year says: the most people, 0 where it does not
// say, and people on average.
func (e *Establishment) StatePeople(year int, most, average int64) {
	if e.peaks == nil {
		e.peaks, e.means = map[int]int64{}, map[int]int64{}
	}
	e.peaks[year] = most
	e.means[year] = average
}

// AddPeople notes people who were employed from a day to another.
func (e *Establishment) AddPeople(from, until time.Time, people int64) {
	e.employments = append(e.employments, employment{from: from, until: until, people: people})
}

// AddPossible notes people who were employed from a day on and have left on a day that
// nobody wrote down.
func (e *Establishment) AddPossible(from time.Time, people int64) {
	e.employments = append(e.employments, employment{from: from, people: people, isPossible: true})
}

// headcount is the most people at any time of a year: those who are certain, and as many
// as there may have been.
type headcount struct{ certain, possible int64 }

// answerBy asks of both counts of people. Where they say different things, it is not
// known.
func (h headcount) answerBy(ask func(people int64) Answer) Answer {
	answer := ask(h.certain)
	if h.certain == 0 || answer != ask(h.possible) {
		return Unknown
	}
	return answer
}

// countMost counts the most people at any time of a year; 0 where nobody is on record. What
// the summary states decides, else the day with the most people by their dates of hire
// and of leaving, who are no fewer than the summary's average.
func (e *Establishment) countMost(year int) headcount {
	if n := e.peaks[year]; n > 0 {
		return headcount{n, n}
	}
	isCertain := func(m employment) bool { return !m.isPossible }
	isAny := func(employment) bool { return true }
	return headcount{e.peakOf(year, isCertain), e.peakOf(year, isAny)}
}

// peakOf is the most people of a year by their dates, of the employments that count.
func (e *Establishment) peakOf(year int, counts func(employment) bool) int64 {
	first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
	moves := map[time.Time]int64{}
	for _, m := range e.employments {
		from, until := m.from, m.until
		if from.Before(first) {
			from = first
		}
		if until.IsZero() || until.After(last) {
			until = last
		}
		if !counts(m) || until.Before(from) {
			continue
		}
		moves[from] += m.people
		moves[until.AddDate(0, 0, 1)] -= m.people
	}
	days := make([]time.Time, 0, len(moves))
	for day := range moves {
		days = append(days, day)
	}
	slices.SortFunc(days, time.Time.Compare)
	people, most := int64(0), e.means[year]
	for _, day := range days {
		people += moves[day]
		most = max(most, people)
	}
	return most
}

// AsksSummary says whether the summary of a year (form 300A) is submitted (29 CFR
// 1904.41(a)(1)): by establishments with 250 people that have to keep a log, and by
// smaller ones of designated industries.
func (e *Establishment) AsksSummary(year int) Answer {
	if year < industries.A.FirstYear || IsExempt(e.NAICS) {
		return No
	}
	return e.countMost(year).answerBy(func(people int64) Answer {
		if people < fewest {
			return No
		}
		if people >= large {
			return Yes
		}
		return industries.A.listsIndustry(e.NAICS)
	})
}

// AsksCases says whether the log and the incident reports of a year (forms 300 and 301)
// are submitted (29 CFR 1904.41(a)(2)).
func (e *Establishment) AsksCases(year int) Answer {
	if year < industries.B.FirstYear || IsExempt(e.NAICS) {
		return No
	}
	return e.countMost(year).answerBy(func(people int64) Answer {
		if people < casesFrom {
			return No
		}
		return industries.B.listsIndustry(e.NAICS)
	})
}
