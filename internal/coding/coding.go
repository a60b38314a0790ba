// Package coding holds closed lists of codes that accidents are classified by, with
// their names: those of Europe in English, German and French, those of the United States
// in English. The lists are data, with their source, in esaw.json and oiics.json, which
// the console reads too.
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

var (
	//go:embed esaw.json
	esawFile []byte
	//go:embed oiics.json
	oiicsFile []byte
)

// Lists of European Statistics on Accidents at Work.
const (
	TypeOfInjury = "esaw_type_of_injury"
	PartOfBody   = "esaw_part_of_body"
	Deviation    = "esaw_deviation"
	Contact      = "esaw_contact"
)

// Lists of the Occupational Injury and Illness Classification System.
const (
	NatureOfInjury = "oiics_nature"
	BodyPart       = "oiics_part"
	Event          = "oiics_event"
	Source         = "oiics_source"
)

// Code is an entry of a list.
type Code struct{ Code, English, German, French string }

var lists = readLists(esawFile, oiicsFile)

func readLists(files ...[]byte) map[string][]Code {
	out := map[string][]Code{}
	for _, text := range files {
		var file struct {
			Lists []struct {
				Name  string
				Codes [][]string
			}
		}
		if err := json.Unmarshal(text, &file); err != nil {
			panic(fmt.Sprintf("coding: a list: %v", err)) // it is part of the program, and a test reads it
		}
		for _, list := range file.Lists {
			for _, names := range list.Codes {
				out[list.Name] = append(out[list.Name], codeOf(names))
			}
		}
	}
	return out
}

// codeOf reads a code with its names in English, German and French, in English alone, or
// without any, which is for all others of its group.
func codeOf(names []string) Code {
	code := names[0]
	switch len(names) {
	case 1:
		group := code[:len(code)-1] + "0"
		return Code{code, "Other of group " + group, "Andere der Gruppe " + group, "Autres du groupe " + group}
	case 2:
		return Code{code, names[1], names[1], names[1]}
	}
	return Code{code, names[1], names[2], names[3]}
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
