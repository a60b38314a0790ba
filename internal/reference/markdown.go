package reference

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// markdown renders what the pages of docs are written in: headings, paragraphs,
// lists of one level, tables, fenced blocks, and in a line code, emphasis and
// links. The rest of Markdown is refused by a test over all pages.
type markdown struct {
	b    strings.Builder
	link func(target string) (href string, ok bool)
	toc  []heading
}

// heading is one of the second level, which a page's contents list.
type heading struct{ id, text string }

var (
	fence     = regexp.MustCompile("^```([a-z]*)")
	title     = regexp.MustCompile(`^(#{1,4}) (.+)$`)
	bullet    = regexp.MustCompile(`^- (.*)$`)
	numbered  = regexp.MustCompile(`^[0-9]+\. (.*)$`)
	comment   = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	divider   = regexp.MustCompile(`^\|[-| :]+\|$`)
	notInName = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func (m *markdown) renderText(text string) string {
	lines := strings.Split(comment.ReplaceAllString(text, ""), "\n")
	for len(lines) > 0 {
		lines = lines[m.renderBlock(lines):]
	}
	return m.b.String()
}

// renderBlock renders the block that begins with the first line and returns how many
// lines it has.
func (m *markdown) renderBlock(lines []string) int {
	first := lines[0]
	switch {
	case strings.TrimSpace(first) == "":
		return 1
	case fence.MatchString(first):
		return m.renderCode(lines)
	case title.MatchString(first):
		m.renderHeading(title.FindStringSubmatch(first))
		return 1
	case strings.HasPrefix(first, "|"):
		return m.renderTable(lines)
	case bullet.MatchString(first):
		return m.renderList("ul", bullet, lines)
	case numbered.MatchString(first):
		return m.renderList("ol", numbered, lines)
	}
	n := m.paragraphLines(lines)
	m.b.WriteString("<p>" + m.renderInline(strings.Join(lines[:n], " ")) + "</p>\n")
	return n
}

// paragraphLines is how many lines a paragraph has, or an element of a list.
func (m *markdown) paragraphLines(lines []string) int {
	n := 1
	for n < len(lines) && strings.TrimSpace(lines[n]) != "" && !beginsBlock(lines[n]) {
		n++
	}
	return n
}

// beginsBlock reports a line that no paragraph goes on with.
func beginsBlock(line string) bool {
	return fence.MatchString(line) || title.MatchString(line) || bullet.MatchString(line) || numbered.MatchString(line) ||
		strings.HasPrefix(line, "|")
}

func (m *markdown) renderCode(lines []string) int {
	n := 1
	for n < len(lines) && !strings.HasPrefix(lines[n], "```") {
		n++
	}
	language := fence.FindStringSubmatch(lines[0])[1]
	label := map[string]string{"sh": "curl", "js": "supabase-js", "json": "answer", "text": "answer"}[language]
	if label == "" {
		label = language
	}
	fmt.Fprintf(&m.b, "<figure class=%q><figcaption>%s</figcaption><pre tabindex=\"0\"><code>%s</code></pre></figure>\n",
		"code "+language, label, html.EscapeString(strings.Join(lines[1:n], "\n")))
	return n + 1
}

// renderHeading makes the anchor that links to it name, as code hosts do.
func (m *markdown) renderHeading(parts []string) {
	level, text := len(parts[1]), parts[2]
	id := strings.ReplaceAll(strings.ToLower(notInName.ReplaceAllString(text, "")), " ", "-")
	if level == 2 {
		m.toc = append(m.toc, heading{id, m.renderInline(text)})
	}
	fmt.Fprintf(&m.b, "<h%d id=%q>%s</h%d>\n", level, id, m.renderInline(text), level)
}

func (m *markdown) renderList(tag string, mark *regexp.Regexp, lines []string) int {
	m.b.WriteString("<" + tag + ">\n")
	n := 0
	for n < len(lines) && mark.MatchString(lines[n]) {
		size := m.paragraphLines(lines[n:])
		element := append([]string{mark.FindStringSubmatch(lines[n])[1]}, lines[n+1:n+size]...)
		m.b.WriteString("<li>" + m.renderInline(strings.Join(element, " ")) + "</li>\n")
		n += size
	}
	m.b.WriteString("</" + tag + ">\n")
	return n
}

func (m *markdown) renderTable(lines []string) int {
	m.b.WriteString("<div class=\"table\" tabindex=\"0\"><table>\n")
	n := 0
	for ; n < len(lines) && strings.HasPrefix(lines[n], "|"); n++ {
		if divider.MatchString(lines[n]) {
			continue
		}
		tag := "td"
		if n+1 < len(lines) && divider.MatchString(lines[n+1]) {
			tag = "th"
		}
		m.b.WriteString("<tr>")
		for _, cell := range splitCells(lines[n]) {
			m.b.WriteString("<" + tag + ">" + m.renderInline(cell) + "</" + tag + ">")
		}
		m.b.WriteString("</tr>\n")
	}
	m.b.WriteString("</table></div>\n")
	return n
}

// splitCells cuts a row at its bars, but for those written \| or in code.
func splitCells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	var out []string
	var cell strings.Builder
	code := false
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row) && row[i+1] == '|':
			cell.WriteByte('|')
			i++
		case c == '|' && !code:
			out = append(out, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			code = code != (c == '`')
			cell.WriteByte(c)
		}
	}
	return append(out, strings.TrimSpace(cell.String()))
}

// renderInline renders code, **strong**, *emphasis* and [linkResolver](target) of a line.
func (m *markdown) renderInline(text string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "`*[")
		if at < 0 {
			b.WriteString(html.EscapeString(text))
			break
		}
		b.WriteString(html.EscapeString(text[:at]))
		text = text[at:]
		n, out := m.renderSpan(text)
		b.WriteString(out)
		text = text[n:]
	}
	return b.String()
}

var (
	codeSpan = regexp.MustCompile("^(?:``(.+?)``|`([^`]+)`)")
	strong   = regexp.MustCompile(`^\*\*(.+?)\*\*`)
	emphasis = regexp.MustCompile(`^\*([^*\s](?:[^*]*[^*\s])?)\*`)
	anchor   = regexp.MustCompile(`^\[([^\]]+)\]\(([^)\s]+)\)`)
)

// renderSpan renders what begins with a mark and returns how long it is in the text.
func (m *markdown) renderSpan(text string) (int, string) {
	if s := codeSpan.FindStringSubmatch(text); s != nil {
		return len(s[0]), "<code>" + html.EscapeString(strings.TrimSpace(s[1]+s[2])) + "</code>"
	}
	if s := strong.FindStringSubmatch(text); s != nil {
		return len(s[0]), "<strong>" + m.renderInline(s[1]) + "</strong>"
	}
	if s := emphasis.FindStringSubmatch(text); s != nil {
		return len(s[0]), "<em>" + m.renderInline(s[1]) + "</em>"
	}
	if s := anchor.FindStringSubmatch(text); s != nil {
		if href, ok := m.link(s[2]); ok {
			return len(s[0]), fmt.Sprintf("<a href=%q>%s</a>", html.EscapeString(href), m.renderInline(s[1]))
		}
		return len(s[0]), m.renderInline(s[1])
	}
	return 1, html.EscapeString(text[:1])
}
