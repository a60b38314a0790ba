// Package coding holds closed lists of codes that accidents are classified by, with
// their names in English, German and French. The lists are data, with their source, in
// esaw.json, which the console's picker reads too.
//
// Layer: values. Begin at [CodesOf].
package coding

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

//go:embed esaw.json
var esawFile []byte

// Lists of European Statistics on Accidents at Work.
const (
	TypeOfInjury = "esaw_type_of_injury"
	PartOfBody   = "esaw_part_of_body"
	Deviation    = "esaw_deviation"
	Contact      = "esaw_contact"
)

// Code is an entry of a list.
type Code struct{ Code, English, German, French string }

var lists = readLists()

func readLists() map[string][]Code {
	var file struct {
		Lists []struct {
			Name  string
			Codes [][]string // code, English, German, French; or the code alone
		}
	}
	if err := json.Unmarshal(esawFile, &file); err != nil {
		panic(fmt.Sprintf("coding: esaw.json: %v", err)) // it is part of the program, and a test reads it
	}
	out := map[string][]Code{}
	for _, list := range file.Lists {
		for _, c := range list.Codes {
			if len(c) == 1 {
				group := c[0][:len(c[0])-1] + "0"
				c = []string{c[0], "Other of group " + group, "Andere der Gruppe " + group, "Autres du groupe " + group}
			}
			out[list.Name] = append(out[list.Name], Code{c[0], c[1], c[2], c[3]})
		}
	}
	return out
}

// CodesOf returns the codes of a list, in its order.
func CodesOf(list string) []string {
	codes := make([]string, len(lists[list]))
	for i, c := range lists[list] {
		codes[i] = c.Code
	}
	return codes
}

// mostNear is how many codes are named to somebody who wrote one that there is not.
const mostNear = 5

// Nearest returns a few codes of a list with their English names: those that begin as a
// text does, the nearest numbers first.
func Nearest(list, text string) []string {
	number, err := strconv.Atoi(text)
	if err != nil {
		number = 0 // is as far from all
	}
	near := slices.Clone(lists[list])
	slices.SortStableFunc(near, func(a, b Code) int {
		return cmp.Or(-cmp.Compare(countShared(a.Code, text), countShared(b.Code, text)),
			cmp.Compare(a.distanceTo(number), b.distanceTo(number)))
	})
	var out []string
	for _, c := range near[:min(mostNear, len(near))] {
		out = append(out, c.Code+" ("+c.English+")")
	}
	return out
}

// countShared is how many characters two texts begin with alike.
func countShared(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (c Code) distanceTo(number int) int {
	n, err := strconv.Atoi(c.Code)
	if err != nil {
		return 0
	}
	return max(n-number, number-n)
}
