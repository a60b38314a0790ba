package reference

import (
	"fmt"
	"html"
	"io/fs"
	"path"
	"strings"

	"holdfast/docs"
)

// page is the address below /docs of a file of package docs: guides/README.md is
// guides, guides/list.md is guides/list.
func page(name string) string {
	name = strings.TrimSuffix(name, ".md")
	return strings.TrimSuffix(name, "/README")
}

// pages renders every page of package docs once, by address.
func pages() (map[string]*file, error) {
	texts, served := map[string]string{}, map[string]bool{}
	err := fs.WalkDir(docs.Pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := docs.Pages.ReadFile(name)
		texts[name], served[page(name)] = string(raw), true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	out := map[string]*file{}
	for name, text := range texts {
		m := markdown{link: links(name, served)}
		head, body, _ := strings.Cut(m.render(text), "</h1>\n")
		text := fmt.Appendf(nil, frame, headline(text), menu(page(name)), head, m.contents(), body)
		out[page(name)] = &file{kind: "text/html; charset=utf-8", plain: plainly(text)}
	}
	return out, nil
}

// links leads from one page to others that are served, and out of the house; what
// is in the repository alone stays text.
func links(from string, served map[string]bool) func(string) (string, bool) {
	return func(target string) (string, bool) {
		if strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "#") {
			return target, true
		}
		name, anchor, _ := strings.Cut(target, "#")
		if anchor != "" {
			anchor = "#" + anchor
		}
		to := page(path.Join(path.Dir(from), name))
		return "/docs/" + to + anchor, served[to]
	}
}

// headline is the text of the first heading.
func headline(text string) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	return html.EscapeString(line)
}

// steps are the guides in the order of guides/README.md, by address; what else
// is served follows them.
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
	{"api", "The API by example"},
	{"webhooks", "Events and webhooks"},
	{"permissions", "Who may do what"},
	{"formulas", "Formulas"},
	{"operating", "For operators"},
}

func menu(here string) string {
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

// contents lists the parts of a page that has several.
func (m *markdown) contents() string {
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
