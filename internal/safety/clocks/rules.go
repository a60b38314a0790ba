package clocks

import "time"

// Rule is a clock that a country's law sets. Its words say what it is in plain English.
// What the text of the law was read for, and what not, is said at the rule.
type Rule struct {
	Code, Country string
	Trigger, Base string // which accidents, from when
	Length        int
	Unit          Unit
	Calendar      Calendar
	Recipients    []string
	MetBy         string // what stops the clock
	Citation      string
	IsOption      bool // a right that runs out, never a breach

	holds  func(*Facts) bool
	starts func(*Facts) time.Time
}

// Codes that other code speaks of.
const (
	OSHADeath     = "US-DEATH"
	OSHATreatment = "US-TREATMENT"

	declaration  = "FR-DAT"
	worsening    = "FR-WORSE"
	reservations = "FR-RES"
)

// How long after it became known OSHA must be told of a death, and of in-patient
// treatment, an amputation or the loss of an eye (29 CFR 1904.39(a)).
const (
	DeathNotice     = 8 * time.Hour
	TreatmentNotice = 24 * time.Hour
)

// The most days and hours after an accident in which a death, and in-patient treatment,
// are told to OSHA (29 CFR 1904.39(b)(6)).
const (
	oshaDeathDays    = 30
	oshaPatientHours = 24
)

// frenchDeathHours are the hours in which a death is told to the inspector of labour.
const frenchDeathHours = 12

var rules = []Rule{
	{Code: OSHADeath, Country: "US", Trigger: "death within 30 days of the accident",
		Base: "when the employer learned of the death", Length: int(DeathNotice / time.Hour), Unit: Hours,
		Recipients: []string{"OSHA"}, MetBy: "osha_told_at of the case", Citation: "29 CFR 1904.39(a)(1), (b)(6)",
		holds: isOSHADeath, starts: func(f *Facts) time.Time { return f.DeathKnown }},
	{Code: OSHATreatment, Country: "US",
		Trigger: "in-patient treatment within 24 hours of the accident, an amputation or the loss of an eye",
		Base:    "when the employer learned of it", Length: int(TreatmentNotice / time.Hour), Unit: Hours,
		Recipients: []string{"OSHA"}, MetBy: "osha_told_at of the case", Citation: "29 CFR 1904.39(a)(2), (b)(6)",
		holds: isOSHATreatment, starts: treatmentKnown},

	{Code: declaration, Country: "FR",
		Trigger: "every accident at work or commuting, unless it is entered in the register of minor accidents",
		Base:    "when the employer learned of it", Length: 48, Unit: Hours, Calendar: FrenchWorked,
		Recipients: []string{"CPAM"}, MetBy: "the declaration sent, by any means with a certain date",
		Citation: "CSS L441-2, R441-1 to R441-3",
		holds:    func(f *Facts) bool { return f.isAccident() && !f.IsMinor },
		starts:   fromKnowledge},
	// The text names no base: this is the strict reading.
	{Code: "FR-BENIN", Country: "FR", Trigger: "accident that is entered in the register of minor accidents",
		Base: "the accident", Length: 48, Unit: Hours, Calendar: FrenchWorked,
		Recipients: []string{"the site's own register"}, MetBy: "the entry in the register",
		Citation: "CSS L441-4, D441-1 to D441-3",
		holds:    func(f *Facts) bool { return f.isAccident() && f.IsMinor }, starts: fromAccident},
	// That Sundays and public holidays do not count here too was not read. Care that is
	// reimbursed without an arrêt is not on record.
	{Code: worsening, Country: "FR",
		Trigger: "accident of the register of minor accidents that leads to days away or death",
		Base:    "the first day away, else when the death became known", Length: 48, Unit: Hours, Calendar: FrenchWorked,
		Recipients: []string{"CPAM"}, MetBy: "the declaration sent, by any means with a certain date",
		Citation: "CSS R441-5",
		holds:    func(f *Facts) bool { return f.isAccident() && f.IsMinor && f.IsUnfit() }, starts: startOfWorsening},
	{Code: "FR-DEATH", Country: "FR", Trigger: "death after an accident at work",
		Base:   "the death, or when the employer learned of it where that was more than 12 hours later",
		Length: frenchDeathHours, Unit: Hours, Recipients: []string{"inspector of labour of the place"},
		MetBy: "the inspector told, by any means with a certain date", Citation: "Code du travail R4121-5",
		holds:  func(f *Facts) bool { return f.isAccident() && f.IsAtWork() && f.HasDied() },
		starts: frenchDeath},
	{Code: reservations, Country: "FR",
		Trigger: "the employer has declared the accident and doubts that it happened at work",
		Base:    "the declaration sent", Length: 10, Unit: ClearDays, Recipients: []string{"CPAM"}, IsOption: true,
		MetBy: "reasoned reservations sent", Citation: "CSS R441-6",
		holds:  func(f *Facts) bool { return f.isAccident() && !f.Declared.IsZero() },
		starts: func(f *Facts) time.Time { return f.Declared }},

	// A last day on a weekend is not moved: whether it is was not read.
	{Code: "DE-ANZ", Country: "DE",
		Trigger: "more than 3 calendar days away (day of the accident left out, weekends count) or death; " +
			"on the way to work too",
		Base:   "when the employer learned of it; not before the fourth day away",
		Length: 3, Unit: Days,
		Recipients: []string{"Berufsgenossenschaft or Unfallkasse", "Arbeitsschutzbehörde", "works council (signs)",
			"Sicherheitsfachkraft", "Betriebsarzt"},
		MetBy: "the Unfallanzeige sent", Citation: "SGB VII § 193(1), (4), (5), (7)",
		holds:  func(f *Facts) bool { return f.isAccident() && f.IsNotifiableInGermany() },
		starts: germanKnown},
	// Mass accidents and especially severe ones are not told apart on record.
	{Code: "DE-SCHWER", Country: "DE", Trigger: "death", Base: "when the employer learned of it", Unit: AtOnce,
		Recipients: []string{"Berufsgenossenschaft or Unfallkasse", "Arbeitsschutzbehörde"},
		MetBy:      "both told, in any form", Citation: "DGUV, Erläuterungen zur Unfallanzeige",
		holds:  func(f *Facts) bool { return f.isAccident() && f.HasDied() },
		starts: func(f *Facts) time.Time { return f.DeathKnown }},
	{Code: "DE-6(2)", Country: "DE", Trigger: "wholly or partly unfit for more than 3 calendar days, or death",
		Base: "the accident", Unit: NoPeriod, MetBy: "the case", Citation: "ArbSchG § 6(2)",
		holds: func(f *Facts) bool { return f.isAccident() && f.IsRecordableInGermany() }, starts: fromAccident},

	// People who are not at work and are taken to hospital, and dangerous occurrences, are
	// not on record.
	{Code: "GB-NOTIFY", Country: "GB", Trigger: "death, or a specified injury", Base: "the accident", Unit: AtOnce,
		Recipients: []string{"HSE or local authority"}, MetBy: "told by the quickest practicable means",
		Citation: "RIDDOR 2013 reg. 4(1), 6(1), sch. 1 para. 1", holds: isBritishSevere, starts: fromAccident},
	{Code: "GB-PROC", Country: "GB", Trigger: "death, or a specified injury", Base: "the accident", Length: 10, Unit: Days,
		Recipients: []string{"HSE or local authority"}, MetBy: "the report received",
		Citation: "RIDDOR 2013 reg. 4(1), 6(1), sch. 1 para. 1", holds: isBritishSevere, starts: fromAccident},
	{Code: "GB-7D", Country: "GB",
		Trigger: "more than 7 consecutive days without the usual work, day of the accident left out",
		Base:    "the accident", Length: 15, Unit: Days,
		Recipients: []string{"HSE or local authority"}, MetBy: "the report received", Citation: "RIDDOR 2013 reg. 4(2)",
		holds: func(f *Facts) bool {
			return f.isAccident() && f.IsUnderRIDDOR() && f.IsOverSevenDays() && !isBritishSevere(f)
		}, starts: fromAccident},
	{Code: "GB-1YR", Country: "GB", Trigger: "death within a year of an injury that had to be reported",
		Base: "when the employer learned of the death", Unit: AtOnce,
		Recipients: []string{"HSE"}, MetBy: "HSE told in writing", Citation: "RIDDOR 2013 reg. 6(2)",
		holds: isBritishLateDeath, starts: func(f *Facts) time.Time { return f.DeathKnown }},
	{Code: "GB-3D", Country: "GB", Trigger: "more than 3 consecutive days without the usual work",
		Base: "the accident", Unit: NoPeriod, MetBy: "the case", Citation: "RIDDOR 2013 reg. 12(1)(c)",
		holds: func(f *Facts) bool { return f.isAccident() && f.IsRecordableInBritain() }, starts: fromAccident},
}

func fromKnowledge(f *Facts) time.Time { return f.Known }
func fromAccident(f *Facts) time.Time  { return f.Occurred }

func isOSHADeath(f *Facts) bool {
	return !f.IsUnsupervised && f.HasDied() && f.Died.Sub(f.Injured) <= oshaDeathDays*24*time.Hour
}

// isOSHATreatment reports what is told within a day. What came before a death stays to be
// told by its own clock; what came with it is told with the death.
func isOSHATreatment(f *Facts) bool {
	if f.IsUnsupervised {
		return false
	}
	if f.IsMaimed && f.wasAlive(f.Occurred) {
		return true
	}
	return f.IsInPatient && f.InPatientAt.Sub(f.Occurred) <= oshaPatientHours*time.Hour &&
		f.wasAlive(laterOf(f.Occurred, f.InPatientAt))
}

// treatmentKnown is when the employer learned of the treatment: not before it began,
// where that alone is to be told.
func treatmentKnown(f *Facts) time.Time {
	if f.IsMaimed {
		return f.Known
	}
	return laterOf(f.Known, f.InPatientAt)
}

func startOfWorsening(f *Facts) time.Time {
	if first := f.NthDayAway(1); !first.IsZero() {
		return laterOf(f.startOf(first), f.Occurred)
	}
	return f.DeathKnown
}

func frenchDeath(f *Facts) time.Time {
	if f.DeathKnown.After(f.DeathAt.Add(frenchDeathHours * time.Hour)) {
		return f.DeathKnown
	}
	return f.DeathAt
}

func germanKnown(f *Facts) time.Time {
	fourth := f.NthDayAway(4)
	if fourth.IsZero() {
		return f.DeathKnown
	}
	return earlierOf(laterOf(f.Known, f.startOf(fourth)), f.DeathKnown)
}

// isBritishSevere reports what is notified and reported within 10 days. A death after an
// injury that had to be reported anyway is the matter of [isBritishLateDeath].
func isBritishSevere(f *Facts) bool {
	if !f.isAccident() || !f.IsUnderRIDDOR() {
		return false
	}
	return f.IsSpecified || f.HasDiedInAYear() && !isBritishLateDeath(f)
}

func isBritishLateDeath(f *Facts) bool {
	return f.isAccident() && f.IsUnderRIDDOR() && (f.IsSpecified || f.IsOverSevenDays()) && f.HasDiedInAYear() &&
		f.Died.After(f.Injured)
}
