package warehouse_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// happened is an event of EPCIS 2.0, as a client reads it.
type happened struct {
	Type, EventID, ParentID, Action, BizStep, Disposition string
	EventTime, RecordTime                                 time.Time
	EventTimeZoneOffset                                   string
	EpcList, ChildEPCs                                    []string
	QuantityList, ChildQuantityList                       []struct {
		EpcClass, Uom string
		Quantity      json.Number
	}
	ReadPoint, BizLocation struct{ ID string }
	BizTransactionList     []struct{ Type, BizTransaction string }
	DestinationList        []struct{ Type, Destination string }
	SensorElementList      []struct {
		SensorReport []struct {
			Type, Uom string
			Value     json.Number
		}
	}
	ErrorDeclaration *struct {
		DeclarationTime    time.Time
		Reason             string
		CorrectiveEventIDs []string
	}
}

// told fetches events and holds the document to what every one is.
func (g *goods) told(as string, query url.Values) (events []happened, next string) {
	g.t.Helper()
	r := g.k.Get(as, "/v1/epcis/events?"+query.Encode())
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/ld+json" ||
		r.Header.Get("GS1-EPCIS-Version") != "2.0.0" {
		g.t.Fatalf("%v: %d %v %.300s", query, r.Status, r.Header, r.Body)
	}
	var doc struct {
		Context       []string `json:"@context"`
		Type          string
		SchemaVersion string
		CreationDate  time.Time
		EpcisBody     struct{ EventList []happened }
	}
	r.JSON(g.t, &doc)
	if doc.Type != "EPCISDocument" || doc.SchemaVersion != "2.0" || doc.CreationDate.IsZero() ||
		!slices.Equal(doc.Context, []string{"https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld"}) ||
		doc.EpcisBody.EventList == nil {
		g.t.Fatalf("no document: %.300s", r.Body)
	}
	if link := r.Header.Get("Link"); link != "" {
		var ok bool
		if next, ok = strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`); !ok {
			g.t.Fatalf("Link: %s", link)
		}
	}
	return doc.EpcisBody.EventList, next
}

// say is an event on a line, with names for what the test made.
func (e happened) say(names map[string]string) string {
	line := []string{e.BizStep, e.Action, e.Disposition, "at " + e.ReadPoint.ID, "to " + e.BizLocation.ID}
	if e.Type == "AggregationEvent" {
		line = append(line, "in "+e.ParentID)
	}
	for _, q := range append(e.QuantityList, e.ChildQuantityList...) {
		line = append(line, fmt.Sprintf("%s%s of %s", q.Quantity, q.Uom, q.EpcClass))
	}
	line = append(append(line, e.EpcList...), e.ChildEPCs...)
	for _, p := range e.BizTransactionList {
		line = append(line, p.Type+" "+p.BizTransaction)
	}
	for _, p := range e.DestinationList {
		line = append(line, p.Type+" "+p.Destination)
	}
	if e.ErrorDeclaration != nil {
		line = append(line, e.ErrorDeclaration.Reason, strings.Join(e.ErrorDeclaration.CorrectiveEventIDs, " "))
	}
	text := strings.Join(line, " ")
	for id, name := range names {
		text = strings.ReplaceAll(text, id, name)
	}
	return strings.TrimSpace(text)
}

// What happens to goods is told in the words of EPCIS 2.0, by their GS1 keys
// where they have them: from receipt to shipment, what is held and scrapped, and
// what was told wrongly.
func TestEPCIS(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"gtin": "09506000134352", "tracking": "lot", "has_expiry": true})
		site := k.Insert(t, testkit.As(actor.Admin), "sites",
			map[string]any{"code": "EP", "name": "Dublin", "gln": "9506000134369"})
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind, "site_id": site})
		}
		bin, other, lane := zone("EP-1", "bin"), zone("EP-2", "bin"), zone("EP-L", "staging")
		lot := g.lot("L/1", 90, "released")
		move := func(kind string, q float64, more map[string]any) string {
			in := map[string]any{"type": kind, "item_id": g.item, "lot_id": lot, "quantity": q}
			maps.Copy(in, more)
			return k.Insert(t, g.as, "stock_movements", in)
		}
		moves := map[string]string{"R": move("receipt", 20,
			map[string]any{"to_zone_id": bin, "occurred_at": "2026-03-01T06:00:00+02:00"})}
		moves["T"] = move("transfer", 5, map[string]any{"from_zone_id": bin, "to_zone_id": other})
		move("adjust_gain", 3, map[string]any{"to_zone_id": bin, "reason_code": "found"})
		move("scrap", 1, map[string]any{"from_zone_id": bin, "reason_code": "damage"})
		move("status_change", 2, map[string]any{"from_zone_id": bin, "to_zone_id": bin, "to_status": "quarantine"})

		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer", "party_gln": "4012345000016",
			"source":       "shop",
			"external_ref": "PO-4711", "site_id": site})
		line := k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": g.item,
			"qty_ordered": 6})
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 6, "to_zone_id": lane}, 200, nil)
		sscc, _ := g.packed1(order, line, 6)
		shipment := g.consigned(line, 6, nil)
		g.say("dispatch", map[string]any{"shipment_id": shipment}, 200, nil)
		for _, q := range []float64{2, 3} {
			moves[fmt.Sprint("B", q)] = move("transfer", q,
				map[string]any{"from_zone_id": other, "to_zone_id": bin, "reversal_of": moves["T"]})
		}

		names := map[string]string{sscc: "SSCC", list1(t, k, g.as, "shipments?select=id:shipment_no&id=eq."+shipment): "SH-1"}
		for name, id := range moves {
			names["urn:uuid:"+id] = name
		}
		const (
			gln   = "https://id.gs1.org/414/9506000134369"
			at    = gln + "/254/"
			class = "https://id.gs1.org/01/09506000134352/10/L%2F1"
			po    = " po urn:epcglobal:cbv:bt:4012345000016:PO-4711"
		)
		want := []string{
			"receiving OBSERVE in_progress at " + at + "EP-1 to " + at + "EP-1 20 of " + class,
			"storing OBSERVE in_progress at " + at + "EP-2 to " + at + "EP-2 5 of " + class,
			"destroying DELETE destroyed at " + at + "EP-1 to  1 of " + class,
			"holding OBSERVE non_sellable_other at " + at + "EP-1 to " + at + "EP-1 2 of " + class,
			"picking OBSERVE in_progress at " + at + "EP-1 to " + at + "EP-L 6 of " + class + po,
			"packing ADD in_progress at " + gln + " to " + gln + " in https://id.gs1.org/00/SSCC 6 of " + class + po,
			"shipping OBSERVE in_transit at " + at + "EP-L to  6 of " + class + po +
				" desadv urn:epcglobal:cbv:bt:9506000134369:SH-1 owning_party https://id.gs1.org/417/4012345000016",
			"storing OBSERVE in_progress at " + at + "EP-2 to " + at + "EP-2 5 of " + class + " incorrect_data B2",
			"storing OBSERVE in_progress at " + at + "EP-2 to " + at + "EP-2 3 of " + class,
			"storing OBSERVE in_progress at " + at + "EP-2 to " + at + "EP-2 3 of " + class + " did_not_occur",
		}
		since := url.Values{"GE_recordTime": {testkit.List[struct {
			At string `json:"created_at"`
		}](t, k, g.as, "items?select=created_at&id=eq."+g.item)[0].At}}
		events, next := g.told(g.as, since)
		lines := func(events []happened) (lines []string) {
			for _, e := range events {
				lines = append(lines, e.say(names))
			}
			return lines
		}
		if d := cmp.Diff(want, lines(events)); d != "" || next != "" {
			t.Fatalf("told (-want +got), next %q:\n%s", next, d)
		}
		first := events[0]
		if first.EventID != "urn:uuid:"+moves["R"] || !first.EventTime.Equal(time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)) ||
			first.EventTimeZoneOffset != "+01:00" || !first.RecordTime.After(first.EventTime) {
			t.Errorf("the first is %+v", first)
		}
		for i, id := range map[int]string{7: moves["T"], 8: moves["B2"], 9: moves["B2"]} {
			if events[i].EventID != "urn:uuid:"+id {
				t.Errorf("event %d is %s, want %s", i, events[i].EventID, id)
			}
		}
		g.pages(since, lines(events), lines)
		g.parts(since, want)
		g.strangers(since)
	})
}

// pages reads the same events in pages of every size.
func (g *goods) pages(query url.Values, want []string, lines func([]happened) []string) {
	g.t.Helper()
	for _, size := range []string{"1", "2", "3", "9", "10", "1000"} {
		page := maps.Clone(query)
		page.Set("perPage", size)
		var got []string
		for {
			events, next := g.told(g.as, page)
			got = append(got, lines(events)...)
			if next == "" {
				break
			}
			u, err := url.Parse(next)
			if err != nil || u.Path != "/v1/epcis/events" || len(events) == 0 || len(got) > 2*len(want) {
				g.t.Fatalf("pages of %s lead to %q after %d events", size, next, len(got))
			}
			page = u.Query()
		}
		if d := cmp.Diff(want, got); d != "" {
			g.t.Errorf("in pages of %s (-want +got):\n%s", size, d)
		}
	}
}

// parts asks for a part of the events, and for what cannot be read.
func (g *goods) parts(since url.Values, all []string) {
	g.t.Helper()
	for steps, want := range map[string]int{"receiving": 1, "storing": 4, "picking": 1, "packing": 1, "shipping": 1,
		"holding": 1, "destroying": 1,
		"receiving,packing": 2, "": len(all)} {
		query := maps.Clone(since)
		if steps != "" {
			query.Set("EQ_bizStep", steps)
		}
		events, _ := g.told(g.as, query)
		if len(events) != want || steps != "" && slices.ContainsFunc(events,
			func(e happened) bool { return !strings.Contains(steps, e.BizStep) }) {
			g.t.Errorf("%s: %d events, want %d", steps, len(events), want)
		}
	}
	events, _ := g.told(g.as, since)
	query := maps.Clone(since)
	query.Set("LT_recordTime", events[2].RecordTime.Format(time.RFC3339Nano))
	if before, _ := g.told(g.as, query); len(before) != 2 {
		g.t.Errorf("before the third: %d events", len(before))
	}
	for bad, name := range map[string]string{
		"EQ_bizStep=selling": "EQ_bizStep", "EQ_bizStep=": "EQ_bizStep", "perPage=0": "perPage", "perPage=1001": "perPage",
		"perPage=x":               "perPage",
		"GE_recordTime=yesterday": "GE_recordTime", "LT_recordTime=2026-01-31": "LT_recordTime",
		"nextPageToken=x":                          "nextPageToken",
		"nextPageToken=" + strings.Repeat("A", 80): "nextPageToken", "MATCH_epc=x": "MATCH_epc",
		"perPage=1&perPage=2": "perPage",
	} {
		if r := g.k.Get(g.as, "/v1/epcis/events?"+bad); r.Status != http.StatusBadRequest ||
			!strings.Contains(string(r.Body), name) {
			g.t.Errorf("%s: %d %s", bad, r.Status, r.Body)
		}
	}
}

// strangers read their own goods' events: another tenant, a client, and nobody.
func (g *goods) strangers(since url.Values) {
	g.t.Helper()
	mine, own := consigned(g.t, g.k, "EPCIS")
	viewer := testkit.As(actor.Viewer)
	if r := g.k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/members?email=eq." + viewer,
		As:   testkit.As(actor.Admin),
		Body: map[string]any{"owner_id": mine}}); r.Status != http.StatusNoContent {
		g.t.Fatalf("a client: %d %s", r.Status, r.Body)
	}
	if events, _ := g.told(viewer, since); len(events) != 1 || events[0].EventID != "urn:uuid:"+own["stock_movements"] ||
		events[0].QuantityList[0].EpcClass != "urn:uuid:"+own["lots"] {
		g.t.Errorf("a client is told %+v", events)
	}
	if events, _ := g.told("admin@south.example", since); len(events) != 0 {
		g.t.Errorf("another tenant is told %+v", events)
	}
	if events, _ := g.told(testkit.As(actor.Driver), url.Values{"EQ_bizStep": {"packing"}}); len(events) != 0 {
		g.t.Errorf("who may not read packages is told %+v", events)
	}
	if r := g.k.Call(testkit.Request{Method: http.MethodGet,
		Path: "/v1/epcis/events"}); r.Status != http.StatusUnauthorized {
		g.t.Errorf("nobody: %d %s", r.Status, r.Body)
	}
	r := g.k.Call(testkit.Request{Method: http.MethodGet, Path: "/v1/epcis/events?tenant_id=" + demo.North,
		Bearer: g.k.Service()})
	if r.Status != http.StatusOK {
		g.t.Errorf("the service key for a tenant: %d %.300s", r.Status, r.Body)
	}
}
