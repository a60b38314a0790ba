// Package clients has the calls of the published Go clients for this grammar:
// supabase-go, which is gotrue-go and postgrest-go. They are unmodified, and what
// they carry is of the types of `holdfast gen types go`. (The functions-go that
// goes with them exports no call.)
package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/supabase-community/gotrue-go/types"
	postgrest "github.com/supabase-community/postgrest-go"
	"github.com/supabase-community/supabase-go"

	"clients/holdfast"
)

const password = "holdfast-demo"

func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run the test by \"make guides\"", name)
	}
	return value
}

func connect(t *testing.T, key string) *supabase.Client {
	t.Helper()
	c, err := supabase.NewClient(setting(t, "HOLDFAST_URL"), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// as is a client that is signed in.
func as(t *testing.T, email string) *supabase.Client {
	t.Helper()
	c := connect(t, setting(t, "PUBLISHABLE_KEY"))
	if _, err := c.SignInWithEmailPassword(email, password); err != nil {
		t.Fatal(err)
	}
	return c
}

// unique is a code that no other run has.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, time.Now().UnixNano()) }

// read decodes rows and refuses members that their type does not have.
func read[T any](t *testing.T, f *postgrest.FilterBuilder) (T, int64) {
	t.Helper()
	var to T
	body, count, err := f.Execute()
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 0 {
		decode(t, body, &to)
	}
	return to, count
}

func decode(t *testing.T, body []byte, to any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%v of %.300s", err, body)
	}
}

func refused(t *testing.T, f *postgrest.FilterBuilder, code string) {
	t.Helper()
	if _, _, err := f.Execute(); err == nil || !strings.HasPrefix(err.Error(), "("+code+")") {
		t.Errorf("%v, want %s", err, code)
	}
}

func TestAuth(t *testing.T) {
	c := connect(t, setting(t, "PUBLISHABLE_KEY"))
	if _, err := c.Auth.SignInWithEmailPassword("viewer@north.example", "wrong"); err == nil ||
		!strings.Contains(err.Error(), "invalid_credentials") {
		t.Errorf("a wrong password: %v", err)
	}
	session, err := c.SignInWithEmailPassword("viewer@north.example", password)
	if err != nil || session.TokenType != "bearer" || session.User.Email != "viewer@north.example" {
		t.Fatalf("%+v %v", session, err)
	}
	user, err := c.Auth.GetUser()
	if err != nil || user.ID != session.User.ID || user.AppMetadata["tenant_role"] != "viewer" {
		t.Fatalf("%+v %v", user, err)
	}
	fresh, err := c.RefreshToken(session.RefreshToken)
	if err != nil || fresh.RefreshToken == session.RefreshToken || fresh.User.ID != user.ID {
		t.Fatalf("%+v %v", fresh, err)
	}
	changed, err := c.Auth.UpdateUser(types.UpdateUserRequest{Data: map[string]any{"nickname": "Vi"}})
	if err != nil || changed.UserMetadata["nickname"] != "Vi" {
		t.Errorf("%+v %v", changed, err)
	}
	settings, err := c.Auth.GetSettings()
	if err != nil || !settings.External.Email {
		t.Errorf("%+v %v", settings, err)
	}
	if health, err := c.Auth.HealthCheck(); err != nil || health.Name == "" {
		t.Errorf("%+v %v", health, err)
	}
	if err := c.Auth.Logout(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Auth.GetUser(); err == nil {
		t.Error("the session outlives its logout")
	}
}

// A sign-up with its tenant, and the operator's look at it.
func TestSignUp(t *testing.T) {
	c := connect(t, setting(t, "PUBLISHABLE_KEY"))
	email := strings.ToLower(unique("go")) + "@new.example"
	made, err := c.Auth.Signup(types.SignupRequest{Email: email, Password: "eleven quiet herons",
		Data: map[string]any{"name": "Go"}})
	if err != nil || made.AccessToken == "" || made.Session.User.Email != email {
		t.Fatalf("%+v %v", made, err)
	}
	operator := connect(t, setting(t, "SERVICE_ROLE_KEY"))
	admin := operator.Auth.WithToken(setting(t, "SERVICE_ROLE_KEY"))
	found, err := admin.AdminGetUser(types.AdminGetUserRequest{UserID: made.Session.User.ID})
	if err != nil || found.Email != email || found.UserMetadata["name"] != "Go" {
		t.Fatalf("%+v %v", found, err)
	}
	if err := admin.AdminDeleteUser(types.AdminDeleteUserRequest{UserID: found.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Auth.SignInWithEmailPassword(email, "eleven quiet herons"); err == nil {
		t.Error("a deleted account signs in")
	}
}

func TestList(t *testing.T) {
	c := as(t, "manager@north.example")
	items, count := read[[]holdfast.ItemsRow](t, c.From("items").Select("*", "exact", false).Gt("available",
		"0").Not("archived_at", "not.is", "null").
		Order("available", &postgrest.OrderOpts{Ascending: true}).Order("sku", nil).Limit(20, ""))
	if len(items) != 20 || count <= 20 {
		t.Fatalf("%d items of %d", len(items), count)
	}
	for i, item := range items {
		if item.Available <= 0 || i > 0 && item.Available < items[i-1].Available {
			t.Errorf("%s has %v after %v", item.SKU, item.Available, items[max(0, i-1)].Available)
		}
	}
	skus := []string{items[0].SKU, items[1].SKU}
	named, _ := read[[]holdfast.ItemsRow](t, c.From("items").Select("*", "", false).In("sku", skus))
	if len(named) != 2 {
		t.Errorf("%d items of %v", len(named), skus)
	}
	either, _ := read[[]holdfast.ItemsRow](t, c.From("items").Select("*", "",
		false).Or("sku.eq."+skus[0]+",sku.eq."+skus[1], ""))
	if len(either) != 2 {
		t.Errorf("%d items of either %v", len(either), skus)
	}
	one, _ := read[holdfast.ItemsRow](t, c.From("items").Select("*", "", false).Eq("sku", skus[0]).Single())
	if one.ID != items[0].ID {
		t.Errorf("%s is not %s", one.ID, items[0].ID)
	}
	page, _ := read[[]holdfast.ItemsRow](t, c.From("items").Select("*", "", false).Gt("available", "0").
		Order("available", &postgrest.OrderOpts{Ascending: true}).Order("sku", nil).Range(10, 14, ""))
	if len(page) != 5 || page[0].ID != items[10].ID {
		t.Errorf("the page from 10 on has %d rows", len(page))
	}
	if _, n := read[any](t, c.From("zones").Select("id", "exact", true)); n < 10 {
		t.Errorf("%d zones by HEAD", n)
	}
	refused(t, c.From("items").Select("colour", "", false), "42703")
	refused(t, c.From("items").Select("*", "", false).Eq("available", "many"), "22P02")
	refused(t, c.From("items").Select("*", "", false).Single(), "PGRST116")
}

func TestEmbed(t *testing.T) {
	c := as(t, "manager@north.example")
	type line struct {
		LineNo     int64   `json:"line_no"`
		QtyOrdered float64 `json:"qty_ordered"`
		Items      struct {
			SKU string `json:"sku"`
		} `json:"items"`
	}
	type order struct {
		OrderNo    string `json:"order_no"`
		OrderLines []line `json:"order_lines"`
	}
	orders, _ := read[[]order](t, c.From("orders").Select("order_no, order_lines(line_no, qty_ordered, items(sku))", "",
		false).
		Eq("type", "outbound").Eq("status", string(holdfast.OrdersStatusInProgress)).
		Order("line_no", &postgrest.OrderOpts{Ascending: true, ForeignTable: "order_lines"}).Limit(1, "order_lines").Limit(5,
		""))
	if len(orders) == 0 {
		t.Fatal("no order is in progress")
	}
	for _, o := range orders {
		if len(o.OrderLines) != 1 || o.OrderLines[0].QtyOrdered <= 0 || o.OrderLines[0].Items.SKU == "" {
			t.Errorf("%+v", o)
		}
	}
}

func TestWrite(t *testing.T) {
	c := as(t, "manager@north.example")
	sku := unique("GO")
	insert := holdfast.ItemsInsert{SKU: sku, Name: "Made by Go", Description: holdfast.Set("A strap"),
		UnitCost: holdfast.Ptr(1.25)}
	made, _ := read[[]holdfast.ItemsRow](t, c.From("items").Insert(insert, false, "", "representation", ""))
	if len(made) != 1 || made[0].Name != "Made by Go" || *made[0].UnitCost != 1.25 ||
		*made[0].Description != "A strap" {
		t.Fatalf("%+v", made)
	}
	refused(t, c.From("items").Insert(insert, false, "", "minimal", ""), "23505")

	update := holdfast.ItemsUpdate{Name: holdfast.Ptr("Changed by Go"), Description: holdfast.Null[string]()}
	changed, _ := read[[]holdfast.ItemsRow](t, c.From("items").Update(update, "representation", "").Eq("sku", sku))
	if len(changed) != 1 || changed[0].Name != "Changed by Go" || changed[0].Description != nil ||
		*changed[0].UnitCost != 1.25 {
		t.Fatalf("%+v", changed)
	}
	insert.Name = "Upserted by Go"
	merged, _ := read[[]holdfast.ItemsRow](t, c.From("items").Upsert(insert, "sku", "representation", ""))
	if len(merged) != 1 || merged[0].ID != made[0].ID || merged[0].Name != "Upserted by Go" {
		t.Fatalf("%+v", merged)
	}
	gone, _ := read[[]holdfast.ItemsRow](t, c.From("items").Delete("representation", "").Eq("sku", sku))
	if len(gone) != 1 {
		t.Fatalf("%+v", gone)
	}
	if left, _ := read[[]holdfast.ItemsRow](t, c.From("items").Select("*", "", false).Eq("sku", sku)); len(left) != 0 {
		t.Errorf("%+v is left", left)
	}
	refused(t, as(t, "viewer@north.example").From("items").Insert(insert, false, "", "minimal", ""), "42501")
}

func TestVerb(t *testing.T) {
	c := as(t, "manager@north.example")
	item, _ := read[holdfast.ItemsRow](t, c.From("items").Select("*", "", false).Eq("tracking", "none").Gt("available",
		"100").Limit(1, "").Single())
	order, _ := read[[]holdfast.OrdersRow](t, c.From("orders").Insert(holdfast.OrdersInsert{
		Type: holdfast.Ptr(holdfast.OrdersTypeOutbound)}, false, "", "representation", ""))
	line := holdfast.OrderLinesInsert{OrderID: order[0].ID, LineNo: 1, ItemID: item.ID, QtyOrdered: 2}
	read[[]holdfast.OrderLinesRow](t, c.From("order_lines").Insert(line, false, "", "representation", ""))

	var confirmed holdfast.ConfirmOrderAnswer
	decode(t, []byte(c.Rpc("confirm_order", "", holdfast.ConfirmOrderArgs{OrderID: order[0].ID})), &confirmed)
	if confirmed.Order.Status != holdfast.OrdersStatusConfirmed || len(confirmed.Lines) != 1 ||
		confirmed.Lines[0].QtyAllocated != 2 {
		t.Errorf("%+v", confirmed)
	}
	if again := c.Rpc("confirm_order", "", holdfast.ConfirmOrderArgs{OrderID: order[0].ID}); !strings.Contains(again,
		`"HF001"`) {
		t.Errorf("confirmed twice: %s", again)
	}
}

func TestFunction(t *testing.T) {
	c := connect(t, setting(t, "PUBLISHABLE_KEY"))
	args := holdfast.CalculatePredictiveSafetyScoresArgs{EntityType: holdfast.Ptr("zone"),
		PeriodDays: holdfast.Ptr[int64](30)}
	body, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest("POST", setting(t, "HOLDFAST_URL")+"/functions/v1/calculate-predictive-safety-scores",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.Auth.SignInWithEmailPassword("safety@north.example", password)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+session.AccessToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%d %v %s", response.StatusCode, err, body)
	}
	var answer holdfast.CalculatePredictiveSafetyScoresAnswer
	decode(t, body, &answer)
	if !answer.Success || answer.ScoresComputed == 0 || int64(len(answer.Scores)) > answer.ScoresComputed {
		t.Errorf("%d of %d scores, success %v", len(answer.Scores), answer.ScoresComputed, answer.Success)
	}
}

// Every collection answers rows of its type: each member is read, and none is of
// another type. What only the server reads is null, and no member of the type.
func TestRows(t *testing.T) {
	c := as(t, "admin@north.example")
	seen := 0
	for name, rows := range holdfast.Collections() {
		body, _, err := c.From(name).Select("*", "", false).Limit(100, "").Execute()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(body) > 2 {
			seen++
		}
		if err := json.Unmarshal(body, rows); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range lost(t, body, again) {
			t.Errorf("%s: the type has no %s", name, member)
		}
	}
	if seen < 40 {
		t.Errorf("%d collections have rows", seen)
	}
}

// lost are the members that have a value in the first list of objects and are
// not in the second.
func lost(t *testing.T, before, after []byte) []string {
	t.Helper()
	var sent, kept []map[string]any
	decode(t, before, &sent)
	decode(t, after, &kept)
	var out []string
	for i, row := range sent {
		for name, value := range row {
			if _, ok := kept[i][name]; !ok && value != nil {
				out = append(out, name)
			}
		}
	}
	return out
}
