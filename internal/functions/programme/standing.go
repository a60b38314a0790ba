package programme

import (
	"holdfast/internal/query"
	"holdfast/internal/safety"
)

// ComplianceSummary counts regulations by their worst verdict: the counts add up to
// total_regulations, and only compliant_count says that a duty is kept.
type ComplianceSummary struct {
	Regulations int    `json:"total_regulations" doc:"Regulations in force that were looked at."`
	Compliant   int    `json:"compliant_count" doc:"Those kept by everybody."`
	Waived      int    `json:"waived_count" doc:"Those kept by everybody but the waived."`
	Unknown     int    `json:"insufficient_count" doc:"Those without a verdict on somebody, or on anybody: nothing is on record."`
	Warning     int    `json:"warning_count" doc:"Those that somebody is near to breaking."`
	Breach      int    `json:"breach_count" doc:"Those that somebody breaks."`
	LastCheck   string `json:"last_check" format:"date-time" doc:"When this was looked at."`
}

// StandingVerdicts says how many warnings and breaches stand from earlier checks,
// and where all that are in force are listed.
type StandingVerdicts struct {
	Count int    `json:"count" doc:"Warnings and breaches that were there before and have not changed."`
	URL   string `json:"url" doc:"The warnings and breaches in force, at this server, with value and evidence."`
}

func (s *scan) standingVerdicts() StandingVerdicts {
	url := "/v1/compliance_states?status=in.(warning,breach)"
	if s.in.EntityType != "" {
		url += "&entity_type=eq." + s.in.EntityType
	}
	if s.in.EntityID != "" {
		url += "&entity_id=eq." + s.in.EntityID
	}
	return StandingVerdicts{Count: s.stand, URL: url + "&order=last_evaluated_at.desc"}
}

func (s *scan) summaryOf() ComplianceSummary {
	sum := ComplianceSummary{LastCheck: query.FormatTime(s.now)}
	for _, r := range s.regs {
		if s.in.EntityID != "" && !r.judged {
			continue // it is not about this one
		}
		sum.Regulations++
		if !r.judged {
			r.worst = safety.StandsUnknown // there was nobody to judge
		}
		*sum.countOf(r.worst)++
	}
	return sum
}

func (c *ComplianceSummary) countOf(s safety.Standing) *int {
	return [...]*int{&c.Compliant, &c.Waived, &c.Unknown, &c.Warning, &c.Breach}[s]
}
