package warehouse

import (
	"slices"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/record"
)

// ProposedTransfer is goods that an order wants and that lie at another site than its own.
type ProposedTransfer struct {
	LineID     string      `json:"order_line_id" format:"uuid"`
	ItemID     string      `json:"item_id" format:"uuid"`
	FromSiteID string      `json:"from_site_id" format:"uuid" names:"sites" doc:"Where they lie."`
	ToSiteID   string      `json:"to_site_id" format:"uuid" names:"sites" doc:"The order's site, else that where most of it is promised."`
	Quantity   decimal.Dec `json:"quantity" doc:"Base units."`
	Promised   bool        `json:"promised" doc:"Whether the order was promised them where they lie."`
}

// wantsStock reports stock of a line's item, owner and lot.
func (w demandLine) wantsStock(c *freeStock) bool {
	return c.item == w.item && c.owner == w.owner && (w.lot == "" || w.lot == c.lot)
}

// mayTake reports stock at a site that a line's order may take stock of.
func (p plan) mayTake(w demandLine, c *freeStock) bool {
	if p.isBound {
		return c.site == p.site
	}
	return w.site == "" || w.site == c.site || p.across && !w.isTransfer
}

// compareForLine compares free stock for a line: that of its order's site first.
func (p plan) compareForLine(w demandLine) func(a, b *freeStock) int {
	byStrategy := p.compareByStrategy(w.need)
	return func(a, b *freeStock) int {
		if w.site != "" && (a.site == w.site) != (b.site == w.site) {
			if a.site == w.site {
				return -1
			}
			return 1
		}
		return byStrategy(a, b)
	}
}

// transferSearch finds what other sites could send for the orders of one allocation.
type transferSearch struct {
	stock    map[string][]*freeStock
	siteOf   map[string]string          // zone -> site
	proposed map[*freeStock]decimal.Dec // what a proposal of this allocation takes already
}

// newTransferSearch prepares a search in an allocation's free stock, by item.
func newTransferSearch(stock map[string][]*freeStock) *transferSearch {
	s := &transferSearch{stock: stock, siteOf: map[string]string{}, proposed: map[*freeStock]decimal.Dec{}}
	for _, list := range stock {
		for _, c := range list {
			s.siteOf[c.zone] = c.site
		}
	}
	return s
}

// proposeTransfers proposes to bring what an order's lines were promised at other sites
// than its own, and what they lack and other sites have. Lines that lack the same goods
// are proposed each its own part of them.
func (s *transferSearch) proposeTransfers(
	wishes []demandLine, rows []record.Reservation, short []Short,
) (out []ProposedTransfer) {
	to := wishes[0].site
	if to == "" {
		to = mostPromised(rows, s.siteOf)
	}
	if to == "" {
		return nil
	}

	propose := func(line, item, from string, quantity decimal.Dec, promised bool) {
		at := slices.IndexFunc(out, func(t ProposedTransfer) bool {
			return t.LineID == line && t.FromSiteID == from && t.Promised == promised
		})
		if at < 0 {
			at, out = len(out), append(out, ProposedTransfer{LineID: line, ItemID: item, FromSiteID: from, ToSiteID: to,
				Promised: promised})
		}
		out[at].Quantity += quantity
	}
	for _, r := range rows {
		if from := s.siteOf[r.ZoneID()]; from != "" && from != to {
			propose(r.OrderLineID(), r.ItemID(), from, r.Quantity(), true)
		}
	}
	for _, lack := range short {
		w := wishes[slices.IndexFunc(wishes, func(w demandLine) bool { return w.line == lack.LineID })]
		lacks := lack.Quantity
		for _, c := range s.stock[lack.ItemID] {
			free := c.free - s.proposed[c]
			if c.site == "" || c.site == to || free <= 0 || lacks == 0 || !w.wantsStock(c) || !w.lastsLongEnough(c.expires) {
				continue
			}
			q := min(lacks, free)
			lacks -= q
			s.proposed[c] += q
			propose(lack.LineID, lack.ItemID, c.site, q, false)
		}
	}
	return out
}

// mostPromised is the site where most of some reservations lie, "" where they all lie at
// one or none.
func mostPromised(rows []record.Reservation, siteOf map[string]string) (most string) {
	sums := map[string]decimal.Dec{}
	for _, r := range rows {
		site := siteOf[r.ZoneID()]
		sums[site] += r.Quantity()
	}
	delete(sums, "")
	if len(sums) < 2 {
		return ""
	}
	for site, sum := range sums {
		if most == "" || sum > sums[most] || sum == sums[most] && strings.Compare(site, most) < 0 {
			most = site
		}
	}
	return most
}
