package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// Of the fixture in PocketBase.
const (
	admin    = "admin@bench.example"
	member   = "member@bench.example"
	password = "measured-with-care"
)

// Orders are the addresses of the collection.
const (
	Orders     = "/api/collections/orders/records"
	PocketUp   = "/api/health"
	PocketSign = "/api/collections/members/auth-with-password"
	PocketMany = "/api/batch"
)

// PocketSignBody signs the member in.
const PocketSignBody = `{"identity":"` + member + `","password":"` + password + `"}`

// ServePocket is the command that serves a data directory.
func ServePocket(program, dir, address string) *exec.Cmd {
	cmd := exec.Command(program, "serve", "--http="+address, "--dir="+dir, "--automigrate=false")
	// It opens a browser where it finds one, as long as it has no administrator.
	cmd.Env = []string{"PATH=", "HOME=" + dir}
	cmd.Dir = dir
	return cmd
}

// PreparePocket makes the administrator. Nothing may serve the directory yet.
func PreparePocket(ctx context.Context, program, dir string) error {
	cmd := exec.CommandContext(ctx, program, "superuser", "upsert", admin, password, "--dir="+dir)
	cmd.Env, cmd.Dir = append(os.Environ(), "HOME="+dir), dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, Reason(string(out)))
	}
	return nil
}

// Order is what a row of orders holds in PocketBase: the ten columns of the list,
// its tenant and the carrier that an insert names.
type Order map[string]any

// wall lets a member see the orders of his tenant.
const wall = "tenant = @request.auth.tenant"

// orderFields are the collection's, beside the id that it makes.
var orderFields = []map[string]any{
	{"name": "tenant", "type": "text"}, {"name": "order_no", "type": "text"}, {"name": "type", "type": "text"},
	{"name": "status", "type": "text"},
	{"name": "priority", "type": "number"}, {"name": "party_name", "type": "text"}, {"name": "carrier", "type": "text"},
	{"name": "requested_at", "type": "date"}, {"name": "promised_at", "type": "date"},
	{"name": "qty_ordered", "type": "number"}, {"name": "total_value", "type": "number"},
	{"name": "created", "type": "autodate", "onCreate": true},
	{"name": "updated", "type": "autodate", "onCreate": true, "onUpdate": true},
}

// FillPocket makes the collections and enters orders, the newest last. "orders" keeps
// tenants apart, "open" does not. The token is of a member of the tenant.
func FillPocket(ctx context.Context, address, tenant string, orders []Order) (token string, err error) {
	p := client{address: address}
	var in struct{ Token string }
	sign := map[string]any{"identity": admin, "password": password}
	if err := p.call(ctx, "POST", "/api/collections/_superusers/auth-with-password", sign, &in); err != nil {
		return "", err
	}
	p.header = http.Header{"Authorization": {in.Token}}
	// Its own log of requests would write a row for each: it is switched off.
	settings := map[string]any{"batch": map[string]any{"enabled": true, "maxRequests": batchMost, "timeout": 60},
		"logs": map[string]any{"maxDays": 0}}
	if err := p.call(ctx, "PATCH", "/api/settings", settings, nil); err != nil {
		return "", err
	}
	members := map[string]any{"name": "members", "type": "auth",
		"fields": []map[string]any{{"name": "tenant", "type": "text"}}, "authAlert": map[string]any{"enabled": false}}
	if err := p.call(ctx, "POST", "/api/collections", members, nil); err != nil {
		return "", err
	}
	for _, c := range []struct{ name, see, make string }{{"orders", wall, "@request.body.tenant = @request.auth.tenant"},
		{"open", "", ""}} {
		body := map[string]any{"name": c.name, "type": "base", "fields": orderFields, "listRule": c.see, "viewRule": c.see,
			"createRule": c.make,
			"indexes":    []string{"CREATE INDEX page_" + c.name + " ON " + c.name + " (tenant, status, created)"}}
		if err := p.call(ctx, "POST", "/api/collections", body, nil); err != nil {
			return "", err
		}
		if err := enter(ctx, &p, c.name, orders); err != nil {
			return "", err
		}
	}
	who := map[string]any{"email": member, "password": password, "passwordConfirm": password, "tenant": tenant,
		"verified": true}
	if err := p.call(ctx, "POST", "/api/collections/members/records", who, nil); err != nil {
		return "", err
	}
	if err := p.call(ctx, "POST", PocketSign, json.RawMessage(PocketSignBody), &in); err != nil {
		return "", err
	}
	return in.Token, nil
}

// batchMost is how many writes PocketBase is let do in a request.
const batchMost = 1000

func enter(ctx context.Context, p *client, collection string, orders []Order) error {
	for len(orders) > 0 {
		n := min(len(orders), batchMost)
		var list []any
		for _, o := range orders[:n] {
			list = append(list, map[string]any{"method": "POST", "url": "/api/collections/" + collection + "/records",
				"body": o})
		}
		if err := p.call(ctx, "POST", PocketMany, map[string]any{"requests": list}, nil); err != nil {
			return err
		}
		orders = orders[n:]
	}
	return nil
}

// PocketPage is the address of a page of the tenant's confirmed orders, newest
// first. The rule alone makes PocketBase join, and no index seeks the tenant: the
// filter names it again. Whole records come, since picking ten of their columns
// costs PocketBase more than sending all.
func PocketPage(collection, tenant string, page int) string {
	filter := strings.NewReplacer(" ", "%20", "'", "%27", "&", "%26", "=", "%3D").Replace("tenant='" + tenant +
		"' && status='confirmed'")
	return fmt.Sprintf("/api/collections/%s/records?perPage=50&page=%d&skipTotal=1&sort=-created&filter=%s", collection,
		page, filter)
}

// PocketBatch is a request of many writes, each with the given body.
func PocketBatch(body string, n int) string {
	one := `{"method":"POST","url":"` + Orders + `","body":` + body + `}`
	return `{"requests":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

// PocketSample is the ids of n orders of the tenant.
func PocketSample(ctx context.Context, address, token, tenant string, n int) ([]string, error) {
	p := client{address: address, header: http.Header{"Authorization": {token}}}
	var page struct{ Items []struct{ ID string } }
	if err := p.call(ctx, "GET", PocketPage("orders", tenant, 1), nil, &page); err != nil {
		return nil, err
	}
	var ids []string
	for _, i := range page.Items {
		ids = append(ids, i.ID)
	}
	if len(ids) < n {
		return nil, fmt.Errorf("PocketBase shows %d orders, %d wanted", len(ids), n)
	}
	return ids[:n], nil
}
