package typegen

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/schema"
)

// Python returns a module with a pydantic model for rows, inserts and updates of
// each collection and for arguments and answers of the verbs and functions. It
// needs Python 3.9 and pydantic 2; it keeps to what pydantic 1.10 has as well.
func Python(src Source) []byte {
	w := &pyWriter{}
	w.WriteString(pyHead)
	c := classesOf(src)
	for _, set := range c.sets {
		fmt.Fprintf(w, "%s = %s\n", set.name, pyLiteral(set.values))
	}
	for i := range c.list {
		w.writeClass(&c.list[i])
	}
	return w.Bytes()
}

const pyHead = `"""Types of this Holdfast's records, verbs and functions.

Written by: holdfast gen types python

Rows are what is read, Insert and Update what is written; Args go to
/v1/rpc/{verb} and /functions/v1/{name}, which answer with Answer. Send what was
given and nothing else: model_dump(mode="json", by_alias=True, exclude_unset=True).
"""

from datetime import date, datetime
from typing import Any, Dict, List, Literal, Optional

from pydantic import BaseModel, Field

`

type pyWriter struct{ bytes.Buffer }

func (w *pyWriter) writeClass(k *class) {
	fmt.Fprintf(w, "\n\nclass %s(BaseModel):\n", k.name)
	if k.doc != "" {
		fmt.Fprintf(w, "    %s\n\n", pyDoc(k.doc))
	}
	for i := range k.members {
		m := &k.members[i]
		if m.doc != "" {
			fmt.Fprintf(w, "    # %s\n", strings.Join(strings.Fields(m.doc), " "))
		}
		fmt.Fprintf(w, "    %s: %s\n", pyName(m.wire), pyMember(m))
	}
	if len(k.members) == 0 {
		w.WriteString("    pass\n")
	}
}

// pyMember is annotation and default; a name that Python or pydantic needs for
// itself goes by an alias.
func pyMember(m *member) string {
	kind := pyType(&m.of)
	if m.optional || m.null {
		kind = "Optional[" + kind + "]"
	}
	alias := ""
	if pyName(m.wire) != m.wire {
		alias = "alias=" + strconv.Quote(m.wire)
	}
	switch {
	case m.optional && alias != "":
		return kind + " = Field(default=None, " + alias + ")"
	case m.optional:
		return kind + " = None"
	case alias != "":
		return kind + " = Field(..., " + alias + ")"
	}
	return kind
}

// pyTaken are keywords of Python, names of its builtins that annotations use and
// members of BaseModel in pydantic 1 and 2.
var pyTaken = []string{
	"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from",
	"global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
	"with", "yield",
	"None", "True", "False", "int", "str", "float", "bool", "date", "datetime",
	"construct", "copy", "dict", "fields", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema",
	"schema_json",
	"update_forward_refs", "validate",
	"model_config", "model_construct", "model_copy", "model_dump", "model_dump_json", "model_extra", "model_fields",
	"model_fields_set",
	"model_json_schema", "model_post_init", "model_rebuild", "model_validate", "model_validate_json",
}

func pyName(wire string) string {
	name := strings.Map(func(r rune) rune {
		if isWord(r) {
			return r
		}
		return '_'
	}, wire)
	if '0' <= name[0] && name[0] <= '9' || name[0] == '_' {
		name = "n" + name
	}
	if slices.Contains(pyTaken, name) {
		name += "_"
	}
	return name
}

func pyType(v *value) string {
	switch v.kind {
	case schema.Text:
		return pyText(v)
	case schema.Integer:
		return "int"
	case schema.Number:
		return "float"
	case schema.Bool:
		return "bool"
	case schema.List:
		return "List[" + pyElement(v.of) + "]"
	case schema.Map:
		return "Dict[str, " + pyElement(v.of) + "]"
	case schema.Object, schema.Record:
		return v.name
	}
	return "Any"
}

func pyText(v *value) string {
	switch {
	case v.name != "":
		return v.name
	case len(v.oneOf) > 0:
		return pyLiteral(v.oneOf)
	case v.format == "date-time":
		return "datetime"
	case v.format == "date":
		return "date"
	}
	return "str"
}

func pyElement(v *value) string {
	if v.null {
		return "Optional[" + pyType(v) + "]"
	}
	return pyType(v)
}

func pyLiteral(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return "Literal[" + strings.Join(quoted, ", ") + "]"
}

func pyDoc(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return `"""` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `'`) + `"""`
}
