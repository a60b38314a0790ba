package app_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// locked is a column that a role does not read, of records that it does.
type locked struct {
	role  actor.Role
	of    *catalog.Resource
	field *catalog.Field
}

// lockedColumns lists them from the catalog, so that a new column is held to the
// same: those that say who somebody is or was, and those with a person's figures.
func lockedColumns() (out []locked) {
	for _, r := range catalog.Default().All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			for _, role := range actor.Members {
				if _, reads := catalog.Find(r.Access.Read, role); !reads || len(f.Readers) == 0 ||
					slices.Contains(f.Readers, role) {
					continue
				}
				out = append(out, locked{role, r, f})
			}
		}
	}
	return out
}

// TestLockedColumns asks for every locked column in every way that a list can be
// asked: a column that is not read is not filtered, ordered, counted or grouped by
// either, alone, in a tree of conditions, through an embed or in a file, and no
// change finds its rows by it.
func TestLockedColumns(t *testing.T) {
	columns := lockedColumns()
	if len(columns) < 100 {
		t.Fatalf("only %d locked columns: the loop looks at nothing", len(columns))
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, c := range columns {
			c.isEmptyEverywhere(t, k)
			c.isNotAskedFor(t, k)
		}
	})
}

func (c *locked) isEmptyEverywhere(t *testing.T, k *testkit.Kit) {
	t.Helper()
	as, path := testkit.As(c.role), "/v1/"+c.of.Name
	for _, list := range []string{"?limit=200", "?limit=200&select=" + c.field.Name, "?limit=200&select=other:" +
		c.field.Name} {
		r := k.Get(as, path+list)
		var rows []map[string]any
		if r.Status != http.StatusOK {
			continue // refused as a whole
		}
		r.JSON(t, &rows)
		for _, row := range rows {
			if row[c.field.Name] != nil || row["other"] != nil {
				t.Errorf("%s reads %s.%s by %s: %v", c.role, c.of.Name, c.field.Name, list, row)
				break
			}
		}
	}
	file := k.Call(testkit.Request{Method: "GET", Path: path + "?limit=200", As: as,
		Header: map[string]string{"Accept": "text/csv"}})
	lines, err := csv.NewReader(strings.NewReader(string(file.Body))).ReadAll()
	if err != nil || len(lines) == 0 {
		return
	}
	if at := slices.Index(lines[0], c.field.Name); at >= 0 {
		for _, line := range lines[1:] {
			if line[at] != "" {
				t.Errorf("%s reads %s.%s in a file: %q", c.role, c.of.Name, c.field.Name, line[at])
				break
			}
		}
	}
}

func (c *locked) isNotAskedFor(t *testing.T, k *testkit.Kit) {
	t.Helper()
	f, as := c.field.Name, testkit.As(c.role)
	asks := []string{
		f + "=not.is.null", f + "=is.null", f + "=eq." + uuid.NewString(), f + "=in.(1,2)", f + "=not.eq.1",
		"or=(" + f + ".not.is.null,id.is.null)", "and=(id.not.is.null,or(" + f + ".is.null,id.is.null))",
		"order=" + f, "order=id," + f + ".desc.nullslast",
		"select=" + f + ",count()", "select=" + f + ".max()", "select=" + f + ".count()", "select=" + f + ".sum()",
	}
	if c.field.Type == catalog.JSON || c.field.Type == catalog.Array {
		asks = append(asks, f+"->0=not.is.null", f+"->>a=eq.b", f+"=cs.{1}", "order="+f+"->a")
	}
	for _, ask := range asks {
		c.refuses(t, k.Get(as, "/v1/"+c.of.Name+"?"+ask), ask)
	}
	for _, ask := range []string{asks[0], asks[5], asks[7], asks[9]} {
		c.answersReader(t, k, c.of.Name+"?limit=1&"+ask)
	}
	for _, relation := range c.of.Relations() {
		other, way := relation.To, relation.Name
		if other == c.of.Name {
			other = relation.From
		}
		near, _ := catalog.Default().Get(other)
		if _, reads := catalog.Find(near.Access.Read, c.role); !reads || other == c.of.Name {
			continue
		}
		embed := c.of.Name + "!" + way
		for _, ask := range []string{
			"select=id,x:" + embed + "(id)&x." + f + "=not.is.null",
			"select=id,x:" + embed + "!inner(id)&x." + f + "=not.is.null",
			"select=id,x:" + embed + "(id)&x.order=" + f,
			"select=id,x:" + embed + "(" + f + ".max())",
			"select=id,x:" + embed + "(id)&order=x(" + f + ")",
		} {
			c.refuses(t, k.Get(as, "/v1/"+other+"?"+ask), other+"?"+ask)
		}
		c.answersReader(t, k, other+"?limit=1&select=id,x:"+embed+"(id)&x."+f+"=not.is.null")
		r := k.Get(as, "/v1/"+other+"?limit=200&select=id,x:"+embed+"("+f+")")
		if r.Status == http.StatusOK && tellsValue(r.Body, f) {
			t.Errorf("%s reads %s.%s embedded in %s: %.300s", c.role, c.of.Name, f, other, r.Body)
		}
	}
	nobody := "?id=eq." + uuid.NewString() + "&" + f + "=not.is.null"
	if _, may := catalog.Find(c.of.Access.Update, c.role); may {
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + c.of.Name + nobody, As: as, Body: map[string]any{}})
		c.refuses(t, r, "PATCH"+nobody)
	}
	if _, may := catalog.Find(c.of.Access.Delete, c.role); may {
		c.refuses(t, k.Call(testkit.Request{Method: "DELETE", Path: "/v1/" + c.of.Name + nobody, As: as}), "DELETE"+nobody)
	}
}

// answersReader holds an ask to an answer for a role that reads the column, so that a
// refusal is one of the column and not of how it was asked for.
func (c *locked) answersReader(t *testing.T, k *testkit.Kit, ask string) {
	t.Helper()
	at := slices.IndexFunc(c.field.Readers, func(role actor.Role) bool {
		_, reads := catalog.Find(c.of.Access.Read, role)
		return reads && role != actor.Service && role != actor.Client
	})
	if at < 0 {
		return
	}
	if r := k.Get(testkit.As(c.field.Readers[at]), "/v1/"+ask); r.Status != http.StatusOK {
		t.Errorf("%s, who reads %s.%s, asks by %s: %d %.200s",
			c.field.Readers[at], c.of.Name, c.field.Name, ask, r.Status, r.Body)
	}
}

// refuses holds an answer to the refusal of a column that is not read: 403 with
// 42501. An order by a column of many rows means nothing whatever the column is, and
// says that instead.
func (c *locked) refuses(t *testing.T, r testkit.Response, ask string) {
	t.Helper()
	var body struct{ Code string }
	r.JSON(t, &body)
	switch {
	case r.Status == http.StatusForbidden && body.Code == "42501":
	case r.Status == http.StatusBadRequest && body.Code == "PGRST118" && strings.Contains(ask, "&order=x("):
	default:
		t.Errorf("%s asks %s.%s by %s: %d %.200s", c.role, c.of.Name, c.field.Name, ask, r.Status, r.Body)
	}
}

// tellsValue reports a member of that name with a value anywhere in an answer.
func tellsValue(body []byte, name string) bool {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return false
	}
	found := false
	eachRecord(v, func(record map[string]any) { found = found || record[name] != nil })
	return found
}

// eachRecord visits every object of an answer.
func eachRecord(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			eachRecord(x, visit)
		}
	case map[string]any:
		visit(v)
		for _, x := range v {
			eachRecord(x, visit)
		}
	}
}

// TestFunctionsShowNoLockedColumn calls every function that reads as every role: the
// records in its answer have no more in them than their lists.
func TestFunctionsShowNoLockedColumn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		collection := map[string]*catalog.Resource{} // by record id
		for _, r := range catalog.Default().All() {
			answer := k.Get(testkit.As(actor.Admin), "/v1/"+r.Name+"?select=id&order=id.desc&limit=1000")
			var rows []struct{ ID string }
			if answer.Status == http.StatusOK {
				answer.JSON(t, &rows)
			}
			for _, row := range rows {
				collection[row.ID] = r
			}
		}
		seen := 0
		for _, f := range k.App.Functions() {
			if !slices.Contains(f.Methods, http.MethodGet) {
				continue
			}
			for _, role := range actor.Members {
				r := k.Get(testkit.As(role), "/functions/v1/"+f.Name)
				var v any
				if r.Status != http.StatusOK || json.Unmarshal(r.Body, &v) != nil {
					continue
				}
				eachRecord(v, func(record map[string]any) {
					of := collection[fmt.Sprint(record["id"])]
					if of == nil {
						return
					}
					seen++
					for i := range of.Fields {
						field := &of.Fields[i]
						if len(field.Readers) > 0 && !slices.Contains(field.Readers, role) && record[field.Name] != nil {
							t.Errorf("%s is shown %s.%s by %s: %v", role, of.Name, field.Name, f.Name, record[field.Name])
						}
					}
				})
			}
		}
		if seen < 100 {
			t.Errorf("%d records in the answers: the loop looks at nothing", seen)
		}
	})
}

// TestMakersAreForLeaders reads every collection as a viewer: no column says who
// made a record, or answered, picked, counted or approved it. A manager reads it.
func TestMakersAreForLeaders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		named := 0
		for _, of := range catalog.Default().All() {
			for _, role := range []actor.Role{actor.Viewer, actor.Manager} {
				r := k.Get(testkit.As(role), "/v1/"+of.Name+"?limit=200")
				var rows []map[string]any
				if r.Status != http.StatusOK || json.Unmarshal(r.Body, &rows) != nil {
					continue
				}
				for i := range of.Fields {
					name := of.Fields[i].Name
					told := slices.ContainsFunc(rows, func(row map[string]any) bool { return row[name] != nil })
					switch {
					case !strings.HasSuffix(name, "_by") || !told:
					case role == actor.Manager:
						named++
					default:
						t.Errorf("a viewer reads %s.%s", of.Name, name)
					}
				}
			}
		}
		if named < 20 {
			t.Errorf("a manager reads %d columns of makers: the loop looks at nothing", named)
		}
	})
}
