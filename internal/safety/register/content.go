package register

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Content is what a version says: the register as it was, with what others are called
// written into it, so that it can be read when they are long gone. People stand in it by
// their accounts alone, as it is kept longer than their names may be.
type Content struct {
	Format int    `json:"format"`
	Number int64  `json:"number"`
	Site   *Named `json:"site"` // nil for the whole organisation
	Reason string `json:"reason"`
	Note   string `json:"note"`
	MadeAt string `json:"made_at"`
	MadeBy string `json:"made_by"`
	Scale  string `json:"scale"`
	Units  []Unit `json:"units"`
	Gaps   []Gap  `json:"gaps"`
}

// contentFormat is the form of what versions say; it rises when members change their meaning.
const contentFormat = 1

// Named is a record by its id and what it was called.
type Named struct {
	ID   string `json:"id"`
	Code string `json:"code"`
	Name string `json:"name"`
}

// Unit is a work unit of a version.
type Unit struct {
	ID         string   `json:"id"`
	Code       string   `json:"code"`
	Name       string   `json:"name"`
	Site       *Named   `json:"site"`
	Headcount  *int64   `json:"headcount"`
	Activities []string `json:"activities"`
	Zones      []Named  `json:"zones"`
	Equipment  []string `json:"equipment_kinds"`
	Entries    []Entry  `json:"entries"`
}

// Entry is a risk of a version.
type Entry struct {
	ID        string `json:"id"`
	No        string `json:"entry_no"`
	Family    string `json:"hazard_family"`
	Activity  string `json:"activity"`
	Situation string `json:"situation"`
	Harm      string `json:"possible_harm"`
	BySex     bool   `json:"differs_by_sex"`
	Existing  string `json:"existing_measures"`

	SeverityBefore   string `json:"severity_before"`
	LikelihoodBefore *int64 `json:"likelihood_before"`
	RatingBefore     *int64 `json:"rating_before"`
	SeverityAfter    string `json:"severity_after"`
	LikelihoodAfter  *int64 `json:"likelihood_after"`
	RatingAfter      *int64 `json:"rating_after"`
	RatingNow        *int64 `json:"rating_now"`
	Priority         string `json:"priority"`

	Measure   string `json:"measure"`
	Level     string `json:"control_level"`
	DueOn     string `json:"measure_due_on"`
	DoneOn    string `json:"measure_done_on"`
	Action    string `json:"action_id"`
	Owner     string `json:"owner_user_id"`
	ReviewOn  string `json:"review_on"`
	CheckedOn string `json:"effect_checked_on"`
	Effective *bool  `json:"effective"`
}

// Gap is what a risk lacks to be one of a complete register, or a unit to be in the register
// of a site; that one names no risk.
type Gap struct {
	EntryID string `json:"entry_id"`
	No      string `json:"entry_no"`
	UnitID  string `json:"unit_id"`
	Unit    string `json:"unit" doc:"Code of the work unit."`
	Rating  bool   `json:"rating" doc:"It is not rated."`
	Owner   bool   `json:"owner" doc:"Nobody is responsible."`
	Left    bool   `json:"left" doc:"The responsible person has left: the membership has ended or is not active."`
	Site    bool   `json:"site" doc:"The unit is at no site: no register of a site has it."`
}

// writeContent writes a version's content as it is stored and answered, and its hash.
func (c *Content) writeContent() (raw json.RawMessage, hash string, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, "", fmt.Errorf("register: write a version: %w", err)
	}
	// json.Marshal escapes characters that the store writes as they are.
	raw, reason := query.NormalizeDocument(text)
	if reason != "" {
		return nil, "", fmt.Errorf("register: write a version: %s", reason)
	}
	sum := sha256.Sum256(raw)
	return raw, hex.EncodeToString(sum[:]), nil
}

// findGaps finds what the risks of a version lack and, for the register of a site, the units
// that are at no site.
func (c *Content) findGaps(tx *store.Tx) error {
	var owners []string
	for _, u := range c.Units {
		for _, e := range u.Entries {
			if e.Owner != "" {
				owners = append(owners, e.Owner)
			}
		}
	}
	active, err := readActive(tx, owners)
	if err != nil {
		return err
	}
	c.Gaps = c.listGaps(active)
	if c.Site == nil {
		return nil
	}
	rows, err := record.List[record.WorkUnit](tx, "archived_at IS NULL AND site_id IS NULL ORDER BY code, id")
	if err != nil {
		return fmt.Errorf("register: read units without a site: %w", err)
	}
	units, err := safety.DecodeRows[Named](record.Rows(rows))
	for _, unit := range units {
		c.Gaps = append(c.Gaps, Gap{UnitID: unit.ID, Unit: unit.Code, Site: true})
	}
	return err
}

// listGaps lists what the risks of a version lack; active are the accounts that are active
// members.
func (c *Content) listGaps(active map[string]bool) []Gap {
	gaps := []Gap{}
	for _, u := range c.Units {
		for _, e := range u.Entries {
			g := Gap{EntryID: e.ID, No: e.No, UnitID: u.ID, Unit: u.Code, Rating: e.RatingBefore == nil,
				Owner: e.Owner == "", Left: e.Owner != "" && !active[e.Owner]}
			if g.Rating || g.Owner || g.Left {
				gaps = append(gaps, g)
			}
		}
	}
	return gaps
}

// readActive reads which of some accounts are active members.
func readActive(tx *store.Tx, users []string) (map[string]bool, error) {
	rows, err := record.List[record.Member](tx, "user_id IN {ids $2} AND status = 'active'", query.List(users))
	if err != nil {
		return nil, fmt.Errorf("register: read who is responsible: %w", err)
	}
	members, err := safety.DecodeRows[memberRow](record.Rows(rows))
	active := make(map[string]bool, len(members))
	for _, member := range members {
		active[member.User] = true
	}
	return active, err
}

// entryCount counts the risks of a version.
func (c *Content) entryCount() (n int64) {
	for i := range c.Units {
		n += int64(len(c.Units[i].Entries))
	}
	return n
}

// unitRow, entryRow and memberRow are records as the store keeps them.
type (
	memberRow struct {
		User string `json:"user_id"`
	}
	unitRow struct {
		Unit
		SiteID  string   `json:"site_id"`
		ZoneIDs []string `json:"zone_ids"`
	}
	entryRow struct {
		Entry
		UnitID string `json:"unit_id"`
	}
)

// readNamed reads what records of a collection are called, by their ids.
func readNamed(tx *store.Tx, resource string, ids []string) (map[string]Named, error) {
	rows, err := tx.Rows(resource, "id IN {ids $2}", query.List(ids))
	if err != nil {
		return nil, fmt.Errorf("register: read %s: %w", resource, err)
	}
	list, err := safety.DecodeRows[Named](rows)
	names := make(map[string]Named, len(list))
	for _, x := range list {
		names[x.ID] = x
	}
	return names, err
}

// readUnits reads the work units in use, of a site or of the whole organisation, with their
// risks in use, the largest first.
func readUnits(tx *store.Tx, site string) ([]Unit, error) {
	where, args := "archived_at IS NULL ORDER BY code, id", []any{}
	if site != "" {
		where, args = "archived_at IS NULL AND site_id = $2 ORDER BY code, id", []any{site}
	}
	rows, err := record.List[record.WorkUnit](tx, where, args...)
	if err != nil {
		return nil, fmt.Errorf("register: read units: %w", err)
	}
	units, err := safety.DecodeRows[unitRow](record.Rows(rows))
	if err != nil {
		return nil, err
	}
	var ids, sites, zones []string
	for i := range units {
		ids, zones = append(ids, units[i].ID), append(zones, units[i].ZoneIDs...)
		if units[i].SiteID != "" {
			sites = append(sites, units[i].SiteID)
		}
	}
	entries, err := readEntries(tx, ids)
	if err != nil {
		return nil, err
	}
	siteNames, err := readNamed(tx, "sites", sites)
	if err != nil {
		return nil, err
	}
	zoneNames, err := readNamed(tx, "zones", zones)
	if err != nil {
		return nil, err
	}
	list := make([]Unit, len(units))
	for i, u := range units {
		list[i] = u.Unit
		list[i].Entries = append([]Entry{}, entries[u.ID]...)
		if at, found := siteNames[u.SiteID]; found {
			list[i].Site = &at
		}
		list[i].Zones = []Named{}
		for _, zone := range u.ZoneIDs {
			if at, found := zoneNames[zone]; found {
				list[i].Zones = append(list[i].Zones, at)
			}
		}
	}
	return list, nil
}

// readEntries reads the risks in use of units, by their unit, those that matter most first.
func readEntries(tx *store.Tx, units []string) (map[string][]Entry, error) {
	rows, err := record.List[record.RiskEntry](tx, "archived_at IS NULL AND unit_id IN {ids $2}", query.List(units))
	if err != nil {
		return nil, fmt.Errorf("register: read risks: %w", err)
	}
	list, err := safety.DecodeRows[entryRow](record.Rows(rows))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b entryRow) int {
		return cmp.Or(-cmp.Compare(rankOf(a.RatingNow), rankOf(b.RatingNow)), cmp.Compare(a.No, b.No))
	})
	byUnit := map[string][]Entry{}
	for _, e := range list {
		byUnit[e.UnitID] = append(byUnit[e.UnitID], e.Entry)
	}
	return byUnit, nil
}

// rankOf puts a risk without a rating before all others: nobody knows how large it is.
func rankOf(rating *int64) int64 {
	if rating == nil {
		return 1 << 32
	}
	return *rating
}
