package scanning

import (
	"errors"
	"slices"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/transfers"
)

// ScanIn is what a scanner read.
type ScanIn struct {
	Code    string       `json:"code" required:"true" code:"true" max:"500" doc:"As the scanner sends it; FNC1: ASCII 29."`
	Context *ScanContext `json:"context" doc:"What the person is at: the scan is held against it."`
}

// ScanContext is work that a scan belongs to.
type ScanContext struct {
	PickLineID    string `json:"pick_line_id" format:"uuid" names:"pick_lines" doc:"A line that is being picked."`
	CountTaskID   string `json:"count_task_id" format:"uuid" names:"count_tasks" doc:"A count that is being made."`
	PutawayTaskID string `json:"putaway_task_id" format:"uuid" names:"putaway_tasks" doc:"Goods that are being put away."`
}

// ScanOut is what the code is.
type ScanOut struct {
	verb.Answer
	Kind   string       `json:"kind" enum:"item lot serial zone order shipment package plate equipment worker pick_list" doc:"What it is; plate: stock on one."`
	Record *verb.Record `json:"record" doc:"The record it stands for, of the collection of its kind."`
	Item   *verb.Record `json:"item" record:"items" doc:"The item of a lot or serial number."`
	UoM    string       `json:"uom,omitempty" doc:"Unit that the barcode is on; none where a label counts pieces (AI 30)."`
	Parsed *ScanParsed  `json:"parsed" doc:"Elements of a GS1 code; null for any other."`

	Handling []handling.Load `json:"handling" doc:"What is left of the context, or to come in of an order, by units."`
}

// ScanParsed is what a GS1 code says.
type ScanParsed struct {
	Form      gs1.Form      `json:"form" doc:"How it was written."`
	Elements  []gs1.Element `json:"elements" doc:"Application identifiers in their order."`
	GTIN      string        `json:"gtin,omitempty"`
	SSCC      string        `json:"sscc,omitempty"`
	GLN       string        `json:"gln,omitempty"`
	LotNo     string        `json:"lot_no,omitempty"`
	Serial    string        `json:"serial,omitempty"`
	ExpiresOn string        `json:"expires_on,omitempty" doc:"YYYY-MM-DD"`
	Count     string        `json:"count,omitempty" doc:"Trade items (AI 37), or pieces (AI 30)."`
	NetWeight string        `json:"net_weight_kg,omitempty"`

	isOfPieces bool // Count is of pieces, whatever unit the barcode is on
}

// scanning is one code on its way to what it is.
type scanning struct {
	c   *verb.Call
	in  *ScanIn
	out *ScanOut
}

// ScanCode says what a scanned code is and what can be done with it.
func ScanCode(c *verb.Call, in *ScanIn) (*ScanOut, error) {
	s := &scanning{c: c, in: in, out: &ScanOut{Handling: []handling.Load{}}}
	if err := s.findCode(); err != nil {
		return nil, err
	}
	if s.out.Kind == "" {
		return nil, fault.New(fault.NotFound, "PGRST116", "nothing here has the code %s",
			strings.ReplaceAll(in.Code, gs1.FNC1, "|")).At("code", "is unknown")
	}
	if err := s.checkContext(); err != nil {
		return nil, err
	}
	s.listNextSteps()
	return s.out, s.sayExpected()
}

// sayExpected says what is still to come in of an order that was scanned, by units.
func (s *scanning) sayExpected() error {
	order := s.out.Record.Row()
	if s.out.Kind != "order" || !slices.ContainsFunc(s.out.Next, isReceiving) {
		return nil
	}
	lines, err := s.c.RowsToRead("order_lines", "order_id = $2 ORDER BY line_no", order["id"])
	if err != nil {
		return err
	}
	s.out.Handling, err = handling.ListExpected(s.c.Tx, order, record.From[record.OrderLine](lines))
	return err
}

// isReceiving reports a step that takes goods in.
func isReceiving(step verb.Step) bool { return step.Verb == "receive" || step.Verb == "receive_return" }

// findCode looks the raw code up first; only a code that claims to be GS1 is cut
// into elements.
func (s *scanning) findCode() error {
	if found, err := s.findRawCode(); found || err != nil {
		return err
	}
	label, err := gs1.Read(s.in.Code)
	if errors.Is(err, gs1.ErrNotGS1) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Invalid, codeMovement, "the label is damaged: %s",
			strings.TrimPrefix(err.Error(), "gs1: ")).At("code", "is a damaged GS1 label")
	}
	s.out.Parsed = s.parsedLabel(label)
	return s.findLabelled(s.out.Parsed)
}

// lookups are the columns by which a code is looked up, in this order, and the
// kind of what is found there.
var lookups = [...]struct{ kind, resource, column string }{
	{"item", "items", "sku"}, {"lot", "lots", "lot_no"}, {"zone", "zones", "code"}, {"order", "orders", "order_no"},
	{"shipment", "shipments", "shipment_no"}, {"shipment", "shipments", "tracking_no"},
	{"package", "packages", "package_no"},
	{"package", "packages", "sscc"}, {"package", "packages", "lpn"}, {"equipment", "equipment", "asset_no"},
	{"worker", "workers", "employee_no"}, {"pick_list", "pick_lists", "pick_no"},
}

// findRawCode looks a code up as it stands.
func (s *scanning) findRawCode() (bool, error) {
	code := query.Identifier(s.in.Code)
	if found, err := s.findBarcode(canonicalBarcode(code)); found || err != nil {
		return found, err
	}
	for _, p := range lookups {
		rows, err := s.readTwo(p.resource, p.column+" = $2", code)
		if err != nil {
			return false, err
		}
		if len(rows) == 0 && p.column == "code" {
			rows, err = s.readTwo(p.resource, "lower(code) = lower($2)", code)
		}
		if len(rows) > 0 || err != nil {
			return s.takeFound(p.kind, p.resource, rows, err)
		}
	}
	if found, err := s.findPlate(code); found || err != nil {
		return found, err
	}
	return s.findSerial("", code)
}

// findPlate finds stock on a license plate; one pallet may hold several lots, of
// which the first is shown.
func (s *scanning) findPlate(code string) (bool, error) {
	rows, err := s.readTwo("stock_levels", "lpn = $2 AND quantity > 0", code)
	return s.takeFound("plate", "stock_levels", rows[:min(1, len(rows))], err)
}

// readTwo reads the first two rows that the caller may read; archived records are not scanned.
func (s *scanning) readTwo(resource, where string, args ...any) ([]store.Row, error) {
	if s.c.Resource(resource).Archives {
		where += " AND archived_at IS NULL"
	}
	return s.c.RowsToRead(resource, where+" ORDER BY id LIMIT 2", args...)
}

// isBeingPicked reports a pick list that is released and not done.
func isBeingPicked(list store.Row) bool {
	return slices.Contains([]string{"released", "in_progress"}, list.Text("status"))
}

func (s *scanning) takeFound(kind, resource string, rows []store.Row, err error) (bool, error) {
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if len(rows) > 1 {
		return false, fault.New(fault.Conflict, CodeScan, "several %s have the code %s: scan the item first", resource,
			s.in.Code).At("code", "stands for several %s", resource)
	}
	rec := s.c.Record(resource, rows[0])
	s.out.Kind, s.out.Record = kind, &rec
	if kind == "lot" {
		return true, s.itemOf(rows[0].Text("item_id"))
	}
	return true, nil
}

func (s *scanning) itemOf(id string) error {
	rows, err := record.List[record.Item](s.c.Tx, "id = $2", id)
	if err == nil && len(rows) == 1 {
		rec := record.Show(s.c, rows[0])
		s.out.Item = &rec
	}
	return err
}

// findBarcode finds the item and unit a barcode or GTIN is on.
func (s *scanning) findBarcode(value string) (bool, error) {
	rows, err := record.List[record.ItemBarcode](s.c.Tx, "value = $2", value)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	s.out.UoM = rows[0].UOM()
	items, err := record.List[record.Item](s.c.Tx, "id = $2", rows[0].ItemID())
	return s.takeFound("item", "items", record.Rows(items), err)
}

// findSerial finds a piece in stock by its number; item "" = of any item.
func (s *scanning) findSerial(item, number string) (bool, error) {
	where, args := "serial = $2 AND quantity > 0", []any{number}
	if item != "" {
		where, args = where+" AND item_id = $3", append(args, item)
	}
	rows, err := s.readTwo("stock_levels", where, args...)
	found, err := s.takeFound("serial", "stock_levels", rows, err)
	if found && err == nil {
		err = s.itemOf(record.StockLevel(rows[0]).ItemID())
	}
	return found, err
}

func (s *scanning) parsedLabel(l gs1.Label) *ScanParsed {
	year := s.c.Now().Year()
	p := &ScanParsed{Form: l.Form, Elements: l.Elements, GTIN: gtinOf(l), SSCC: l.Value("00"),
		LotNo: query.Identifier(l.Value("10")), Serial: query.Identifier(l.Value("21")),
		ExpiresOn: l.Date("17", year), NetWeight: l.Weight("310"), GLN: l.Value("414")}
	if p.GLN == "" {
		p.GLN = l.Value("410")
	}
	if p.ExpiresOn == "" {
		p.ExpiresOn = l.Date("15", year)
	}
	p.Count, p.isOfPieces = countOf(l)
	return p
}

// findLabelled finds what a GS1 label is about: the piece, else the lot, else the item;
// a shipment by SSCC.
func (s *scanning) findLabelled(p *ScanParsed) error {
	found, err := false, error(nil)
	if p.GTIN != "" {
		found, err = s.findBarcode(p.GTIN)
	}
	if err != nil {
		return err
	}
	if p.isOfPieces {
		s.out.UoM = ""
	}
	if !found {
		return s.findLogisticUnit(p)
	}
	item := s.out.Record
	id := item.Row().Text("id")
	if p.Serial != "" {
		if found, err = s.findSerial(id, p.Serial); found || err != nil {
			return err
		}
	}
	if p.LotNo == "" {
		return nil
	}
	rows, err := s.readTwo("lots", "item_id = $2 AND lot_no = $3", id, p.LotNo)
	_, err = s.takeFound("lot", "lots", rows, err)
	return err
}

// findLogisticUnit finds a logistic unit by its SSCC.
func (s *scanning) findLogisticUnit(p *ScanParsed) error {
	if p.SSCC == "" {
		return nil
	}
	rows, err := s.readTwo("packages", "sscc = $2", p.SSCC)
	if found, err := s.takeFound("package", "packages", rows, err); found || err != nil {
		return err
	}
	rows, err = s.readTwo("shipments", `sscc LIKE '%"' || $2 || '"%'`, p.SSCC)
	if found, err := s.takeFound("shipment", "shipments", rows, err); found || err != nil {
		return err
	}
	_, err = s.findPlate(p.SSCC)
	return err
}

// checkContext holds the scan to the work it belongs to.
func (s *scanning) checkContext() error {
	x := s.in.Context
	if x == nil {
		return nil
	}
	for _, w := range [...]struct{ resource, field, id, zone, of, done string }{
		{"pick_lines", "pick_line_id", x.PickLineID, "zone_id", "qty", "qty_picked"},
		{"count_tasks", "count_task_id", x.CountTaskID, "zone_id", "", ""},
		{"putaway_tasks", "putaway_task_id", x.PutawayTaskID, "from_zone_id", "quantity", "quantity_done"},
	} {
		if w.id == "" {
			continue
		}
		task, err := s.readTask(w.resource, "context."+w.field, w.id)
		if err != nil {
			return err
		}
		if err := s.checkBelongsToTask(task, w.zone); err != nil {
			return err
		}
		if w.of == "" {
			continue
		}
		left, err := handling.ListRows(s.c.Tx, []store.Row{task}, w.of, w.done)
		if err != nil {
			return err
		}
		s.out.Handling = append(s.out.Handling, left...)
	}
	return nil
}

// readTask reads the work that a scan belongs to, without locking it.
func (s *scanning) readTask(resource, field, id string) (store.Row, error) {
	rows, err := s.c.Rows(resource, "id = $2", id)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, verb.Missing(resource, field)
	}
	return rows[0], nil
}

// checkBelongsToTask refuses a scan of something else than the task is about.
func (s *scanning) checkBelongsToTask(task store.Row, zone string) error {
	rec := s.out.Record.Row()
	wrong := func(what string) error {
		return fault.New(fault.Conflict, CodeScan, "that is another %s than the task's", what).
			At("code", "is another %s", what)
	}
	item := rec.Text("item_id")
	if s.out.Kind == "item" {
		item = rec.Text("id")
	}
	switch {
	case s.out.Kind == "zone" && rec["id"] != task[zone] &&
		(task["to_zone_id"] == nil || rec["id"] != task["to_zone_id"]):
		return wrong("zone")
	case item != "" && task["item_id"] != nil && task["item_id"] != any(item):
		return wrong("item")
	case s.out.Kind == "lot" && task["lot_id"] != nil && task["lot_id"] != rec["id"]:
		return wrong("lot")
	}
	return nil
}

// packageSteps are what can be done with a package: fill and close an open one,
// send a closed one on its way.
func (s *scanning) packageSteps(p store.Row) {
	switch {
	case p["status"] == "open":
		s.out.Then("pack", "Pack more into it")
		s.out.Then("close_package", "Close it")
	case p["shipment_id"] == nil:
		s.out.Then("create_shipment", "Make a shipment")
	default:
		s.out.Then("dispatch", "Send its shipment off")
		s.out.Then("deliver", "Hand its shipment over")
	}
}

// listNextSteps are what can be done with what was scanned.
func (s *scanning) listNextSteps() {
	list := map[string][][2]string{
		"item": {{"receive", "Receive it"}, {"suggest_putaway", "Find a place for it"}, {"move_stock", "Move it"},
			{"start_count", "Count it"}, {"adjust_stock", "Correct its stock"}},
		"lot":    {{"move_stock", "Move it"}, {"start_count", "Count it"}, {"recall_lot", "Recall the lot"}},
		"serial": {{"move_stock", "Move it"}, {"adjust_stock", "Correct its stock"}},
		"plate":  {{"put_away", "Put it away"}, {"move_stock", "Move it"}},
		"zone": {{"start_count", "Count what is here"}, {"put_away", "Put something away here"},
			{"move_stock", "Move something from here"}},
		"shipment": {{"receive", "Receive it"}, {"dispatch", "Dispatch it"}, {"deliver", "Hand it over"}},
	}[s.out.Kind]
	for _, step := range list {
		s.out.Then(step[0], step[1])
	}
	if s.out.Kind == "pick_list" && isBeingPicked(s.out.Record.Row()) {
		s.out.Then("claim_pick_list", "Take a list")
	}
	if s.out.Kind == "package" {
		s.packageSteps(s.out.Record.Row())
	}
	if s.out.Kind == "order" {
		order := record.Order(s.out.Record.Row())
		switch {
		case order.Type() == "return":
			s.out.Then("receive_return", "Receive what came back")
		case transfers.CanShip(order) && !transfers.IsInTransit(order):
			s.out.Then("pack", "Pack it")
		default:
			s.out.Then("receive", "Receive goods")
		}
	}
}
