package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/store"
)

// The catalog is the test plan: every resource is read, paged, refused and
// kept apart between tenants without being asked for by name.

// seed inserts a valid row of r for a tenant, rows it refers to first, and
// returns its id.
func (k *kit) seed(tenant string, r *catalog.Resource, made map[string]string) string {
	k.Helper()
	if id := made[r.Name]; id != "" {
		return id
	}
	made[r.Name] = newID(tenant, len(made)+1)
	return k.row(tenant, r, made, made[r.Name], len(made))
}

// either reports the first of several fields of which a check asks for one.
func either(r *catalog.Resource, field string) bool {
	if len(r.Parents) > 0 && r.Parents[0] == field {
		return true
	}
	return slices.ContainsFunc(r.Checks, func(c string) bool { return strings.HasPrefix(c, field+" IS NOT NULL OR ") })
}

func newID(tenant string, n int) string {
	return fmt.Sprintf("0190d000-0000-7000-8%s-%012d", strings.Repeat(tenant[len(tenant)-1:], 3), n)
}

// row inserts one more row of r.
func (k *kit) row(tenant string, r *catalog.Resource, made map[string]string, id string, n int) string {
	k.Helper()
	row := store.Row{"id": id}
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case f.Name == "id" || f.Name == "tenant_id" || f.Default != "" || !f.Required && !keyed(r, f.Name) &&
			!either(r, f.Name):
		case f.Ref != "" && f.Ref == r.Name:
		case f.Ref != "":
			ref, _ := k.cat.Get(f.Ref)
			if unique(r, f.Name) {
				id := newID(tenant, 1000*n+i)
				row[f.Name] = k.row(tenant, ref, made, id, 1000*n+i)
				continue
			}
			row[f.Name] = k.seed(tenant, ref, made)
		default:
			row[f.Name] = sample(f, n)
			if keyed(r, f.Name) {
				row[f.Name] = another(f, n)
			}
		}
	}
	if r.Name == "audit" {
		row["at"] = k.now
	}
	for _, c := range []string{"created_at", "updated_at", "version"} {
		delete(row, c)
	}
	job := actor.Actor{Role: actor.Service, TenantID: tenant}
	if err := k.insertTx(job, r, row); err != nil {
		k.Fatalf("%s: %v", r.Name, err)
	}
	return id
}

func keyed(r *catalog.Resource, field string) bool {
	for _, u := range r.Unique {
		for _, c := range u {
			if c == field {
				return true
			}
		}
	}
	return false
}

// unique reports a reference that has to differ from row to row: a key of its
// own, or the last of a key of references alone.
func unique(r *catalog.Resource, field string) bool {
	for _, u := range r.Unique {
		if u[len(u)-1] != field {
			continue
		}
		if !slices.ContainsFunc(u, func(c string) bool { f, _ := r.Field(c); return f.Ref == "" }) {
			return true
		}
	}
	return false
}

// another is a value that differs from row to row, for fields of a key.
func another(f *catalog.Field, n int) any {
	switch {
	case f.Type == catalog.Time:
		return time.Date(2026, 2, 1, 0, n, 0, 0, time.UTC).Format(time.RFC3339)
	case f.Type == catalog.Date:
		return time.Date(2026, 2, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	case len(f.OneOf) > 0:
		return f.OneOf[n%len(f.OneOf)]
	}
	return sample(f, n)
}

func sample(f *catalog.Field, n int) any {
	switch f.Type {
	case catalog.Int:
		if f.Max != "" && len(f.Max) < 6 {
			return 1
		}
		return n%90000 + 1
	case catalog.Decimal, catalog.Float:
		return "1"
	case catalog.Bool:
		return true
	case catalog.UUID:
		return id(n)
	case catalog.Time:
		return "2026-02-01T00:00:00Z"
	case catalog.Date:
		return "2026-02-01"
	case catalog.JSON:
		raw, _ := json.Marshal(f.Shape.Example())
		return json.RawMessage(raw)
	case catalog.Array:
		return "[]"
	}
	switch {
	case len(f.OneOf) > 0:
		return f.OneOf[0]
	case f.Format == catalog.Email:
		return fmt.Sprintf("a%d@x.example", n)
	case f.Format == catalog.IANA:
		return "UTC"
	case f.Format == catalog.Country:
		return "DE"
	case f.Format == catalog.Money:
		return "EUR"
	case f.Format == catalog.GLN:
		return "9506000134352"
	case f.Format == catalog.GTIN:
		return "4006381333931"
	}
	return fmt.Sprintf("v%d", n)
}

func grants(r *catalog.Resource, method string) []catalog.Grant {
	switch method {
	case "GET":
		return r.Access.Read
	case "POST":
		return r.Access.Create
	case "PATCH":
		return r.Access.Update
	}
	return r.Access.Delete
}

func TestEveryResource(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		north1, south1 := map[string]string{}, map[string]string{}
		for _, r := range k.cat.All() {
			if !r.Root {
				k.seed(north, r, north1)
				k.seed(south, r, south1)
			}
		}
		// The first members of both are the same user.
		people, _ := k.cat.Get("members")
		south1["members"] = k.row(south, people, south1, newID(south, 777), 777)
		for _, r := range k.cat.All() {
			t.Run(r.Name, func(t *testing.T) {
				k := &kit{TB: t, d: k.d, cat: k.cat, s: k.s, now: k.now}
				k.roles(r)
				k.columns(r)
				k.bounded(r)
				k.names(r, north1, south1)
				if !r.Root {
					k.isolated(r, north1[r.Name], south1[r.Name])
					k.paged(r, north1)
				}
			})
		}
	})
}

// roles holds every verb to the grants: without one the answer is 42501, and
// without identity 401.
func (k *kit) roles(r *catalog.Resource) {
	for _, method := range []string{"GET", "POST", "PATCH", "DELETE"} {
		path := r.Name
		if method == "PATCH" || method == "DELETE" {
			path += "?id=eq." + id(99)
		}
		for _, role := range actor.Members {
			g, granted := catalog.Find(grants(r, method), role)
			granted = granted && g.Scope != catalog.None && !(r.AppendOnly && (method == "PATCH" || method == "DELETE"))
			a := k.do(as(north, role), method, path, "", "{}")
			denied := a.err != nil && a.err.Code == "42501"
			if !granted && !denied {
				k.Errorf("%s %s as %s without a grant: %v", method, path, role, a)
			}
			if granted && denied && !(r.Root && method == "POST") {
				k.Errorf("%s %s as %s: %v", method, path, role, a.err)
			}
		}
		k.refused(k.do(actor.Actor{Role: actor.Anon}, method, path, "", "{}"), "PGRST302")
		k.refused(k.do(actor.Actor{UserID: id(1)}, method, path, "", "{}"), "42501")
	}
}

// columns holds reads and writes to the catalog's fields.
func (k *kit) columns(r *catalog.Resource) {
	owner := as(north, actor.Owner)
	if _, ok := catalog.Find(r.Access.Read, actor.Owner); ok {
		for _, q := range []string{"?nope=eq.1", "?select=nope", "?order=nope"} {
			k.refused(k.do(owner, "GET", r.Name+q, "", ""), "42703")
		}
		for _, row := range rows(k, k.must(owner, "GET", r.Name+"?limit=1", "", "").Body) {
			for i := range r.Fields {
				if _, ok := row[r.Fields[i].Name]; !ok {
					k.Errorf("%s is not shown", r.Fields[i].Name)
				}
			}
		}
	}
	if _, ok := catalog.Find(r.Access.Create, actor.Owner); ok {
		k.refused(k.do(owner, "POST", r.Name, "", `{"nope":1}`), "PGRST204")
		for i := range r.Fields {
			if r.Fields[i].ReadOnly {
				k.refused(k.do(owner, "POST", r.Name, "", `{"`+r.Fields[i].Name+`":null}`), "428C9")
			}
		}
	}
	if len(r.Access.Create) == 0 { // who comes to the wrong door is told which is the right one
		a := k.do(owner, "POST", r.Name, "", "{}")
		if k.refused(a, "42501"); a.err != nil && (a.err.Hint == "" || a.err.Hint != r.Doc) {
			k.Errorf("%s: hint %q", r.Name, a.err.Hint)
		}
	}
	if _, ok := catalog.Find(r.Access.Update, actor.Owner); ok && !r.AppendOnly {
		k.refused(k.do(owner, "PATCH", r.Name+"?id=eq."+id(1), "", `{"nope":1}`), "PGRST204")
		k.refused(k.do(owner, "PATCH", r.Name+"?id=eq."+id(1), "", `{"version":1}`), "428C9")
	}
}

// bounded holds writes to what a grant narrows: the fields it names, fields
// that the role sees, rows that name the caller.
func (k *kit) bounded(r *catalog.Resource) {
	for _, role := range actor.Members {
		caller := as(north, role)
		if g, ok := catalog.Find(r.Access.Update, role); ok && g.Scope != catalog.None && !r.AppendOnly {
			for i := range r.Fields {
				f := &r.Fields[i]
				if !f.ReadOnly && !f.Fixed && (!f.Visible(role) || len(g.Fields) > 0 && !slices.Contains(g.Fields, f.Name)) {
					k.refused(k.do(caller, "PATCH", r.Name+"?id=eq."+id(4242), "", `{"`+f.Name+`":null}`), "42501")
				}
			}
		}
		if g, ok := catalog.Find(r.Access.Create, role); ok && g.Scope == catalog.Own && g.Also == "" {
			k.refused(k.do(caller, "POST", r.Name, "", `{"id":"`+id(4242)+`"`+k.body(r)+`}`), "42501")
		}
	}
}

// isolated holds a tenant to its own rows: another's id answers like one that
// nobody has, and the row stays as it is.
func (k *kit) isolated(r *catalog.Resource, mine, theirs string) {
	owner := as(north, actor.Owner)
	stranger := actor.Actor{Role: actor.Service, TenantID: south}
	before := k.get(stranger, r.Name+"?id=eq."+theirs)
	if before == "[]" {
		k.Fatal("no row to protect")
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		if g, ok := catalog.Find(grants(r, method), actor.Owner); !ok || g.Scope == catalog.None || r.AppendOnly &&
			method != "GET" {
			continue
		}
		got := k.do(owner, method, r.Name+"?id=eq."+theirs, "return=representation", "{}")
		none := k.do(owner, method, r.Name+"?id=eq."+id(4242), "return=representation", "{}")
		k.want(got.String(), none.String())
		k.want(got.String(), "[]")
	}
	if _, ok := catalog.Find(r.Access.Read, actor.Owner); ok {
		k.want(k.get(owner, r.Name+"?tenant_id=eq."+south), "[]")
		k.want(k.get(owner, r.Name+"?or=(id.eq."+theirs+",tenant_id.eq."+south+")"), "[]")
		if !strings.Contains(k.get(owner, r.Name+"?select=id&id=eq."+mine), mine) {
			k.Errorf("the own row %s does not show", mine)
		}
	}
	if _, ok := catalog.Find(r.Access.Create, actor.Owner); ok {
		k.refused(k.do(owner, "POST", r.Name, "", `{"id":"`+theirs+`","tenant_id":"`+south+`"`+k.body(r)+`}`), "42501")
	}
	k.want(k.get(stranger, r.Name+"?id=eq."+theirs), before)
}

// names holds the fields that name records without a foreign key to the
// tenant's own: what nobody has and what another tenant has are refused alike,
// by every way to write, and what the row holds already is left alone, also
// when it is gone and other ids of the list change.
func (k *kit) names(r *catalog.Resource, ours, theirs map[string]string) {
	mine := ours[r.Name]
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Names == "" || f.ReadOnly {
			continue
		}
		key, col := actor.Actor{Role: actor.Service, TenantID: north}, catalog.NamedBy(f.Names)
		own := rows(k, k.must(key, "GET", f.Names+"?limit=1&select="+col, "", "").Body)[0][col].(string)
		foreign := rows(k, k.must(actor.Actor{Role: actor.Service, TenantID: south}, "GET",
			f.Names+"?id=eq."+theirs[f.Names]+"&select="+col, "",
			"").Body)[0][col].(string)
		value := func(id string) string {
			if f.Type == catalog.Array {
				return fmt.Sprintf("[%q]", id)
			}
			return fmt.Sprintf("%q", id)
		}
		for who, id := range map[string]string{"nobody's": id(4242), "another tenant's": foreign} {
			row := `{"` + f.Name + `":` + value(id) + k.bodyWithout(r, f.Name) + `}`
			tries := map[string]answer{"POST": k.do(key, "POST", r.Name, "", row),
				"upsert": k.do(key, "POST", r.Name, "resolution=merge-duplicates", row)}
			if !f.Fixed {
				tries["PATCH"] = k.do(key, "PATCH", r.Name+"?id=eq."+mine, "", `{"`+f.Name+`":`+value(id)+`}`)
			}
			for how, a := range tries {
				if a.err == nil || a.err.Code != "23503" || len(a.err.Fields) != 1 || a.err.Fields[0].Name != f.Name {
					k.Errorf("%s of %s %s: %v", how, who, f.Name, a)
				}
			}
		}
		if !f.Fixed {
			k.must(key, "PATCH", r.Name+"?id=eq."+mine, "", `{"`+f.Name+`":`+value(own)+`}`)
		}
		if f.Type == catalog.Array && !f.Fixed {
			named, _ := k.cat.Get(f.Names)
			record := k.row(north, named, ours, newID(north, 778), 778)
			gone := rows(k, k.must(key, "GET", f.Names+"?id=eq."+record+"&select="+col, "", "").Body)[0][col].(string)
			set := func(ids ...string) answer {
				list, _ := json.Marshal(ids)
				return k.do(key, "PATCH", r.Name+"?id=eq."+mine, "", `{"`+f.Name+`":`+string(list)+`}`)
			}
			k.want(set(own, gone).String(), "")
			k.must(key, "DELETE", f.Names+"?id=eq."+record, "", "")
			k.refused(set(gone, id(4242)), "23503")
			k.want(set(gone).String(), "")
			k.want(set(own, gone).String(), "")
			k.want(set(own).String(), "")
			k.refused(set(own, gone), "23503")
		}
	}
}

// body is enough of a row to get past validation.
func (k *kit) body(r *catalog.Resource) string { return k.bodyWithout(r, "") }

func (k *kit) bodyWithout(r *catalog.Resource, field string) string {
	b := ""
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Name != field && f.Required && f.Default == "" && !f.ReadOnly && f.Name != "id" && f.Name != "tenant_id" {
			v := sample(f, 7)
			if f.Type == catalog.UUID {
				v = id(7)
			}
			text := strconv.Quote(fmt.Sprint(v))
			if doc, ok := v.(json.RawMessage); ok {
				text = string(doc)
			}
			b += fmt.Sprintf(`,%q:%s`, f.Name, text)
		}
	}
	return b
}

// paged holds pages to the whole: no row twice, none left out.
func (k *kit) paged(r *catalog.Resource, made map[string]string) {
	if _, ok := catalog.Find(r.Access.Read, actor.Owner); !ok {
		return
	}
	id := k.seed(north, r, made)
	first, err := strconv.Atoi(id[len(id)-12:])
	if err != nil {
		k.Fatal(err)
	}
	// 5040 is a multiple of the sizes of closed lists: the rows after the first
	// differ from it and from each other in the fields of a key.
	for n := first + 5041; n <= first+5045; n++ {
		k.row(north, r, made, newID(north, n), n)
	}
	owner := as(north, actor.Owner)
	whole := rows(k, k.must(owner, "GET", r.Name+"?select=id", "", "").Body)
	for _, order := range []string{"", "&order=id.desc", "&order=" + r.Fields[2].Name} {
		seen := map[string]bool{}
		for off := 0; off < len(whole); off += 2 {
			for _, row := range rows(k, k.must(owner, "GET",
				fmt.Sprintf("%s?select=id&limit=2&offset=%d%s", r.Name, off, order), "", "").Body) {
				seen[row["id"].(string)] = true
			}
		}
		if len(seen) != len(whole) {
			k.Errorf("order %q: %d of %d rows on the pages", order, len(seen), len(whole))
		}
	}
}
