package mailtemplate

import (
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"golang.org/x/net/html"

	"holdfast/internal/fault"
	"holdfast/internal/mail"
)

// Template is a letter as a tenant words it. HTML may be empty: the mail is
// then text alone.
type Template struct{ Subject, Text, HTML string }

// placeholders are the names a template may use, and what each is.
var placeholders = []string{"Link", "Code", "Minutes", "Tenant", "Role", "Other", "Site", "Email"}

// compiled is a template that was read.
type compiled struct {
	subject, text *template.Template
	html          *htmltemplate.Template // nil = none
	asked         map[string]bool        // placeholders that decide an {{if}}
	used          map[string]bool
}

// compileTemplate reads a template. The only actions are {{.Name}} and {{if .Name}}
// with {{else}} and {{end}}: no loop, no function, nothing that can run long.
func (t Template) compileTemplate() (*compiled, error) {
	c := &compiled{asked: map[string]bool{}, used: map[string]bool{}}
	for _, part := range []struct{ field, source string }{{"subject", t.Subject}, {"text", t.Text}, {"html", t.HTML}} {
		read, err := template.New(part.field).Parse(part.source)
		if err != nil {
			return nil, refuseTemplate(part.field, "%s", strings.TrimPrefix(err.Error(), "template: "))
		}
		if len(read.Templates()) > 1 {
			return nil, refuseTemplate(part.field, "no templates may be defined in it")
		}
		if read.Tree != nil {
			if err := c.checkNode(part.field, read.Tree.Root); err != nil {
				return nil, err
			}
		}
		switch part.field {
		case "subject":
			c.subject = read
		case "text":
			c.text = read
		case "html":
			if part.source == "" {
				continue
			}
			if c.html, err = htmltemplate.New("html").Parse(part.source); err == nil {
				err = c.html.Execute(io.Discard, slots{})
			}
			if err != nil {
				return nil, refuseTemplate("html", "%s", strings.TrimPrefix(err.Error(), "html/template: "))
			}
		}
	}
	return c, nil
}

func refuseTemplate(field, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	return fault.New(fault.Unprocessable, "22023", "the mail template cannot be used: %s: %s", field, msg).At(field, "%s",
		msg)
}

func (c *compiled) checkNode(field string, n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, m := range n.Nodes {
			if err := c.checkNode(field, m); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode, *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		_, err := c.placeholderName(field, n.Pipe)
		return err
	case *parse.IfNode:
		name, err := c.placeholderName(field, n.Pipe)
		if err != nil {
			return err
		}
		c.asked[name] = true
		if err := c.checkNode(field, n.List); err != nil {
			return err
		}
		return c.checkNode(field, n.ElseList)
	}
	return refuseTemplate(field, "%s: only {{.Name}} and {{if .Name}} ... {{else}} ... {{end}} may be used", n)
}

func (c *compiled) placeholderName(field string, p *parse.PipeNode) (string, error) {
	if len(p.Decl) == 0 && len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 {
		if f, ok := p.Cmds[0].Args[0].(*parse.FieldNode); ok && len(f.Ident) == 1 &&
			slices.Contains(placeholders, f.Ident[0]) {
			c.used[f.Ident[0]] = true
			return f.Ident[0], nil
		}
	}
	return "", refuseTemplate(field, "unknown placeholder {{%s}}; there are {{.%s}}", p,
		strings.Join(placeholders, "}}, {{."))
}

func (c *compiled) renderTemplate(s slots) (Template, error) {
	var subject, text, rich strings.Builder
	err := c.subject.Execute(&subject, s)
	if err == nil {
		err = c.text.Execute(&text, s)
	}
	if err == nil && c.html != nil {
		err = c.html.Execute(&rich, s)
	}
	return Template{subject.String(), text.String(), rich.String()}, err
}

// Check refuses, naming the field, a template of a kind that could not be
// sent, lacks what its kind is for, or leads elsewhere than allowed lets:
// every way its conditions can fall is rendered and looked at, so what is
// checked is what is sent.
func (t Template) Check(k Kind, allowed func(url string) bool) error {
	if k.Ours() {
		return refuseTemplate("kind", "a letter of kind %s is not worded by tenants", k)
	}
	c, err := t.compileTemplate()
	if err != nil {
		return err
	}
	for _, f := range []struct{ field, value string }{{"subject", t.Subject}, {"text", t.Text}} {
		if strings.TrimSpace(f.value) == "" {
			return refuseTemplate(f.field, "it is empty")
		}
	}
	if strings.ContainsFunc(t.Subject, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return refuseTemplate("subject", "it has a line break or another control character")
	}
	if err := t.checkComplete(k); err != nil {
		return err
	}
	full := Sample(k, "en").slotValues()
	ours := func(u string) bool { return u == full.Link && u != "" || u == full.Site || allowed(u) }
	for _, s := range emptiedSlots(full, slices.Sorted(maps.Keys(c.asked))) {
		out, err := c.renderTemplate(s)
		if err != nil {
			return refuseTemplate("html", "%s", err)
		}
		if err := checkLinks("subject", out.Subject, ours); err != nil {
			return err
		}
		if err := checkLinks("text", out.Text, ours); err != nil {
			return err
		}
		if err := checkHTML(out.HTML, ours); err != nil {
			return err
		}
	}
	return nil
}

// checkComplete asks for what a letter of the kind is sent for.
func (t Template) checkComplete(k Kind) error {
	need := map[Kind][]string{Reauthentication: {"Code"}}[k]
	switch k {
	case Confirmation, Recovery, MagicLink, EmailChangeCurrent, EmailChangeNew:
		need = []string{"Link", "Code"}
	case Invite, TenantInvite:
		need = []string{"Link"}
	}
	if need == nil {
		return nil
	}
	for _, part := range []struct{ field, source string }{{"text", t.Text}, {"html", t.HTML}} {
		has := part.field == "html" && part.source == ""
		for _, n := range need {
			has = has || strings.Contains(part.source, "."+n)
		}
		if !has {
			return refuseTemplate(part.field, "a letter of kind %s needs {{.%s}}", k, strings.Join(need, "}} or {{."))
		}
	}
	return nil
}

// emptiedSlots returns full with every subset of the asked placeholders emptied.
func emptiedSlots(full slots, asked []string) []slots {
	out := []slots{full}
	for _, name := range asked {
		for _, s := range out {
			*s.fieldByName(name) = ""
			out = append(out, s)
		}
	}
	return out
}

func (s *slots) fieldByName(name string) *string {
	return map[string]*string{"Link": &s.Link, "Code": &s.Code, "Minutes": &s.Minutes, "Tenant": &s.Tenant,
		"Role": &s.Role, "Other": &s.Other, "Site": &s.Site, "Email": &s.Email}[name]
}

// address finds what mail programs make links of.
var address = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*:)?//[^\s<>"']+|\bwww\.[^\s<>"']+`)

func checkLinks(field, text string, allowed func(string) bool) error {
	for _, u := range address.FindAllString(text, -1) {
		if !allowed(u) && !allowed(strings.TrimRight(u, ".,;:!?)")) {
			return refuseTemplate(field, "%s is neither {{.Link}}, {{.Site}} nor an address of the configuration", u)
		}
	}
	return nil
}

// elements and attributes that a letter may have: nothing that runs, is
// fetched from elsewhere or can be filled in.
var (
	elements = wordSet("html head title body p br a strong b em i u small h1 h2 h3 h4 div span center table tbody thead tfoot tr td th ul ol li hr img " +
		"blockquote code pre")
	attributes = wordSet("style href src alt title width height align valign class lang dir colspan rowspan border cellpadding cellspacing role bgcolor")
	danger     = regexp.MustCompile(`(?i)url|expression|import|behavior|binding|position|[\\<>@]|/\*`)
)

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

func checkHTML(source string, allowed func(string) bool) error {
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return nil
		case html.TextToken:
			if err := checkLinks("html", html.UnescapeString(string(z.Raw())), allowed); err != nil {
				return err
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if err := checkElement(z.Token(), allowed); err != nil {
				return err
			}
		}
	}
}

func checkElement(t html.Token, allowed func(string) bool) error {
	if !elements[t.Data] {
		return refuseTemplate("html", "the element <%s> may not be used", t.Data)
	}
	for _, a := range t.Attr {
		switch {
		case !attributes[a.Key]:
			return refuseTemplate("html", "the attribute %s may not be used", a.Key)
		case a.Key == "style" && danger.MatchString(a.Val):
			return refuseTemplate("html", "the style %q may not be used", a.Val)
		case (a.Key == "href" || a.Key == "src") && !allowed(a.Val):
			return refuseTemplate("html", "%s=%q is neither {{.Link}}, {{.Site}} nor an address of the configuration", a.Key,
				a.Val)
		}
	}
	return nil
}

// Message renders the letter in a tenant's words.
func (t Template) Message(l Letter) (mail.Message, error) {
	c, err := t.compileTemplate()
	if err != nil {
		return mail.Message{}, err
	}
	s := l.slotValues()
	out, err := c.renderTemplate(s)
	if err != nil {
		return mail.Message{}, fmt.Errorf("letter: %s: %w", l.Kind, err)
	}
	subject := strings.Join(strings.Fields(out.Subject), " ")
	return mail.Message{To: l.To, Subject: subject, Text: out.Text, HTML: out.HTML, Kind: string(l.Kind)}, nil
}

// Sample is a letter of a kind with every placeholder that the kind fills, for
// previews.
func Sample(k Kind, locale string) Letter {
	l := Letter{Kind: k, Locale: locale, To: "jo@example.com", Site: "https://site.example", Tenant: "Example Ltd",
		Role: "operator", Other: "new@example.com"}
	switch k {
	case PasswordChanged:
		l.Other = ""
	case ProtectionChanged:
		l.Change, l.Other = PasskeyAdded, ""
	case SSODomain:
		l.Other, l.Code, l.Valid = "example.com", "123456", 10*time.Minute
	case Reauthentication:
		l.Code, l.Valid = "123456", 10*time.Minute
	default:
		l.Link, l.Code, l.Valid = "https://site.example/auth/v1/verify?token=sample", "123456", 10*time.Minute
	}
	return l
}
