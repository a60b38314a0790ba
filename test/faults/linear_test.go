package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

const (
	linearClients = 16
	linearItems   = 4   // so that four clients meet at each
	linearAnswers = 200 // of a round before the server is killed, and up to twice as many
)

// linearRounds is how often a server is killed; `make kill` asks for more.
func linearRounds(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_LINEAR_ROUNDS"))
	if err != nil && os.Getenv("HOLDFAST_LINEAR_ROUNDS") != "" {
		t.Fatal(err)
	}
	return max(n, 2)
}

// stocked is an item of the floor by its ids.
type stocked struct {
	id     string
	lane   string // where picked goods are put
	lots   [modelLots]string
	places [modelPlaces]string
	orders [modelOrders]string
	lines  [modelOrders]string
}

// spot is the place in the model of a lot in a zone, -1 for none.
func (i stocked) spot(lot, zone string) int {
	for l := range i.lots {
		for p := range i.places {
			if i.lots[l] == lot && i.places[p] == zone {
				return l*modelPlaces + p
			}
		}
	}
	return -1
}

// floor is what clients work on, and what they were answered since the last kill.
type floor struct {
	*program.Site
	bearer map[string]string // token by the address of the server that made it
	items  [linearItems]stocked

	begin    time.Time
	answered atomic.Int64
	mu       sync.Mutex
	history  [linearItems][]porcupine.Operation
	picks    [linearItems][]deed // of pick lines that nobody has picked
	seen     map[string]int      // answers by kind, "refused" and "silent" among them
}

// asked sends one request, once: what was not answered is not sent again.
func asked(c *http.Client, method, url, bearer string, body any) (status int, text []byte, err error) {
	in, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequest(method, url, io.NopCloser(bytes.NewReader(in)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prefer", "return=representation")
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// made inserts a record and returns its id.
func (f *floor) made(v *program.Server, collection string, row map[string]any) string {
	f.Helper()
	var out []struct{ ID string }
	status, body, err := asked(http.DefaultClient, "POST", v.URL+"/v1/"+collection, f.bearer[v.URL], row)
	if err != nil || status != http.StatusCreated || json.Unmarshal(body, &out) != nil || len(out) != 1 {
		f.Fatalf("%s %v: %d %s %v", collection, row, status, body, err)
	}
	return out[0].ID
}

// furnish makes items with two lots in three places, the later one and the later
// place filled later, and confirmed orders that are promised nothing yet.
func (f *floor) furnish(v *program.Server) {
	f.Helper()
	verb := func(name string, in map[string]any) {
		f.Helper()
		if r := v.Call("POST", "/v1/rpc/"+name, f.bearer[v.URL], in); r.Status != http.StatusOK {
			f.Fatalf("%s %v: %d %s", name, in, r.Status, r.Body)
		}
	}
	for n := range f.items {
		i, tag := &f.items[n], fmt.Sprintf("LIN-%d", n)
		i.id = f.made(v, "items", map[string]any{"sku": tag, "name": tag, "tracking": "lot"})
		for p := range i.places {
			i.places[p] = f.made(v, "zones", map[string]any{"code": fmt.Sprintf("%s-%d", tag, p), "name": tag, "kind": "bin"})
		}
		i.lane = f.made(v, "zones", map[string]any{"code": tag + "-L", "name": tag, "kind": "staging"})
		for o := range i.orders {
			i.orders[o] = f.made(v, "orders", map[string]any{"type": "outbound", "party_name": tag})
			i.lines[o] = f.made(v, "order_lines", map[string]any{"order_id": i.orders[o], "line_no": 1, "item_id": i.id,
				"qty_ordered": modelWant})
			verb("confirm_order", map[string]any{"order_id": i.orders[o]})
		}
		for l := range i.lots {
			i.lots[l] = f.made(v, "lots", map[string]any{"item_id": i.id, "lot_no": fmt.Sprintf("%s-%d", tag, l),
				"expires_on": fmt.Sprintf("20%d-01-01", 90+l)})
			for p := range i.places {
				verb("adjust_stock", f.request(deed{kind: "adjust", from: l*modelPlaces + p, q: 2}, *i))
			}
		}
	}
}

// request is the body of a verb.
func (f *floor) request(d deed, i stocked) map[string]any {
	place := func(s int) string { return i.places[s%modelPlaces] }
	in := map[string]any{"item_id": i.id, "lot_id": i.lots[d.from/modelPlaces], "quantity": d.q}
	switch d.kind {
	case "pick":
		in = map[string]any{"pick_line_id": d.id, "quantity": d.q, "to_zone_id": i.lane}
	case "ship":
		in = map[string]any{"shipment_id": d.id}
	case "count":
		in["zone_id"], in["counted"] = place(d.from), d.q
		delete(in, "quantity")
	case "adjust":
		in["zone_id"], in["reason_code"] = place(d.from), "chance"
	case "move":
		in["from_zone_id"], in["to_zone_id"] = place(d.from), place(d.to)
	default:
		in = map[string]any{"order_id": i.orders[d.order]}
	}
	return in
}

var linearVerbs = map[string]string{"adjust": "adjust_stock", "move": "move_stock", "allocate": "allocate_order",
	"deallocate": "deallocate_order", "pick": "pick_line", "ship": "dispatch"}

// chosen is something to do by chance. A move stays within its lot.
func chosen(r *rand.Rand) deed {
	kinds := strings.Fields("adjust adjust adjust move move allocate allocate deallocate count pick pick pick ship ship " +
		"levels levels promised carried total")
	d := deed{kind: kinds[r.IntN(len(kinds))], from: r.IntN(modelSpots), order: r.IntN(modelOrders), q: 1 + r.IntN(3)}
	d.to = d.from/modelPlaces*modelPlaces + (d.from+1+r.IntN(modelPlaces-1))%modelPlaces
	if d.kind == "adjust" && r.IntN(3) == 0 {
		d.q = -d.q
	}
	return d
}

// amount is a row of stock levels or reservations.
type amount struct {
	LotID    string `json:"lot_id"`
	ZoneID   string `json:"zone_id"`
	Quantity int    `json:"quantity"`
	Reserved int    `json:"reserved"`
}

// do asks for a deed and reads the answer. One that is neither what was asked
// for nor a refusal for want of stock is an error of the server.
func (f *floor) do(c *http.Client, url string, d deed, i stocked) (t told, err error) {
	method, path, in := "GET", "", map[string]any(nil)
	switch d.kind {
	case "levels":
		path = "/v1/stock_levels?select=lot_id,zone_id,quantity,reserved&item_id=eq." + i.id
	case "promised", "carried":
		path = "/v1/reservations?select=lot_id,zone_id,quantity&state=eq.active&picked=eq." +
			strconv.FormatBool(d.kind == "carried") + "&order_line_id=eq." + i.lines[d.order]
	case "count":
		method, path, in = "POST", "/v1/stock_counts", f.request(d, i)
	case "total":
		path = "/v1/items?select=on_hand,available&id=eq." + i.id
	default:
		method, path, in = "POST", "/v1/rpc/"+linearVerbs[d.kind], f.request(d, i)
	}
	status, body, err := asked(c, method, url+path, f.bearer[url], in)
	switch {
	case err != nil:
		return told{silent: true}, nil
	case status == http.StatusConflict && isRefusal(d, string(body)):
		return told{refused: true}, nil
	case status != http.StatusOK && status != http.StatusCreated:
		return t, fmt.Errorf("%s: %d %s", d.kind, status, body)
	}
	var rows []amount
	switch d.kind {
	case "levels", "promised", "carried":
		err = json.Unmarshal(body, &rows)
	case "allocate":
		var out struct{ Reservations []amount }
		err = json.Unmarshal(body, &out)
		rows = out.Reservations
	case "ship":
		var out struct{ Shipments []struct{ OK bool } }
		err = json.Unmarshal(body, &out)
		t.refused = err == nil && len(out.Shipments) == 1 && !out.Shipments[0].OK
	case "total":
		var out []struct {
			OnHand    int `json:"on_hand"`
			Available int `json:"available"`
		}
		if err = json.Unmarshal(body, &out); err == nil && len(out) == 1 {
			t.onHand, t.free = out[0].OnHand, out[0].Available
		}
	}
	for _, a := range rows {
		if lot := slices.Index(i.lots[:], a.LotID); lot >= 0 && a.ZoneID == i.lane {
			if t.lane[lot] += a.Quantity; d.kind == "levels" && a.Reserved != a.Quantity {
				return t, fmt.Errorf("goods in the lane that are nobody's: %s", body)
			}
			continue
		}
		s := i.spot(a.LotID, a.ZoneID)
		if s < 0 {
			return t, fmt.Errorf("%s: a place that is not the item's: %s", d.kind, body)
		}
		if d.kind == "levels" {
			t.on[s], t.held[s] = t.on[s]+a.Quantity, t.held[s]+a.Reserved
		} else {
			t.held[s] += a.Quantity
		}
	}
	return t, err
}

// isRefusal reports a refusal that the model knows: for want of stock, of an order that is
// completed, and of what another client was faster with.
func isRefusal(d deed, body string) bool {
	switch d.kind {
	case "pick", "ship", "count":
		return true
	case "allocate":
		return strings.Contains(body, "is completed")
	}
	return strings.Contains(body, `"HF002"`)
}

// record does a deed and notes when it was asked for and answered.
func (f *floor) record(c *http.Client, client int, url string, item int, d deed) (t told, ok bool) {
	call := time.Since(f.begin).Nanoseconds()
	t, err := f.do(c, url, d, f.items[item])
	ret := time.Since(f.begin).Nanoseconds()
	if err != nil {
		f.Error(err)
		return t, false
	}
	kind := d.kind
	switch {
	case t.silent:
		kind, ret = "silent", math.MaxInt64
	case t.refused:
		kind = "refused"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[kind]++
	f.history[item] = append(f.history[item], porcupine.Operation{ClientId: client, Input: d, Output: t, Call: call,
		Return: ret})
	return t, !t.silent
}

// look reads the whole state of each item, which nobody changes meanwhile, and
// notes it: it is where this history ends and the next one begins.
func (f *floor) look(url string) (now [linearItems]shelf) {
	f.Helper()
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer c.CloseIdleConnections()
	for n := range f.items {
		t, ok := f.record(c, linearClients, url, n, deed{kind: "levels"})
		if _, total := f.record(c, linearClients, url, n, deed{kind: "total"}); !ok || !total {
			f.Fatal("the state cannot be read")
		}
		now[n].on = t.on
		for o := range modelOrders {
			t, ok := f.record(c, linearClients, url, n, deed{kind: "promised", order: o})
			in, carried := f.record(c, linearClients, url, n, deed{kind: "carried", order: o})
			if !ok || !carried {
				f.Fatal("the state cannot be read")
			}
			now[n].of[o], now[n].lane[o] = t.held, in.lane
			now[n].gone[o] = f.shipped(c, url, f.items[n].lines[o])
		}
	}
	return now
}

// load lets clients work, each at its own server in turn, until theirs is
// killed: that is the one numbered victim. The others go on for as long again.
func (f *floor) load(nodes []*program.Server, victim int) {
	f.Helper()
	var over atomic.Bool
	var clients sync.WaitGroup
	for n := range linearClients {
		url, r := nodes[n%len(nodes)].URL, rand.New(rand.NewPCG(rand.Uint64(), 0))
		clients.Go(func() {
			c := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
			defer c.CloseIdleConnections()
			for !over.Load() {
				item := r.IntN(linearItems)
				d, ok := f.prepare(c, url, item, chosen(r))
				if !ok {
					continue
				}
				if _, ok := f.record(c, n, url, item, d); !ok {
					return
				}
				f.answered.Add(1)
			}
		})
	}
	enough := func(more int64) {
		from := f.answered.Load()
		for end := time.Now().Add(time.Minute); f.answered.Load() < from+more && !f.Failed() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	enough(linearAnswers + rand.Int64N(linearAnswers))
	nodes[victim].Cmd.Process.Kill()
	<-nodes[victim].Gone
	if len(nodes) > 1 {
		enough(linearAnswers)
	}
	over.Store(true)
	clients.Wait()
	quiet(f.Site)
}

// quiet waits until PostgreSQL is done with what a dead server had sent.
func quiet(s *program.Site) {
	s.Helper()
	if s.DSN == "" {
		return
	}
	s.Eventually("no transaction is open", func() bool {
		return s.Number("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL") == 0
	})
}

// explained judges the histories of all items since they were as they are in
// first.
func (f *floor) explained(round int, first [linearItems]shelf) {
	f.Helper()
	for n, h := range f.history {
		result, draw := judge(f.T, first[n], h)
		if result == porcupine.Ok {
			continue
		}
		path := filepath.Join(f.ArtifactDir(), fmt.Sprintf("round-%d-item-%d.html", round, n))
		f.Errorf("round %d, item %d: no order of its %d requests explains their answers (%s); drawn in %s (kept by -artifacts): %v",
			round, n, len(h), result, path, draw(path))
	}
	f.history = [linearItems][]porcupine.Operation{}
}

// Whatever 16 clients ask at once of the same few items, and whenever a server
// is killed meanwhile, there is an order of their requests, each at one moment
// between call and answer, that explains every answer (linearizability, Herlihy
// and Wing 1990); a request without an answer has happened once or not at all.
func TestStockIsLinearizable(t *testing.T) {
	for name, x := range map[string]struct {
		engine db.Engine
		nodes  int
	}{"sqlite": {db.SQLite, 1}, "postgresql": {db.PostgreSQL, 1}, "two nodes": {db.PostgreSQL, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := program.DemoOn(t, x.engine)
			sites := []*program.Site{s, {T: t, Data: filepath.Join(t.TempDir(), "data"), DSN: s.DSN}}[:x.nodes]
			nodes := make([]*program.Server, x.nodes)
			f := &floor{Site: s, begin: time.Now(), seen: map[string]int{}, bearer: map[string]string{}}
			start := func(i int) {
				nodes[i] = sites[i].Serve("--dev", "--master-key-file", s.MasterKeyFile())
				f.bearer[nodes[i].URL] = nodes[i].Token("admin@north.example", "holdfast-demo")
			}
			for i := range nodes {
				start(i)
			}
			f.furnish(nodes[0])
			state, rounds := f.look(nodes[0].URL), linearRounds(t)
			f.history = [linearItems][]porcupine.Operation{}
			for round := range rounds {
				victim := round % x.nodes
				f.load(nodes, victim)
				start(victim)
				next := f.look(nodes[victim].URL)
				f.explained(round, state)
				if state = next; t.Failed() {
					return
				}
			}
			for _, v := range nodes {
				v.Stop()
			}
			s.Exec("verify")
			t.Logf("%d rounds: %v", rounds, f.seen)
			for kind := range linearVerbs {
				if f.seen[kind] == 0 {
					t.Errorf("nothing of %s was answered", kind)
				}
			}
			if f.seen["silent"] == 0 || f.seen["refused"] == 0 {
				t.Errorf("without an answer or refused: %v", f.seen)
			}
		})
	}
}
