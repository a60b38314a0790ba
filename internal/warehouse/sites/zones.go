package sites

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// InheritOfParents gives zones that name no site the site of the zone they lie in.
func InheritOfParents(tx *store.Tx, changes []store.Change) error {
	var parents []string
	for _, c := range record.Changes[record.Zone](changes) {
		if parent := newParent(c); parent != "" {
			parents = append(parents, parent)
		}
	}
	if len(parents) == 0 {
		return nil
	}
	zones, err := ReadOfZones(tx, parents)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.Zone](changes) {
		if parent := newParent(c); parent != "" {
			c.After.SetSiteIDOrNull(db.Null(zones[parent].OwnID))
		}
		if c.After != nil { // for what lies in a zone that is made with it
			zones[c.After.ID()] = Zone{OwnID: c.After.SiteID()}
		}
	}
	return nil
}

// newParent is the zone that a zone without a site is made or moved into, "" for none.
func newParent(c record.Change[record.Zone]) string {
	if c.After == nil || c.After.HasSiteID() {
		return ""
	}
	parent := c.After.ParentID()
	if c.Op == store.Update && c.Before.ParentID() == parent {
		return ""
	}
	return parent
}

// inside are the types of movement that do not leave a site. Goods are put away and
// brought to pick zones among zones of one site or of none; those that are picked and
// put back may be carried to a zone of which no site is known.
var inside = []string{"putaway", "replenish", "pick", "unpick", "pack"}

// strict are those of them that do not go between a zone of a site and one of none.
var strict = []string{"putaway", "replenish"}

// CheckMovements refuses to carry goods to another site: that is a transfer. It returns
// which of the changes it refuses.
func CheckMovements(tx *store.Tx, changes []store.Change) (at int, err error) {
	var rows []record.StockMovement
	var places []int
	for i, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert {
			rows, places = append(rows, c.After), append(places, i)
		}
	}
	kinds, reversals := record.Texts(rows, record.StockMovement.Type), record.Texts(rows,
		record.StockMovement.ReversalOf)
	sources, targets := record.Texts(rows, record.StockMovement.FromZoneID), record.Texts(rows,
		record.StockMovement.ToZoneID)
	staysInside := func(n int) bool { return reversals[n] == "" && slices.Contains(inside, kinds[n]) }
	var ids []string
	for n := range rows {
		if staysInside(n) {
			ids = append(ids, sources[n], targets[n])
		}
	}
	zones, err := ReadOfZones(tx, uniqueIDs(ids))
	if err != nil {
		return 0, err
	}
	for n := range rows {
		from, isKnown := zones[sources[n]]
		to, isToo := zones[targets[n]]
		isFar := leavesSite(kinds[n], from, to)
		if staysInside(n) && isKnown && isToo && isFar {
			return places[n], refuseTarget(to)
		}
	}
	return 0, nil
}

// leavesSite reports a way that goods of a type of movement inside a site cannot take.
func leavesSite(kind string, from, to Zone) bool {
	return Differ(from.SiteID, to.SiteID) || from.SiteID != to.SiteID && slices.Contains(strict, kind)
}

// refuseTarget says that a zone lies at another site than the goods that would go there.
func refuseTarget(to Zone) error {
	const why = "lies at another site than the goods: bring them there with a movement of type transfer"
	return fault.New(fault.Invalid, CodeElsewhere, "zone %s %s", to.Code, why).At("to_zone_id", "%s", why)
}

// CheckTasks refuses to lead goods that are to be put away to another site.
func CheckTasks(tx *store.Tx, changes []store.Change) error {
	var rows []record.PutawayTask
	for _, c := range record.Changes[record.PutawayTask](changes) {
		if c.Alters(record.PutawayTask.FromZoneIDOrNull, record.PutawayTask.ToZoneIDOrNull) {
			rows = append(rows, c.After)
		}
	}
	sources, targets := record.Texts(rows, record.PutawayTask.FromZoneID), record.Texts(rows,
		record.PutawayTask.ToZoneID)
	zones, err := ReadOfZones(tx, uniqueIDs(slices.Concat(sources, targets)))
	if err != nil {
		return err
	}
	for n := range rows {
		to, isKnown := zones[targets[n]] // a task may have none; what there is not, the reference refuses
		if isKnown && leavesSite("putaway", zones[sources[n]], to) {
			return refuseTarget(to)
		}
	}
	return nil
}

// NameTransfers makes transfers of those movements that carry goods to another site. They
// are the way back of goods whose zones have come to other sites since they were picked:
// that must not keep a list from being cancelled.
func NameTransfers(tx *store.Tx, moves []record.StockMovement) error {
	sources, targets := record.Texts(moves, record.StockMovement.FromZoneID), record.Texts(moves,
		record.StockMovement.ToZoneID)
	zones, err := ReadOfZones(tx, uniqueIDs(slices.Concat(sources, targets)))
	if err != nil {
		return err
	}
	for n, m := range moves {
		if Differ(zones[sources[n]].SiteID, zones[targets[n]].SiteID) {
			m.SetType("transfer")
		}
	}
	return nil
}

// CodeElsewhere is a place at another site.
const CodeElsewhere = "HF003"

// uniqueIDs returns ids in their order, each once, without "".
func uniqueIDs(ids []string) []string {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// CheckRules refuses rules that are made or changed to fill a zone up from another site.
func CheckRules(tx *store.Tx, changes []store.Change) error {
	var rows []record.ReplenishRule
	for _, c := range record.Changes[record.ReplenishRule](changes) {
		if c.Op == store.Insert || c.Alters(record.ReplenishRule.SourceZoneIDOrNull,
			record.ReplenishRule.PickZoneIDOrNull) {
			rows = append(rows, c.After)
		}
	}
	sources, faces := record.Texts(rows, record.ReplenishRule.SourceZoneID), record.Texts(rows,
		record.ReplenishRule.PickZoneID)
	zones, err := ReadOfZones(tx, uniqueIDs(slices.Concat(sources, faces)))
	if err != nil {
		return err
	}
	for n := range rows {
		from, to := zones[sources[n]], zones[faces[n]]
		if Differ(from.SiteID, to.SiteID) {
			return fault.New(fault.Invalid, CodeElsewhere,
				"zone %s lies at another site than zone %s, which it is to fill up", from.Code, to.Code).
				With("", "bring goods to the site under a transfer order").
				At("source_zone_id", "lies at another site than the pick zone")
		}
	}
	return nil
}
