package epcis

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/decimal"
)

// Goods are named by their GS1 keys where they have them, and by the ids of
// their records where they have none.
func TestGoods(t *testing.T) {
	const gtin, item, lot = "9506000134352", "0190c000-0000-7000-8000-000000000001", "0190c000-0000-7000-8000-000000000002"
	const link = "https://id.gs1.org/01/09506000134352"
	for name, c := range map[string]struct {
		goods       Goods
		class, unit string // "" = a piece
		piece       string
	}{
		"an item":                {Goods{GTIN: gtin, Unit: "EA"}, link, "", ""},
		"of kilograms":           {Goods{GTIN: gtin, Unit: "KGM"}, link, "KGM", ""},
		"of a unit of one's own": {Goods{GTIN: gtin, Unit: "bucket"}, link, "", ""},
		"an item without a GTIN": {Goods{}, "urn:uuid:" + item, "", ""},
		"a lot":                  {Goods{GTIN: gtin, LotID: lot, LotNo: "L1"}, link + "/10/L1", "", ""},
		"a lot GS1 cannot write": {Goods{GTIN: gtin, LotID: lot, LotNo: "L 1"}, "urn:uuid:" + lot, "", ""},
		"a lot without a GTIN":   {Goods{LotID: lot, LotNo: "L1"}, "urn:uuid:" + lot, "", ""},
		"a piece":                {Goods{GTIN: gtin, LotID: lot, LotNo: "L1", Serial: "S/7"}, "", "", link + "/21/S%2F7"},
		"a piece without a GTIN": {Goods{Serial: "7"}, "", "", "urn:uuid:59a941b6-b258-56a0-8971-85e3cb5ef65b"},
		"a damaged GTIN's pieces": {Goods{GTIN: "9506000134353", Serial: "7"}, "", "",
			"urn:uuid:59a941b6-b258-56a0-8971-85e3cb5ef65b"},
	} {
		c.goods.ItemID = item
		c.goods.Quantity, _ = decimal.Parse("1.5")
		var want Event
		if c.piece != "" {
			want.EPCs = []string{c.piece}
		} else {
			want.Classes = []Quantity{{Class: c.class, Quantity: "1.5", Unit: c.unit}}
		}
		var got Event
		got.Of(c.goods)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		inside := Event{Parent: "urn:uuid:" + item}
		inside.Of(c.goods)
		if d := cmp.Diff(Event{Parent: inside.Parent, ChildEPCs: want.EPCs, Children: want.Classes}, inside); d != "" {
			t.Errorf("%s in a package (-want +got):\n%s", name, d)
		}
	}
}

func TestPlacesAndPapers(t *testing.T) {
	const gln, id = "9506000134369", "0190c000-0000-7000-8000-000000000001"
	at := func(p *Place) string {
		if p == nil {
			return ""
		}
		return p.ID
	}
	for got, want := range map[string]string{
		at(At(gln, "A-01", id)):                         "https://id.gs1.org/414/9506000134369/254/A-01",
		at(At("", "A-01", id)):                          "urn:uuid:" + id,
		at(At(gln, "a-code-longer-than-twenty", id)):    "urn:uuid:" + id,
		at(At(gln, "", "")):                             "",
		at(Site(gln)):                                   "https://id.gs1.org/414/9506000134369",
		Unit("106141412345678908", id):                  "https://id.gs1.org/00/106141412345678908",
		Unit("", id) + "?":                              "urn:uuid:" + id + "?",
		Numbered("po", gln, "PO-1/a", id).ID + "!":      "urn:uuid:" + id + "!", // a slash does not stand in a URN's part
		Numbered("desadv", gln, "SH-1", id).ID:          "urn:epcglobal:cbv:bt:9506000134369:SH-1",
		Numbered("rma", "", "RM-1", id).ID + " for RMA": "urn:uuid:" + id + " for RMA",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if Site("") != nil || Owner("") != nil || len(Owner(gln)) != 1 {
		t.Error("a place or a party without a GLN")
	}
}

// A document without events has an empty list.
func TestEmptyDocument(t *testing.T) {
	got, err := json.Marshal(NewDocument(time.Date(2026, 1, 31, 7, 0, 0, 0, time.FixedZone("", 3600)), nil))
	want := `{"@context":["https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld"],"type":"EPCISDocument","schemaVersion":"2.0",` +
		`"creationDate":"2026-01-31T06:00:00Z","epcisBody":{"eventList":[]}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
