package api

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	grammar "holdfast/internal/query"
	"holdfast/internal/store"
)

// place is what a cursor says: of which list, in which order, behind which row.
type place struct {
	Order  string            `json:"o"` // keyed digest of the collection, its order and the tenant
	Values []json.RawMessage `json:"v"`
	Passed int               `json:"n"` // rows before the place
}

// signSize is how much of a signature a cursor carries, in bytes.
const signSize = 16

// orderOf is what a cursor is good for: one order of one collection of a tenant.
func (c *Collections) orderOf(a actor.Actor, q *grammar.Select) string {
	return base64.RawURLEncoding.EncodeToString(c.sign("order of a cursor", a.TenantID, q.Order())[:signSize])
}

// cursorOf is the place as a text that only this installation can make.
func (c *Collections) cursorOf(p place) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + base64.RawURLEncoding.EncodeToString(c.sign("cursor", body)[:signSize]), nil
}

// resumeAtCursor makes a list begin where the request's cursor says.
func (c *Collections) resumeAtCursor(k *call, q *grammar.Select) error {
	if q.Root.Offset > 0 {
		return fault.New(fault.Invalid, "PGRST100", "cursor and offset exclude each other")
	}
	if !hasPages(k, q) {
		return fault.New(fault.Invalid, "PGRST100", "a cursor goes with lists of rows alone")
	}
	body, signature, _ := strings.Cut(k.req.Cursor, ".")
	given, err := base64.RawURLEncoding.DecodeString(signature)
	text, broken := base64.RawURLEncoding.DecodeString(body)
	var p place
	if err != nil || broken != nil || !hmac.Equal(given, c.sign("cursor", body)[:signSize]) ||
		json.Unmarshal(text, &p) != nil {
		return fault.New(fault.Invalid, "HF016", "the cursor cannot be read").With("",
			"take it from the Link of an answer as it stands")
	}
	if p.Order != c.orderOf(k.a, q) {
		return fault.New(fault.Invalid, "HF016", "the cursor is of another order, collection or tenant").
			With("", "ask with the order of the request that the cursor came with")
	}
	q.Passed = p.Passed
	return q.From(p.Values)
}

// hasPages reports a read that has pages: rows, neither one record nor a count.
func hasPages(k *call, q *grammar.Select) bool {
	return k.id == "" && !k.form.Singular && !q.Root.Grouped() && q.Root.Limit != 0
}

// maxLink is the longest query that a Link repeats, so that an answer's head
// stays below what HTTP clients take.
const maxLink = 4096

// linkNextPage leads to the rows behind a full page. A query that is too long to be
// repeated is left to the client, beside the cursor.
func (c *Collections) linkNextPage(
	h http.Header, r *http.Request, k *call, q *grammar.Select, res *store.Result,
) error {
	if res.Next == nil {
		return nil
	}
	cursor, err := c.cursorOf(place{c.orderOf(k.a, q), res.Next, q.Passed + q.Root.Offset + res.Count})
	if err != nil || len(cursor) > maxLink {
		return err
	}
	var kept []string
	for _, pair := range strings.Split(r.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if pair != "" && name != "cursor" && name != "offset" {
			kept = append(kept, encodeLinkPart(pair))
		}
	}
	target := strings.Join(append(kept, "cursor="+cursor), "&")
	if len(target) > maxLink {
		target = "cursor=" + cursor
	}
	h.Set("Link", "<"+r.URL.EscapedPath()+"?"+target+`>; rel="next"`)
	return nil
}

// encodeLinkPart is a part of a query as a Link can hold it.
func encodeLinkPart(pair string) string {
	var b strings.Builder
	for i := range len(pair) {
		if c := pair[i]; c <= ' ' || c >= 0x7f || c == '<' || c == '>' || c == '"' {
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
