// Package jobtitle knows which job a title means, whatever its case, its language
// and its form for women and men: titles of people are free text, duties are bound
// to jobs. The catalogue of roles is data, with its sources, in roles.json.
//
// Layer: values. Begin at [Of].
package jobtitle

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed roles.json
var rolesFile []byte

// Role is a job that duties are bound to.
type Role struct {
	Name      string              `json:"name"`      // as rules and courses call it
	Equipment []string            `json:"equipment"` // kinds that whoever drives has this job, whatever the title
	Titles    map[string][]string `json:"titles"`    // by language
}

// roles are by their folded names; titlesOf gives those names by folded titles.
var roles, titlesOf = readRoles()

func readRoles() (map[string]Role, map[string]string) {
	var file struct{ Roles []Role }
	if err := json.Unmarshal(rolesFile, &file); err != nil {
		panic(fmt.Sprintf("jobtitle: roles.json: %v", err)) // it is part of the program, and a test reads it
	}
	byName, titles := map[string]Role{}, map[string]string{}
	for _, r := range file.Roles {
		name := Fold(r.Name)
		byName[name], titles[name] = r, name
		for _, list := range r.Titles {
			for _, title := range list {
				titles[Fold(title)] = name
			}
		}
	}
	return byName, titles
}

var (
	// genderNote is "(m/w/d)", "(H/F)", "(m|f|x)" and the like.
	genderNote = regexp.MustCompile(`(?i)\([mwdfhxi]([/|,* ]+[mwdfhxi])+\)|\b[mwdfhxi](/[mwdfhxi])+\b`)
	// genderEnding is the ending of "Fahrer/in", "Fahrer:innen", "Fahrer*in".
	genderEnding = regexp.MustCompile(`(?i)[/:*_]-?in(nen)?\b`)
)

// Fold returns the words of a title in one spelling: lower case, letters without
// accents, umlauts as two letters, without what says women and men, one space
// between words. One without letters and digits stays as it is.
func Fold(title string) string {
	title = genderEnding.ReplaceAllString(genderNote.ReplaceAllString(title, " "), "")
	title = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "ł", "l").
		Replace(strings.ToLower(norm.NFC.String(title)))
	letters := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return ' '
	}, norm.NFD.String(title))
	if words := strings.Fields(letters); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return strings.TrimSpace(title)
}

// Of returns the folded name of the job that a person's title means: the role of the
// catalogue whose longest title stands in it as whole words ("Senior forklift
// driver, nights" is a forklift operator, not a driver), else the folded title
// itself. Two titles with one result mean one job.
func Of(title string) string {
	words := strings.Fields(Fold(title))
	for n := len(words); n > 0; n-- {
		for from := 0; from+n <= len(words); from++ {
			if role, ok := titlesOf[strings.Join(words[from:from+n], " ")]; ok {
				return role
			}
		}
	}
	return strings.Join(words, " ")
}

// Named returns the folded name of the job that a word of a rule or a course names: a
// role of the catalogue by one of its titles, else the word itself. A word that only
// holds a title names a job of its own: "ADR driver" is not every driver.
func Named(word string) string {
	fold := Fold(word)
	if role, ok := titlesOf[fold]; ok {
		return role
	}
	return fold
}

// EquipmentOf returns the kinds of equipment that make whoever drives them hold a
// job, which is given as Named returns it; none for a job outside the catalogue.
func EquipmentOf(job string) []string { return roles[job].Equipment }

// IsNamed reports whether one of some words of a rule or a course, job titles and
// kinds of equipment, names the job of a person with a title, or that very title.
func IsNamed(words []string, title string) bool {
	job, own := Of(title), Fold(title)
	return own != "" && slices.ContainsFunc(words, func(word string) bool {
		named := Named(word)
		return named == job || named == own
	})
}

// AsksOf reports whether one of some words asks something of whoever drives a kind
// of equipment: by the kind itself, or by the job that goes with it.
func AsksOf(words []string, kind string) bool {
	kind = Fold(kind)
	return kind != "" && slices.ContainsFunc(words, func(word string) bool {
		isKind := func(k string) bool { return Fold(k) == kind }
		return isKind(word) || slices.ContainsFunc(EquipmentOf(Named(word)), isKind)
	})
}

// Demands are what records of some kind, such as courses, ask of jobs and kinds of
// equipment. It is not safe for concurrent use.
type Demands[ID comparable] struct {
	words          map[ID][]string
	byJob, ofKinds map[string][]ID
}

// NewDemands returns demands without a record.
func NewDemands[ID comparable]() *Demands[ID] {
	return &Demands[ID]{words: map[ID][]string{}, byJob: map[string][]ID{}, ofKinds: map[string][]ID{}}
}

// AddRecord adds a record with the words that say of whom it asks.
func (d *Demands[ID]) AddRecord(id ID, words []string) { d.words[id] = words }

// OfRecord returns a record that is asked for by its id, nothing where there is none.
func (d *Demands[ID]) OfRecord(id ID) []ID {
	if _, known := d.words[id]; !known {
		return nil
	}
	return []ID{id}
}

// OfTitle returns the records that ask something of people with a job title.
func (d *Demands[ID]) OfTitle(title string) []ID {
	if _, known := d.byJob[title]; !known {
		d.byJob[title] = d.findRecords(func(words []string) bool { return IsNamed(words, title) })
	}
	return d.byJob[title]
}

// OfKind returns the records that ask something of whoever drives a kind of
// equipment.
func (d *Demands[ID]) OfKind(kind string) []ID {
	if _, known := d.ofKinds[kind]; !known {
		d.ofKinds[kind] = d.findRecords(func(words []string) bool { return AsksOf(words, kind) })
	}
	return d.ofKinds[kind]
}

func (d *Demands[ID]) findRecords(asks func(words []string) bool) (list []ID) {
	for id, words := range d.words {
		if asks(words) {
			list = append(list, id)
		}
	}
	return list
}
