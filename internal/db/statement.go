package db

import (
	"regexp"
	"strconv"
	"strings"
)

// A statement may be a raw string of several lines with words in braces, where
// the engines need different text:
//
//	id IN {ids $2}      one of the uuids in the JSON array that is parameter 2
//	code IN {texts $2}  one of its strings; {keys $2} where an index begins with the column
//	n IN {ints $2}      one of its integers
//	at IN {times $2}    one of its instants
//	{for update}        at the end of a SELECT: locks its rows
//	{skip locked}       the same, and passes over locked ones
//	{day at}            the UTC day of an instant, as YYYY-MM-DD
//	{hour at}           its UTC hour
//	{elements x AS e}   in FROM: the strings of the JSON array x, as e.value
//	{uuid x}            the id in a text
//
// What a statement becomes is made once and kept.

// FillWords returns a statement with words in braces of the caller's own replaced by SQL that it
// composes: FillWords("SELECT id FROM {table}", "{table}", "zones"). So the statement can be read
// whole where it stands. Values are no business of it, they go by parameters.
func FillWords(statement string, wordsAndSQL ...string) string {
	for i := 0; i < len(wordsAndSQL); i += 2 {
		statement = strings.ReplaceAll(statement, wordsAndSQL[i], wordsAndSQL[i+1])
	}
	return statement
}

// engineWord finds a word in braces and what belongs to it.
var engineWord = regexp.MustCompile(`(?:\s+IN \{(ids|texts|keys|ints|times) \$(\d+)\})|` +
	`(?:\s*\{(for update|skip locked)\})|\{elements ([^{}]+) AS (\w+)\}|\{(day|hour|uuid) ([^{}]+)\}`)

// keptStatements is how many expanded statements are kept at most.
const keptStatements = 4096

// expandStatement returns a statement's text for the engine, without blanks around
// it. A statement without braces is otherwise as it was; so is what stands in quotes.
func (d *DB) expandStatement(sql string) string {
	sql = strings.TrimSpace(sql)
	if strings.IndexByte(sql, '{') < 0 {
		return sql
	}
	if text, ok := d.statements.Load(sql); ok {
		return text.(string)
	}

	text := d.replaceWords(sql)
	if d.statementCount.Add(1) <= keptStatements {
		d.statements.Store(sql, text)
	}
	return text
}

// replaceWords replaces words in braces, outside quotes.
func (d *DB) replaceWords(sql string) string {
	parts := strings.Split(sql, "'")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = engineWord.ReplaceAllStringFunc(parts[i], d.engineText)
	}
	return strings.Join(parts, "'")
}

// engineText is the engine's text of a word in braces.
func (d *DB) engineText(word string) string {
	found := engineWord.FindStringSubmatch(word)
	n, _ := strconv.Atoi(found[2])
	switch found[1] + found[3] + found[6] {
	case "ids":
		return d.InUUID("", n)
	case "texts":
		return d.InText("", n)
	case "keys":
		return d.InKey("", n)
	case "ints":
		return d.InInt("", n)
	case "times":
		return d.InTime("", n)
	case "for update":
		return d.ForUpdate()
	case "skip locked":
		return d.SkipLocked()
	case "day":
		return d.Day(found[7])
	case "hour":
		return d.Hour(found[7])
	case "uuid":
		return d.UUID(found[7])
	}
	return d.Elements(found[4], found[5])
}
