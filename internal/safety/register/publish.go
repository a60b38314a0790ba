package register

import (
	"fmt"
	"maps"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// PublishIn says which register is published, and why.
type PublishIn struct {
	SiteID     string `json:"site_id" format:"uuid" names:"sites" doc:"Absent for the whole organisation."`
	Reason     string `json:"reason" required:"true" enum:"yearly important_change new_information" doc:"R4121-2."`
	Note       string `json:"note" max:"1000" doc:"What changed, in words."`
	AcceptGaps bool   `json:"accept_gaps" doc:"Publish although there are gaps; the version lists them."`
}

// PublishOut is the version, and what its register lacks.
type PublishOut struct {
	verb.Answer
	Version verb.Record `json:"version" record:"risk_register_versions" doc:"Without content; its collection has it."`
	Gaps    []Gap       `json:"gaps" doc:"What the register lacks to be complete."`
}

// Bounds of a version, which is printed as a whole: what no document would hold is published
// by site.
const (
	mostEntries = 1000
	mostBytes   = 700 << 10 // of content
	gapsNamed   = 10        // in a refusal
)

// Verbs is the table of what is done with the register besides changing its records.
func Verbs() []verb.Verb {
	return []verb.Verb{verb.New("publish_register", "Publishes the risk register of a site, or of the whole "+
		"organisation, as a version that nobody changes: it has a number, a hash and 40 years to be kept.",
		[]actor.Role{actor.Owner, actor.Admin, actor.Safety}, Publish)}
}

// Publish freezes the register of a site, or of the whole organisation, as its next version. A
// register without units or risks is fault.Conflict; so is one with gaps, unless the caller
// accepts that the version lists them: a version has to be there on the day, complete or not,
// and has to say what it lacks.
func Publish(c *verb.Call, in *PublishIn) (*PublishOut, error) {
	number, err := takeNumber(c, in.SiteID)
	if err != nil {
		return nil, err
	}
	content := &Content{Format: contentFormat, Number: number, Reason: in.Reason, Note: in.Note,
		MadeAt: query.FormatTime(c.Now()), MadeBy: c.UserID, Scale: catalog.RegisterScale}
	if err := content.readContent(c.Tx, in.SiteID); err != nil {
		return nil, err
	}
	if err := content.refuseUnfit(in.AcceptGaps); err != nil {
		return nil, err
	}
	row, err := content.makeRow(c.Tx, in.SiteID)
	if err != nil {
		return nil, err
	}
	made, err := record.Insert(c.Tx, []record.RiskRegisterVersion{row})
	if err != nil {
		return nil, fmt.Errorf("register: keep a version: %w", err)
	}
	if err := c.Flush(); err != nil {
		return nil, fmt.Errorf("register: keep a version: %w", err)
	}
	answer := maps.Clone(made[0])
	delete(answer, contentColumn)
	return &PublishOut{Version: c.Record(Versions, store.Row(answer)), Gaps: content.Gaps}, nil
}

// lockTenantSQL makes the publications of a tenant wait for each other. $1 tenant.
const lockTenantSQL = `
	SELECT id
	FROM tenants
	WHERE id = $1
	{for update}`

// lastNumberSQL selects the number of the last version. $1 tenant, $2 site, empty for the
// whole organisation.
const lastNumberSQL = `
	SELECT coalesce(MAX(number), 0)
	FROM risk_register_versions
	WHERE tenant_id = $1
		AND coalesce(CAST(site_id AS text), '') = $2`

// takeNumber is the number of the next version of a register.
func takeNumber(c *verb.Call, site string) (number int64, err error) {
	if site != "" {
		at, err := record.One[record.Site](c, siteColumn, site)
		if err != nil {
			return 0, err
		}
		if at.HasArchivedAt() {
			return 0, safety.NotReady("site_id names %s, which is archived: take the site back into use, or choose "+
				"another one", at.Code()).At(siteColumn, "is archived")
		}
	}
	c.Queue(lockTenantSQL, []any{c.TenantID}, func(*db.Row) error { return nil })
	c.Queue(lastNumberSQL, []any{c.TenantID, site}, func(r *db.Row) error {
		number = r.Int(0) + 1
		return nil
	})
	if err := c.Flush(); err != nil {
		return 0, fmt.Errorf("register: number a version: %w", err)
	}
	return number, nil
}

// readContent reads the register into a version.
func (c *Content) readContent(tx *store.Tx, site string) (err error) {
	if c.Units, err = readUnits(tx, site); err != nil {
		return err
	}
	if site != "" {
		names, err := readNamed(tx, "sites", []string{site})
		if err != nil {
			return err
		}
		at := names[site]
		c.Site = &at
	}
	return c.findGaps(tx)
}

// refuseUnfit refuses a register that says nothing, that is too large, or that has gaps which
// the caller has not accepted.
func (c *Content) refuseUnfit(acceptsGaps bool) error {
	switch n := c.entryCount(); {
	case len(c.Units) == 0:
		return safety.NotReady("the register has no work unit in use there: enter one before it is published")
	case n == 0:
		return safety.NotReady(
			"the register has no risk in use there: enter what may hurt people before it is published")
	case n > mostEntries:
		return fault.New(fault.TooLarge, "54000",
			"a version has %d risks at most, the register has %d: %s", mostEntries, n, c.adviseOnSize())
	case len(c.Gaps) == 0 || acceptsGaps:
		return nil
	}
	const advice = "fill them, or say accept_gaps and the version lists them"
	return safety.NotReady("the register has %d gaps: %s; %s", len(c.Gaps), describeGaps(c.Gaps), advice).
		At("accept_gaps", "is not said")
}

// adviseOnSize says how a register that is too large can be published.
func (c *Content) adviseOnSize() string {
	if c.Site == nil {
		return "publish it by site"
	}
	return "archive the risks of this site that are over, shorten their texts, or give some units a site of their own"
}

// describeGaps names risks and units, and what they lack.
func describeGaps(gaps []Gap) string {
	parts := make([]string, 0, gapsNamed+1)
	for _, g := range gaps[:min(len(gaps), gapsNamed)] {
		if g.Site {
			parts = append(parts, g.Unit+" is at no site")
			continue
		}
		lacks := make([]string, 0, 2)
		if g.Rating {
			lacks = append(lacks, "has no rating")
		}
		if g.Owner {
			lacks = append(lacks, "has nobody responsible")
		}
		if g.Left {
			lacks = append(lacks, "has a responsible person who has left")
		}
		parts = append(parts, fmt.Sprintf("%s of %s %s", g.No, g.Unit, strings.Join(lacks, " and ")))
	}
	if more := len(gaps) - gapsNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// makeRow is a version as it is kept.
func (c *Content) makeRow(tx *store.Tx, site string) (record.RiskRegisterVersion, error) {
	today, _, err := readToday(tx, tx.TenantID)
	if err != nil {
		return nil, err
	}
	raw, hash, err := c.writeContent()
	if err != nil {
		return nil, err
	}
	if len(raw) > mostBytes {
		return nil, fault.New(fault.TooLarge, "54000",
			"a version holds %d kB at most, the register would be %d kB: %s",
			mostBytes>>10, len(raw)>>10, c.adviseOnSize())
	}
	return record.RiskRegisterVersion{"number": c.Number, siteColumn: db.Null(site), "reason": c.Reason,
		"note":     db.Null(c.Note),
		madeColumn: c.MadeAt, "made_by": db.Null(c.MadeBy), "units": int64(len(c.Units)), "entries": c.entryCount(),
		"gaps": int64(len(c.Gaps)), contentColumn: raw, "sha256": hash, keepColumn: keepUntil(today).String()}, nil
}
