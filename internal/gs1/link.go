package gs1

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// linkKeys are the identifiers a Digital Link begins with, as far as they are
// read here.
var linkKeys = []string{"01", "00", "414", "417"}

// parseLink reads a GS1 Digital Link URI (GS1 Digital Link Standard: URI Syntax
// 1.4): key and qualifiers in the path, attributes in the query.
func parseLink(raw string) (list []Element, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, ErrNotGS1
	}
	path := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	at := slices.IndexFunc(path, func(s string) bool { return slices.Contains(linkKeys, s) })
	if at < 0 || (len(path)-at)%2 != 0 {
		return nil, ErrNotGS1
	}
	for i := at; i < len(path); i += 2 {
		value, err := url.PathUnescape(path[i+1])
		if err != nil {
			return nil, fmt.Errorf("gs1: %q in the link is not readable", path[i+1])
		}
		if list, err = addLinked(list, path[i], value); err != nil {
			return nil, err
		}
	}
	query := u.Query()
	for _, ai := range slices.Sorted(maps.Keys(query)) {
		if _, known := findIdentifier(ai); known {
			if list, err = addLinked(list, ai, query.Get(ai)); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// addLinked takes shorter GTINs, which older links hold unpadded.
func addLinked(list []Element, ai, value string) ([]Element, error) {
	id, ok := findIdentifier(ai)
	if !ok {
		return nil, fmt.Errorf("gs1: application identifier %q of the link is not known", ai)
	}
	if padded, whole := GTIN(value); ai == "01" && whole {
		value = padded
	}
	return addElement(list, id, ai, value)
}

// Link writes elements as a GS1 Digital Link URI in its canonical form, at
// GS1's own resolver: the first is the key, the others are its qualifiers in
// their order. A value that its identifier does not allow is an error that names
// it.
func Link(elements ...Element) (string, error) {
	l, err := Compose(elements...)
	if err != nil {
		return "", err
	}
	if len(l.Elements) == 0 || !slices.Contains(linkKeys, l.Elements[0].AI) {
		return "", errors.New("gs1: a link begins with one of " + strings.Join(linkKeys, ", "))
	}
	var b strings.Builder
	b.WriteString("https://id.gs1.org")
	for _, e := range l.Elements {
		b.WriteString("/" + e.AI + "/" + url.PathEscape(e.Value))
	}
	return b.String(), nil
}
