package sheet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Some programs answer with one object around the list of records:
// {"data": [{...}, {...}], "count": 2}.

// InList is the format of the one list of objects that a JSON file's only object holds;
// ok is false where the file holds more objects, or its object none or several such
// lists.
func (f Format) InList(open Source) (in Format, ok bool, err error) {
	if f.Type != JSON || f.List != "" {
		return f, false, nil
	}
	name, err := f.onlyList(open)
	if err != nil || name == "" {
		return f, false, err
	}
	f.List, f.Keys = name, nil
	return f, true, f.detectObjects(open)
}

// onlyList names the only list of objects in a file's only object, "" where there is no
// such.
func (f Format) onlyList(open Source) (name string, err error) {
	src, err := open()
	if err != nil {
		return "", err
	}
	defer src.Close()
	s, err := newSplitter(src, f)
	if err != nil {
		return "", err
	}
	lists := 0
	if c, err := firstByte(s.r); err != nil || c != '{' {
		return "", nil
	}
	ended, err := s.findList(func(key string) bool {
		name = key
		lists++
		return false
	})
	if err != nil || !ended || lists != 1 {
		return "", err
	}
	_, err = firstByte(s.r)
	if errors.Is(err, io.EOF) {
		return name, nil
	}
	return "", nil
}

// findList reads on to the first list of objects that a member of the next object holds
// and that is wanted, and stands in it then; ended says that the object ended
// before.
func (s *splitter) findList(isWanted func(key string) bool) (ended bool, err error) {
	var text []byte // of the last string at the depth of the members
	depth, quoted, escaped, list := 0, false, false, false
	for {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if c == '\n' {
			s.line++
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			if quoted = !quoted; quoted && depth == 1 {
				text = text[:0]
			}
		}
		if quoted || c == '"' {
			list = false
			if depth == 1 && len(text) < maxObject {
				text = append(text, c)
			}
			continue
		}
		switch c {
		case '[':
			list = depth == 1
			depth++
		case '{':
			if list && depth == 2 && isWanted(memberName(text)) {
				return false, s.r.UnreadByte()
			}
			list = false
			depth++
		case ']', '}':
			list = false
			if depth--; depth == 0 {
				return true, nil
			}
		case ' ', '\t', '\r', '\n':
		default:
			list = false
		}
	}
}

// memberName is the text of a quoted name.
func memberName(quoted []byte) string {
	var name string
	if json.Unmarshal(bytes.TrimSpace(quoted), &name) != nil {
		return ""
	}
	return name
}
