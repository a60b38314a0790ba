package sheet

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// languageWords are words of each language that have its letters: what letter
// follows which is counted in them.
//
//go:embed words.txt
var languageWords string

// language counts in its words which letter follows which; 0 stands for the
// beginning and the end of a word.
type language struct {
	pairs   map[[2]rune]float64
	letters map[rune]float64
	all     float64
	latin   bool
}

// languages are those of words.txt, by name.
var languages = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for line := range strings.Lines(languageWords) {
		words := strings.Fields(line)
		l := &language{pairs: map[[2]rune]float64{}, letters: map[rune]float64{}}
		for _, w := range words[1:] {
			l.countWord(w)
		}
		l.latin = l.letters['a'] > 0
		all[words[0]] = l
	}
	return all
})

func (l *language) countWord(word string) {
	before := rune(0)
	for _, r := range strings.ToLower(word) + "\x00" {
		l.pairs[[2]rune{before, r}]++
		l.letters[before]++
		l.all++
		before = r
	}
}

// Weights of a letter by the one before it, by itself, and by nothing. They add up
// to 1.
const (
	pairWeight   = 0.65
	letterWeight = 0.3
	floorWeight  = 0.05
)

// Chances of a letter that a language does not have.
const (
	foreignLatin  = 1.0 / 100 // q in Turkish
	foreignLetter = 1.0 / 3000
)

// weighWord is the log-probability that the language has a word.
func (l *language) weighWord(word string) float64 {
	sum, before := 0.0, rune(0)
	for _, r := range strings.ToLower(word) + "\x00" {
		floor := foreignLetter
		if l.latin && r < utf8.RuneSelf {
			floor = foreignLatin
		}
		p := letterWeight*l.letters[r]/l.all + floorWeight*floor
		if n := l.letters[before]; n > 0 {
			p += pairWeight * l.pairs[[2]rune{before, r}] / n
		}
		sum += math.Log(p)
		before = r
	}
	return sum
}

// Log-probabilities of what is no word of a language.
const (
	oddShape    = -5.0 // a capital inside a word
	usualSymbol = -4.0
	oddSymbol   = -9.0
	undefined   = -12.0
)

// usualSymbols stand beside words and numbers.
const usualSymbols = "°€£¥§µ²³½¼¾®™©«»„“”‘’‚–—…·•¿¡ºª\u00a0№"

// weighSample is the log-probability of a text in the best of some languages, word by
// word. Signs of ASCII say nothing, and no word does that has but usual signs beside it.
func weighSample(text string, in []*language) float64 {
	letters := []rune(text)
	sum, plain := 0.0, true
	for i, r := range letters {
		if isWordLetter(r) {
			plain = plain && r < utf8.RuneSelf
			continue
		}
		p := weighSymbol(r, i > 0 && isWordLetter(letters[i-1]) && i+1 < len(letters) && isWordLetter(letters[i+1]))
		sum, plain = sum+p, plain && p > oddSymbol
	}
	if plain {
		return sum
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isWordLetter(r) }) {
		sum += weighInBest(word, in)
	}
	return sum
}

// isWordLetter reports a letter that words have, unlike the signs that count as
// letters beside numbers.
func isWordLetter(r rune) bool { return unicode.IsLetter(r) && !strings.ContainsRune(usualSymbols, r) }

// weighInBest is the log-probability of a word in the language that has it best.
func weighInBest(word string, in []*language) float64 {
	best := math.Inf(-1)
	for _, l := range in {
		best = max(best, l.weighWord(word))
	}
	if !hasUsualShape(word) {
		best += oddShape
	}
	return best
}

// weighSymbol is the log-probability of what is no letter; inside a word only an
// apostrophe is usual.
func weighSymbol(r rune, inside bool) float64 {
	switch {
	case r < utf8.RuneSelf:
		return 0
	case r == utf8.RuneError:
		return undefined
	case r == '’' || !inside && strings.ContainsRune(usualSymbols, r):
		return usualSymbol
	}
	return oddSymbol
}

// hasUsualShape reports a word all of whose letters behind the first are small, or
// all of whose letters are capitals.
func hasUsualShape(word string) bool {
	_, n := utf8.DecodeRuneInString(word)
	rest := word[n:]
	return rest == strings.ToLower(rest) || word == strings.ToUpper(word)
}

// weighTokens is the log-probability of tokens of a file in the encoding.
func (c *charset) weighTokens(tokens [][]byte) float64 {
	var in []*language
	for _, name := range c.languages {
		in = append(in, languages()[name])
	}
	sum := c.usual
	for _, t := range tokens {
		if c.twoBytes != nil {
			sum += weighPairs(t, c.weigh)
			continue
		}
		sum += weighSample(c.decodeSample(t), in)
	}
	return sum
}

// asciiBeside is the log-probability of a letter of ASCII among characters of two
// bytes.
const asciiBeside = -4.0

// weighPairs is the log-probability of a token in an encoding of two bytes a
// character.
func weighPairs(token []byte, weigh weighPair) float64 {
	sum := 0.0
	for len(token) > 0 {
		if token[0] < utf8.RuneSelf {
			sum, token = sum+asciiBeside, token[1:]
			continue
		}
		trail := byte(0)
		if len(token) > 1 {
			trail = token[1]
		}
		p, size := weigh(token[0], trail)
		sum, token = sum+p, token[size:]
	}
	return sum
}

// weighPair is the log-probability of the character that begins with lead, and how
// many bytes it has.
type weighPair func(lead, trail byte) (p float64, size int)

func isBetween(b, from, to byte) bool { return b >= from && b <= to }

// weighShiftJIS weighs kana, the 2,965 kanji of the first level (JIS X 0208, rows 16
// to 47), and the others.
func weighShiftJIS(lead, trail byte) (p float64, size int) {
	switch {
	case isBetween(lead, 0xA1, 0xDF): // katakana of half the width
		return -8, 1
	case trail < 0x40 || trail == 0x7F || trail > 0xFC || lead == 0x80 || lead == 0xA0 || lead > 0xEF:
		return undefined, 1
	case lead == 0x82 && trail >= 0x9F, lead == 0x83 && trail <= 0x96:
		return -5.8, 2
	case lead <= 0x84:
		return -8, 2
	case isBetween(lead, 0x88, 0x98):
		return -8.8, 2
	}
	return -12, 2
}

// weighGBK weighs the 3,755 characters of the first level of GB 2312, those of the
// second, signs, and what GBK added.
func weighGBK(lead, trail byte) (p float64, size int) {
	switch {
	case lead == 0x80 || lead == 0xFF || trail < 0x40 || trail == 0x7F || trail == 0xFF:
		return undefined, 1
	case trail < 0xA1 || lead < 0xA1:
		return -13.5, 2
	case isBetween(lead, 0xB0, 0xD7):
		return -8.4, 2
	case lead <= 0xA9:
		return -9.7, 2
	}
	return -11.5, 2
}

// weighBig5 weighs the 5,401 frequent characters, signs, and the rare ones.
func weighBig5(lead, trail byte) (p float64, size int) {
	switch {
	case lead < 0xA1 || lead > 0xF9 || trail < 0x40 || isBetween(trail, 0x7F, 0xA0) || trail == 0xFF:
		return undefined, 1
	case isBetween(lead, 0xA4, 0xC6):
		return -8.8, 2
	case lead <= 0xA3:
		return -9.7, 2
	}
	return -12, 2
}

// reading is an encoding and how well it reads a file's words.
type reading struct {
	*charset
	weight float64
	text   string // the words
}

// sampleWords are so many words of a file that a question or a note shows.
const sampleWords = 3

// clearer is by how much, in log-probability, one reading has to be better than
// another that has other letters.
const clearer = 3.0

// Least log-probabilities of a character, on average, of words that a language has.
const (
	readableLetter = -4.0
	readablePair   = -9.2 // of two bytes
)

// isReadable reports words that a language may have.
func (r reading) isReadable() bool {
	least := readableLetter
	if r.twoBytes != nil {
		least = readablePair
	}
	return r.weight >= least*float64(utf8.RuneCountInString(r.text))
}

// readWords weighs the encodings that may have a file's words, the best first.
func readWords(tokens [][]byte) []reading {
	all := make([]reading, len(charsets))
	for i := range charsets {
		set := &charsets[i]
		words := make([]string, len(tokens))
		for j, t := range tokens {
			words[j] = set.decodeSample(t)
		}
		all[i] = reading{set, set.weighTokens(tokens), strings.Join(words, " ")}
	}
	slices.SortStableFunc(all, func(a, b reading) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

// listRivals are the readings that may be meant as well as the first, which stands in
// front of them; one alone is certain.
func listRivals(all []reading) []reading {
	best := all[0]
	out := []reading{best}
	for _, r := range all[1:] {
		same := slices.ContainsFunc(out, func(o reading) bool { return o.text == r.text })
		if !same && best.weight-r.weight < clearer {
			out = append(out, r)
		}
	}
	if len(out) == 1 && !best.isReadable() {
		return all[:offered]
	}
	return out
}

// offered is how many readings are offered of words that no language has.
const offered = 4

// joinSample is a few of the words.
func (r reading) joinSample() string {
	hasNoLetter := func(w string) bool { return !strings.ContainsFunc(w, unicode.IsLetter) }
	words := slices.DeleteFunc(strings.Fields(r.text), hasNoLetter)
	return strings.Join(words[:min(len(words), sampleWords)], ", ")
}
