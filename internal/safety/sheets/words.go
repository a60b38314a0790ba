package sheets

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/internal/catalog"
)

// The words that the console has are made from its texts by TestWordsAreTheConsoles:
// they are translated in one place, for screen and paper.
//
//go:embed words_de.json words_fr.json
var wordFiles embed.FS

// words are a language of sheets.
type words struct {
	lang string
	day  string            // how a day is written, see time.Layout
	made map[string]string // by the English text, as the console says it
	own  map[string]string // what sheets alone say
}

// KnownLanguages are those in which sheets are printed, by their codes of ISO 639-1.
func KnownLanguages() []string { return []string{"en", "de", "fr"} }

var (
	english = &words{lang: "en", day: "2 Jan 2006"}
	german  = &words{lang: "de", day: "02.01.2006", made: readWords("de"), own: germanTexts}
	french  = &words{lang: "fr", day: "02/01/2006", made: readWords("fr"), own: frenchTexts}
)

// wordsIn is a language by its code; English where it is none of sheets'.
func wordsIn(lang string) *words {
	for _, w := range [...]*words{german, french} {
		if w.lang == lang {
			return w
		}
	}
	return english
}

func readWords(lang string) (made map[string]string) {
	raw, err := wordFiles.ReadFile("words_" + lang + ".json")
	if err == nil {
		err = json.Unmarshal(raw, &made)
	}
	if err != nil {
		panic(fmt.Sprintf("sheets: words of %s: %v", lang, err)) // it is part of the program
	}
	return made
}

// sayText is a text in the language; {name} in it stands for the value that follows the name
// among values.
func (w *words) sayText(text string, values ...any) string {
	return fillText(w.findText(text), values...)
}

// findText is the text in the language as it is kept, English where there is none.
func (w *words) findText(text string) string {
	if said, ok := w.own[text]; ok {
		return said
	}
	if said, ok := w.made[text]; ok {
		return said
	}
	return text
}

func fillText(text string, values ...any) string {
	pairs := make([]string, 0, len(values))
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, fmt.Sprintf("{%v}", values[i]), fmt.Sprint(values[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// formatNumber is a decimal number as the language writes it.
func (w *words) formatNumber(text string) string {
	if w.lang == "en" {
		return text
	}
	return strings.Replace(text, ".", ",", 1)
}

// translateWord is a value of a closed set in the language: near_miss is "Near miss".
func (w *words) translateWord(value string) string {
	if value == "" {
		return ""
	}
	return w.findText(spokenWord(value))
}

func spokenWord(value string) string {
	if value == "ppe" {
		return "PPE"
	}
	return catalog.Label(value)
}
