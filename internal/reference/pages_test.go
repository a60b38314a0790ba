package reference

import (
	"html"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"holdfast/docs"
)

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"# One `two`\n":                  `<h1 id="one-two">One <code>two</code></h1>`,
		"## Who am I?":                   `<h2 id="who-am-i">Who am I?</h2>`,
		"a\nb <i>\n\nc":                  "<p>a b &lt;i&gt;</p>\n<p>c</p>",
		"- one\n  more\n- **two**\n":     "<ul>\n<li>one   more</li>\n<li><strong>two</strong></li>\n</ul>",
		"1. one\n2. two":                 "<ol>\n<li>one</li>\n<li>two</li>\n</ol>",
		"[a *b*](there.md#x) [c](no.md)": `<p><a href="/to/there.md#x">a <em>b</em></a> c</p>`,
		"```sh\nif a < b; then # no title\n\n```\nafter": "<figure class=\"code sh\"><figcaption>curl</figcaption><pre tabindex=\"0\"><code>" +
			"if a &lt; b; then # no title\n</code></pre></figure>\n<p>after</p>",
		"| a | b |\n|---|---|\n| `x|y` | 1 \\| 2 |": `<div class="table" tabindex="0"><table>` + "\n<tr><th>a</th><th>b</th></tr>\n" +
			"<tr><td><code>x|y</code></td><td>1 | 2</td></tr>\n</table></div>",
		"5 * 3 * 2 ` [no link] a_b_c": "<p>5 * 3 * 2 ` [no link] a_b_c</p>",
		"<!-- hidden\n-->\ntext":      "<p>text</p>",
	} {
		m := markdown{link: func(to string) (string, bool) { return "/to/" + to, strings.HasPrefix(to, "there") }}
		if got := strings.TrimSuffix(m.renderText(text), "\n"); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", text, got, want)
		}
	}
}

var (
	hrefs = regexp.MustCompile(`href="([^"]+)"`)
	ids   = regexp.MustCompile(`<h[1-4] id="([^"]+)"`)
	quiet = regexp.MustCompile(`(?s)<code>.*?</code>`)
)

// No page has Markdown left in it, and every link leads to a page that is served,
// and to a heading that is there.
func TestPages(t *testing.T) {
	all, err := renderPages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 25 {
		t.Fatalf("%d pages", len(all))
	}
	anchors := map[string]bool{"/docs": true, "/openapi.json": true, "/types.ts": true, "/": true}
	texts := map[string]string{}
	for address, f := range all {
		text, err := f.plain()
		if err != nil {
			t.Fatal(err)
		}
		texts[address] = string(text)
	}
	for address, text := range texts {
		anchors["/docs/"+address] = true
		for _, m := range ids.FindAllStringSubmatch(text, -1) {
			anchors["/docs/"+address+"#"+m[1]] = true
		}
	}
	for address, text := range texts {
		for _, m := range hrefs.FindAllStringSubmatch(text, -1) {
			to := html.UnescapeString(m[1])
			if strings.HasPrefix(to, "#") {
				to = "/docs/" + address + to
			}
			if !anchors[to] && !strings.HasPrefix(to, "https://") && to != "data:," && !strings.HasSuffix(to, ".css") {
				t.Errorf("%s leads to %s, which is not there", address, to)
			}
		}
		_, body, _ := strings.Cut(quiet.ReplaceAllString(text, ""), "<main>")
		for _, mark := range []string{"**", "](", "`", "\n#", "\n|", "\n>", "\n- ", "<!--", "!["} {
			if i := strings.Index(body, mark); i >= 0 {
				t.Errorf("%s has %q: ...%.60s", address, mark, body[i:])
			}
		}
	}
}

// The menu has the guides in the order of their list, and every other page of the
// first level.
func TestPages_menu(t *testing.T) {
	text, err := docs.Pages.ReadFile("guides/README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"guides"}
	for _, m := range regexp.MustCompile(`\]\(([a-z-]+)\.md\)`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, "guides/"+m[1])
	}
	if len(want) != 11 || len(steps) < len(want) {
		t.Fatalf("%d guides, %d steps", len(want)-1, len(steps))
	}
	listed := map[string]bool{}
	for i, s := range steps {
		listed[s.address] = true
		if i < len(want) && s.address != want[i] {
			t.Errorf("step %d is %s, want %s", i, s.address, want[i])
		}
	}
	names, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !listed[pageAddress(name)] {
			t.Errorf("no step leads to %s", name)
		}
	}
}
