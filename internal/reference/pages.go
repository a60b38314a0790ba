package reference

import (
	"fmt"
	"html"
	"io/fs"
	"path"
	"strings"

	"holdfast/docs"
)

// pageAddress is the address below /docs of a file of package docs: guides/README.md is
// guides, guides/list.md is guides/list.
func pageAddress(name string) string {
	name = strings.TrimSuffix(name, ".md")
	return strings.TrimSuffix(name, "/README")
}

// renderPages renders every page of package docs once, by address.
func renderPages() (map[string]*file, error) {
	texts, served := map[string]string{}, map[string]bool{}
	err := fs.WalkDir(docs.Pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := docs.Pages.ReadFile(name)
		texts[name], served[pageAddress(name)] = string(raw), true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	out := map[string]*file{}
	for name, text := range texts {
		m := markdown{link: linkResolver(name, served)}
		head, body, _ := strings.Cut(m.renderText(text), "</h1>\n")
		text := fmt.Appendf(nil, frame, firstHeading(text), renderMenu(pageAddress(name)), head, m.renderContents(), body)
		out[pageAddress(name)] = &file{kind: "text/html; charset=utf-8", plain: plainReader(text)}
	}
	return out, nil
}

// linkResolver leads from one page to others that are served, and out of the house; what
// is in the repository alone stays text.
func linkResolver(from string, served map[string]bool) func(string) (string, bool) {
	return func(target string) (string, bool) {
		if strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "#") {
			return target, true
		}
		name, anchor, _ := strings.Cut(target, "#")
		if anchor != "" {
			anchor = "#" + anchor
		}
		to := pageAddress(path.Join(path.Dir(from), name))
		return "/docs/" + to + anchor, served[to]
	}
}

// firstHeading is the text of the first heading.
func firstHeading(text string) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	return html.EscapeString(line)
}

// steps are the guides in the order of guides/README.md, by address; the pages for people at work
// and what else is served follow them.
var steps = []struct{ address, label string }{
	{"guides", "Guides"},
	{"guides/sign-in", "Sign in"},
	{"guides/list", "List records"},
	{"guides/embed", "Embed"},
	{"guides/write-safely", "Write safely"},
	{"guides/import", "Import a file"},
	{"guides/events", "React to events"},
	{"guides/verbs", "Call a verb"},
	{"guides/act-for-a-tenant", "Act for a tenant"},
	{"guides/demonstration", "Test"},
	{"guides/go-live", "Go live"},
	{"use/floor", "A shift on the floor"},
	{"use/planner", "A planner's day"},
	{"use/safety", "The week of an EHS officer"},
	{"api", "The API by example"},
	{"webhooks", "Events and webhooks"},
	{"permissions", "Who may do what"},
	{"formulas", "Formulas"},
	{"rules", "The shipped rules"},
	{"operating", "For operators"},
}

func renderMenu(here string) string {
	var b strings.Builder
	for _, s := range steps {
		current := ""
		if s.address == here {
			current = ` aria-current="page"`
		}
		fmt.Fprintf(&b, "<li><a href=\"/docs/%s\"%s>%s</a></li>\n", s.address, current, s.label)
	}
	return b.String()
}

// renderContents lists the parts of a page that has several.
func (m *markdown) renderContents() string {
	if len(m.toc) < 3 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<details class=\"contents\"><summary>On this page</summary><ul>\n")
	for _, h := range m.toc {
		fmt.Fprintf(&b, "<li><a href=\"#%s\">%s</a></li>\n", h.id, h.text)
	}
	b.WriteString("</ul></details>\n")
	return b.String()
}

// frame is a page around its title, menu, contents and text.
const frame = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s - Holdfast</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/look.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header>
<p class="name"><a href="/">Holdfast</a></p>
<nav aria-label="Documentation"><a href="/docs">Reference</a> <a href="/docs/guides">Guides</a> <a href="/openapi.json">openapi.json</a>
<a href="/types.ts">types.ts</a> <a href="/">Console</a></nav>
</header>
<div class="page">
<nav class="menu" aria-label="Pages"><ul>
%s</ul></nav>
<main>
%s</h1>
%s%s</main>
</div>
</body>
</html>
`
