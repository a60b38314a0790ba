package matrix

import "slices"

// States of a cell. Only the first two say that a certificate is held.
const (
	stateValid    = "valid"
	stateEnding   = "ending"
	stateEnded    = "ended"
	stateAssigned = "assigned"
	stateWaived   = "waived"
	stateMissing  = "missing"
)

// fillPerson works out the cells of a person.
func (p *page) fillPerson(person *PersonOut) {
	reasons := p.reasonsOf(person)
	for _, course := range p.courses {
		asked := reasons[course.ID]
		cell := p.cellOf(personCourse{person.ID, course.ID}, asked)
		if cell == nil {
			continue
		}
		person.Cells = append(person.Cells, *cell)
		if cell.Gap {
			person.Gaps++
		}
	}
}

// reasonsOf returns what asks a person for courses: the job that the title means,
// and of the equipment of the person's shifts its kind, the job that goes with it
// or its own course. Of the equipment that asks for a course the first is named.
func (p *page) reasonsOf(person *PersonOut) map[string][]ReasonOut {
	reasons := map[string][]ReasonOut{}
	if person.JobTitle != nil {
		for _, course := range p.demands.OfTitle(*person.JobTitle) {
			reasons[course] = append(reasons[course], ReasonOut{By: "job_title", Name: *person.JobTitle})
		}
	}
	for _, machine := range p.handled[person.ID] {
		for _, course := range slices.Concat(p.demands.OfKind(machine.kind), p.demands.OfRecord(machine.course)) {
			if !slices.ContainsFunc(reasons[course], ReasonOut.isEquipment) {
				reasons[course] = append(reasons[course], ReasonOut{By: "equipment", Name: machine.assetNo, ID: machine.id})
			}
		}
	}
	return reasons
}

func (r ReasonOut) isEquipment() bool { return r.By == "equipment" }

// cellOf works out a cell, nil where nothing is asked for and nothing on record.
func (p *page) cellOf(at personCourse, asked []ReasonOut) *CellOut {
	records := p.records[at]
	if len(asked) == 0 && len(records) == 0 {
		return nil
	}
	cell := &CellOut{CourseID: at.course, Required: len(asked) > 0, Reasons: asked}
	certificate := longestCertificate(records)
	open := newestOf(records, p.isPressing)
	isPressing := open != nil
	if open == nil {
		open = newestOf(records, isOpen)
	}
	if certificate != nil {
		cell.Certificate, cell.ExpiresOn = certificate.id, certificate.expires
	}
	if open == nil && (certificate == nil || !p.isHeld(certificate)) {
		open = findWaiver(records)
	}
	if open != nil {
		cell.Assignment, cell.AssignStatus, cell.DueOn = open.id, open.status, open.due
	}
	cell.State = p.stateOf(certificate, open)
	isHeld := cell.State == stateValid || cell.State == stateEnding
	cell.Gap = isPressing || !isHeld && cell.State != stateWaived && (cell.Required || open != nil)
	return cell
}

// stateOf says how a person stands with a course. What was held and has ended is
// ended, also where it is assigned anew.
func (p *page) stateOf(certificate, open *record) string {
	switch {
	case certificate != nil && p.isHeld(certificate):
		if certificate.expires != nil && *certificate.expires <= p.today.AddDays(SoonDays).String() {
			return stateEnding
		}
		return stateValid
	case open != nil && open.status == stateWaived:
		return stateWaived
	case certificate != nil:
		return stateEnded
	case open != nil:
		return stateAssigned
	default:
		return stateMissing
	}
}

// isHeld reports a certificate that holds today.
func (p *page) isHeld(r *record) bool {
	return r.status == "completed" && (r.expires == nil || *r.expires >= p.today.String())
}

func isOpen(r record) bool {
	return r.status == "assigned" || r.status == "in_progress" || r.status == "failed"
}

// isPressing reports an open training that was failed or is past its day: whatever
// certificate is held, the person was to be trained anew and was not (29 CFR
// 1910.178(l)(4)).
func (p *page) isPressing(r record) bool {
	return isOpen(r) && (r.status == "failed" || r.due != nil && *r.due < p.today.String())
}

// findWaiver returns the waiver that counts, nil without one. Whoever was certified
// after a waiver takes the course after all: the waiver excuses nothing any more.
func findWaiver(records []record) *record {
	waiver := newestOf(records, func(r record) bool { return r.status == stateWaived })
	if waiver == nil || slices.ContainsFunc(records, func(r record) bool { return r.isCertifiedAfter(waiver) }) {
		return nil
	}
	return waiver
}

// isCertifiedAfter reports a certificate that is recorded after another training was,
// or dates from after it; ids grow with time.
func (r *record) isCertifiedAfter(waiver *record) bool {
	return isCertificate(*r) && (r.id > waiver.id || r.completed > waiver.created)
}

func isCertificate(r record) bool { return r.status == "completed" || r.status == "expired" }

// longestCertificate returns the training that was completed and holds longest, nil
// without one.
func longestCertificate(records []record) (longest *record) {
	for i := range records {
		r := &records[i]
		if !isCertificate(*r) {
			continue
		}
		if longest == nil || isLonger(r, longest) {
			longest = r
		}
	}
	return longest
}

// isLonger reports that a certificate holds longer than another; one for life that
// is completed holds longest.
func isLonger(r, than *record) bool {
	if r.status != than.status {
		return r.status == "completed"
	}
	if r.expires == nil || than.expires == nil {
		return r.expires == nil
	}
	return *r.expires > *than.expires
}

// newestOf returns the newest training with a property, nil without one.
func newestOf(records []record, has func(record) bool) *record {
	for i := len(records) - 1; i >= 0; i-- {
		if has(records[i]) {
			return &records[i]
		}
	}
	return nil
}
