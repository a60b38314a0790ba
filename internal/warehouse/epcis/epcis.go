// Package epcis writes what happened to goods as events of EPCIS 2.0 in JSON
// (GS1 EPCIS Standard 2.0, ISO/IEC 19987:2024), with the words of the Core
// Business Vocabulary 2.0 (ISO/IEC 19988:2024). What has a GS1 key is named by
// its Digital Link URI, everything else by the UUID of its record.
//
// Layer: domains. Begin at [NewDocument].
package epcis

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/decimal"
	"holdfast/internal/gs1"
)

// Media is the type of a document.
const Media = "application/ld+json"

// context explains the words of a document.
const context = "https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld"

// Business steps.
const (
	Receiving  = "receiving"
	Storing    = "storing"
	Picking    = "picking"
	Packing    = "packing"
	Unpacking  = "unpacking" // of the events of Packing, those that take it back
	Shipping   = "shipping"
	Holding    = "holding"
	Destroying = "destroying"
)

// Steps are the business steps that events have here.
var Steps = []string{Receiving, Storing, Picking, Packing, Shipping, Holding, Destroying}

// Dispositions.
const (
	InProgress  = "in_progress"
	InTransit   = "in_transit"
	Returned    = "returned"
	Expired     = "expired"
	Damaged     = "damaged"
	Destroyed   = "destroyed"
	NotSellable = "non_sellable_other"
)

// Actions.
const (
	Add     = "ADD"
	Observe = "OBSERVE"
	Delete  = "DELETE"
)

// Document is a list of events to be captured elsewhere.
type Document struct {
	Context       []string  `json:"@context"`
	Type          string    `json:"type"`
	SchemaVersion string    `json:"schemaVersion"`
	CreationDate  time.Time `json:"creationDate"`
	Body          Body      `json:"epcisBody"`
}

// Body holds a document's events.
type Body struct {
	EventList []Event `json:"eventList"`
}

// NewDocument returns the document of events.
func NewDocument(now time.Time, events []Event) *Document {
	if events == nil {
		events = []Event{}
	}
	return &Document{Context: []string{context}, Type: "EPCISDocument", SchemaVersion: "2.0", CreationDate: now.UTC(),
		Body: Body{EventList: events}}
}

// Event is an ObjectEvent, or the AggregationEvent of what was packed.
type Event struct {
	Type        string       `json:"type"`
	ID          string       `json:"eventID"`
	Time        time.Time    `json:"eventTime"`
	Offset      string       `json:"eventTimeZoneOffset"`
	RecordTime  time.Time    `json:"recordTime"`
	Error       *Declaration `json:"errorDeclaration,omitempty"`
	Parent      string       `json:"parentID,omitempty"`
	EPCs        []string     `json:"epcList,omitempty"`
	Classes     []Quantity   `json:"quantityList,omitempty"`
	ChildEPCs   []string     `json:"childEPCs,omitempty"`
	Children    []Quantity   `json:"childQuantityList,omitempty"`
	Action      string       `json:"action"`
	Step        string       `json:"bizStep"`
	Disposition string       `json:"disposition"`
	ReadPoint   *Place       `json:"readPoint,omitempty"`
	Location    *Place       `json:"bizLocation,omitempty"`
	Papers      []Paper      `json:"bizTransactionList,omitempty"`
	To          []Party      `json:"destinationList,omitempty"`
	Sensors     []Sensor     `json:"sensorElementList,omitempty"`
}

// Sensor is what was measured of the goods of an event (EPCIS 2.0, 7.3.7).
type Sensor struct {
	Reports []Report `json:"sensorReport"`
}

// Report is a value that was measured, in a unit of UN/CEFACT Recommendation 20.
type Report struct {
	Type  string      `json:"type"` // Mass
	Value json.Number `json:"value"`
	Unit  string      `json:"uom"`
}

// Declaration says that an event which was told before is wrong, and which ones
// hold in its place.
type Declaration struct {
	Time    time.Time `json:"declarationTime"`
	Reason  string    `json:"reason"`
	Instead []string  `json:"correctiveEventIDs,omitempty"`
}

// Undone is the declaration of an event that did not happen.
func Undone(at time.Time) *Declaration { return &Declaration{Time: at, Reason: "did_not_occur"} }

// Corrected is the declaration of an event in whose place others hold.
func Corrected(at time.Time, instead ...string) *Declaration {
	return &Declaration{Time: at, Reason: "incorrect_data", Instead: instead}
}

// Place is where an event happened, or where goods are after it.
type Place struct {
	ID string `json:"id"`
}

// Paper is a business transaction that an event belongs to.
type Paper struct {
	Type string `json:"type"` // po, desadv
	ID   string `json:"bizTransaction"`
}

// Party is whom goods go to.
type Party struct {
	Type string `json:"type"` // owning_party
	ID   string `json:"destination"`
}

// Quantity is how much of a class of goods. Without a unit it is a number of
// pieces.
type Quantity struct {
	Class    string      `json:"epcClass"`
	Quantity json.Number `json:"quantity"`
	Unit     string      `json:"uom,omitempty"`
}

// Goods are what an event speaks of.
type Goods struct {
	ItemID, GTIN string
	LotID, LotNo string
	Serial       string
	Quantity     decimal.Dec // base units
	Unit         string      // UN/CEFACT Recommendation 20
	Weight       decimal.Dec // kg, of goods that are weighed; 0 = they are not
}

// Of puts goods into an event: a piece with a serial number by its own name,
// everything else as a quantity of its class.
func (e *Event) Of(g Goods) {
	if g.Weight > 0 {
		mass := Report{Type: "Mass", Value: json.Number(g.Weight.String()), Unit: "KGM"}
		e.Sensors = append(e.Sensors, Sensor{Reports: []Report{mass}})
	}
	switch {
	case g.Serial != "" && e.Parent == "":
		e.EPCs = append(e.EPCs, g.pieceURI())
	case g.Serial != "":
		e.ChildEPCs = append(e.ChildEPCs, g.pieceURI())
	case e.Parent == "":
		e.Classes = append(e.Classes, g.quantityOf())
	default:
		e.Children = append(e.Children, g.quantityOf())
	}
}

func (g Goods) quantityOf() Quantity {
	return Quantity{Class: g.classURI(), Quantity: json.Number(g.Quantity.String()), Unit: unitCode(g.Unit)}
}

// pieces are the units that count pieces, which EPCIS gives no unit (EPCIS 2.0,
// 7.3.3.3).
var pieces = map[string]bool{"EA": true, "C62": true, "H87": true, "PCE": true}

var code = regexp.MustCompile(`^[A-Z0-9]{2,3}$`)

func unitCode(u string) string {
	if pieces[u] || !code.MatchString(u) {
		return ""
	}
	return u
}

// classURI names goods of a lot, or of an item where they have none.
func (g Goods) classURI() string {
	key := gs1.Element{AI: "01", Value: paddedGTIN(g.GTIN)}
	if g.LotID == "" {
		return linkOrID(g.ItemID, key)
	}
	return linkOrID(g.LotID, key, gs1.Element{AI: "10", Value: g.LotNo})
}

// pieceURI names one piece. Without a GTIN its name is the version 5 UUID of its
// serial number in the namespace of the item's id (RFC 9562, 5.5).
func (g Goods) pieceURI() string {
	item, err := uuid.Parse(g.ItemID)
	if err != nil {
		return ID(g.ItemID)
	}
	own := uuid.NewSHA1(item, []byte(g.Serial)).String()
	return linkOrID(own, gs1.Element{AI: "01", Value: paddedGTIN(g.GTIN)}, gs1.Element{AI: "21", Value: g.Serial})
}

func paddedGTIN(gtin string) string {
	g, _ := gs1.GTIN(gtin)
	return g
}

// linkOrID is the Digital Link of elements, or the URI of a UUID where GS1 has no
// name for the thing.
func linkOrID(id string, elements ...gs1.Element) string {
	if link, err := gs1.Link(elements...); err == nil {
		return link
	}
	return ID(id)
}

// ID is the URI of a record's UUID (RFC 9562, 4).
func ID(id string) string { return "urn:uuid:" + id }

// Unit names a logistic unit by its SSCC, or by the id of its record.
func Unit(sscc, id string) string { return linkOrID(id, gs1.Element{AI: "00", Value: sscc}) }

// At names a zone below the GLN of its site, or by the id of its record; nil
// when there is no zone.
func At(gln, zone, id string) *Place {
	if id == "" {
		return nil
	}
	return &Place{ID: linkOrID(id, gs1.Element{AI: "414", Value: gln}, gs1.Element{AI: "254", Value: zone})}
}

// Site names a site by its GLN; nil when it has none.
func Site(gln string) *Place {
	link, err := gs1.Link(gs1.Element{AI: "414", Value: gln})
	if err != nil {
		return nil
	}
	return &Place{ID: link}
}

// Owner names the party that goods go to by its GLN; nil when it has none.
func Owner(gln string) []Party {
	link, err := gs1.Link(gs1.Element{AI: "417", Value: gln})
	if err != nil {
		return nil
	}
	return []Party{{Type: "owning_party", ID: link}}
}

// Numbered names a business transaction by the number that a party of a GLN gave
// it (CBV 2.0, 8.5.2), or by the id of its record.
func Numbered(kind, gln, number, id string) Paper {
	if gs1.IsGLN(gln) && number != "" && plain.MatchString(number) {
		return Paper{Type: kind, ID: "urn:epcglobal:cbv:bt:" + gln + ":" + number}
	}
	return Paper{Type: kind, ID: ID(id)}
}

// plain are numbers that stand in a URN as they are (RFC 8141, 2).
var plain = regexp.MustCompile(`^[A-Za-z0-9()+,\-.:=@;$_!*']+$`)
