package score

// Band is a class of risk over the half-open range [Low, High) of scores; the
// top band also holds 100.
type Band struct {
	Name     string  `json:"cluster_name"`
	Severity int     `json:"severity"` // 4 = worst
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Cuts are the lower edges of the three upper bands: 0 < Medium < High <
// Critical < 100.
type Cuts struct {
	Medium   float64 `json:"medium"`
	High     float64 `json:"high"`
	Critical float64 `json:"critical"`
}

// DefaultCuts are 25, 50, 75. Under the Bayes scores 50 is the peer mean and 75
// twice it.
func DefaultCuts() Cuts { return Cuts{25, 50, 75} }

func (c Cuts) checkCuts() error {
	if err := firstError(
		inRange("medium", c.Medium, 0, 100),
		inRange("high", c.High, 0, 100),
		inRange("critical", c.Critical, 0, 100),
	); err != nil {
		return err
	}
	if !(0 < c.Medium && c.Medium < c.High && c.High < c.Critical && c.Critical < 100) {
		return refuseInput("cuts", "must rise: 0 < medium < high < critical < 100")
	}
	return nil
}

// Bands returns the four bands, worst first, or fault.Invalid for cut points
// that do not rise.
func (c Cuts) Bands() ([4]Band, error) {
	if err := c.checkCuts(); err != nil {
		return [4]Band{}, err
	}
	return [4]Band{
		{"Critical", 4, c.Critical, 100},
		{"High", 3, c.High, c.Critical},
		{"Medium", 2, c.Medium, c.High},
		{"Low", 1, 0, c.Medium},
	}, nil
}

// Unclear is the band of what cannot be told: its score rests on too little.
var Unclear = Band{"Unclear", 0, 0, 100}

// LeastConfidence is what a score beside the mean of peers must rest on: a quarter of
// its rate is the entity's own record, the rest is that of its peers.
const LeastConfidence = 0.25

// peerMean is the score of an entity that is like its peers, under the models that
// compare them.
const peerMean = 50

// Standing is what the band of an entity goes by.
type Standing struct {
	Score, Confidence float64
	IsRelative        bool // the model compares peers, so that 50 is their mean
	HasCritical       bool // a critical incident in the period
}

// IsUnclear reports a score beside peers that rests on too little to tell its band; a
// critical incident tells it.
func (s Standing) IsUnclear() bool {
	return s.IsRelative && !s.HasCritical && s.Confidence < LeastConfidence
}

// findBand finds the band of a standing among the four, by their cuts. A critical
// incident is at least High, whatever the score. Beside peers, High begins above their
// mean, and a score that rests on too little is in none (4).
func (s Standing) findBand(bands *[4]Band) int {
	b := 0
	for s.Score < bands[b].Low {
		b++
	}
	switch {
	case s.HasCritical:
		return min(b, 1)
	case s.IsUnclear():
		return 4
	case s.IsRelative && s.Score <= peerMean:
		return max(b, 2)
	}
	return b
}

// BandOf returns the band of a standing.
func (c Cuts) BandOf(s Standing) (Band, error) {
	bands, err := c.Bands()
	if err := firstError(err, inRange("score", s.Score, 0, 100)); err != nil {
		return Band{}, err
	}
	if b := s.findBand(&bands); b < len(bands) {
		return bands[b], nil
	}
	return Unclear, nil
}

// Cluster is a band that holds at least one entity; Members index what was
// given to Assign, in their order.
type Cluster struct {
	Band
	Members []int `json:"-"`
}

// Range selects scores, both ends included.
type Range struct{ Min, Max float64 }

// Assign sorts those whose scores are within r into bands and returns those not empty,
// worst first, what cannot be told last. The scores are the published ones (1 decimal), so 75.0 on the
// screen is Critical. A score or range outside 0..100 or Min above Max is
// fault.Invalid.
func Assign(list []Standing, c Cuts, r Range) ([]Cluster, error) {
	bands, err := c.Bands()
	if err := firstError(err, r.checkRange()); err != nil {
		return nil, err
	}
	var members [5][]int
	for i, s := range list {
		if err := inRange("score", s.Score, 0, 100); err != nil {
			return nil, err
		}
		if s.Score < r.Min || s.Score > r.Max {
			continue
		}
		b := s.findBand(&bands)
		members[b] = append(members[b], i)
	}
	var out []Cluster
	for b, band := range append(bands[:], Unclear) {
		if len(members[b]) > 0 {
			out = append(out, Cluster{band, members[b]})
		}
	}
	return out, nil
}

func (r Range) checkRange() error {
	err := firstError(
		inRange("min_score", r.Min, 0, 100),
		inRange("max_score", r.Max, 0, 100),
	)
	if err == nil && r.Min > r.Max {
		err = refuseInput("min_score", "must not be above max_score")
	}
	return err
}
