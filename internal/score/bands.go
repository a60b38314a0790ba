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

// Cluster is a band that holds at least one entity; Members index the scores
// given to Assign, in their order.
type Cluster struct {
	Band
	Members []int `json:"-"`
}

// Range selects scores, both ends included.
type Range struct{ Min, Max float64 }

// Assign sorts the scores within r into bands and returns those not empty,
// worst first. The scores are the published ones (1 decimal), so 75.0 on the
// screen is Critical. A score or range outside 0..100 or Min above Max is
// fault.Invalid.
func Assign(scores []float64, c Cuts, r Range) ([]Cluster, error) {
	bands, err := c.Bands()
	if err := firstError(err, r.checkRange()); err != nil {
		return nil, err
	}
	var members [4][]int
	for i, s := range scores {
		if err := inRange("score", s, 0, 100); err != nil {
			return nil, err
		}
		if s < r.Min || s > r.Max {
			continue
		}
		b := 0
		for s < bands[b].Low {
			b++
		}
		members[b] = append(members[b], i)
	}
	var out []Cluster
	for b := range bands {
		if len(members[b]) > 0 {
			out = append(out, Cluster{bands[b], members[b]})
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
