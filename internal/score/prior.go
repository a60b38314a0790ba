package score

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"holdfast/internal/fault"
)

// Least data from which a tenant's own prior is learned.
const (
	MinEntities = 10
	MinEvents   = 5
)

// Where a prior came from.
const (
	SourceTenant  = "tenant"
	SourceShipped = "shipped: French work accidents 2020 (Assurance Maladie, Licence Ouverte)"
)

// Shape is kept within these: below, the rate of all but a few entities would
// be zero; above, peers differ by less than 1 % and the data cannot say more.
const (
	minShape = 1e-3
	maxShape = 1e4
)

// Prior is the Gamma distribution of true rates among peers, per unit of
// exposure (200,000 hours): shape Alpha, rate Beta, and Mean, the rate that
// scores 50. Entities and Events say what it was learned from.
type Prior struct {
	Alpha    float64 `json:"alpha"`
	Beta     float64 `json:"beta"`
	Mean     float64 `json:"mean"`
	Source   string  `json:"prior_source"`
	Entities int     `json:"entities"`
	Events   int     `json:"events"`
}

// ShippedPrior is used where a tenant has too little data: shape 1.1, rate
// 0.34, mean 3.3 per 200,000 hours, fitted to 2,339 French sector cells of
// 10,000 to 1,000,000 hours in 2020.
func ShippedPrior() Prior {
	return Prior{Alpha: 1.1, Beta: 0.34, Mean: 3.3, Source: SourceShipped}
}

func (p Prior) checkPrior() error {
	const tiny = 1e-12
	return firstError(
		inRange("alpha", p.Alpha, tiny, maxCount),
		inRange("beta", p.Beta, tiny, maxHours),
		inRange("mean", p.Mean, tiny, maxCount),
	)
}

// FitPrior learns the prior from the histories of all peers by maximum
// likelihood, starting from Marshall's moments. With fewer than 10 entities
// that have exposure, or fewer than 5 events, it returns ShippedPrior, which
// says so in Source. NaN or negative histories are fault.Invalid; histories whose
// likelihood has no maximum among usable priors are fault.Unprocessable.
//
// The shape is learned from the counts without decay, the mean from the decayed
// ones: a sum of decayed weights varies less than a Poisson count of the same
// mean, which would pass for peers being alike and shrink real differences away.
func FitPrior(xs []Exposure) (Prior, error) {
	if err := checkExposures(xs); err != nil {
		return Prior{}, err
	}
	entities, events := 0, 0
	for i := range xs {
		if xs[i].RawUnits > 0 {
			entities++
			events += xs[i].Count
		}
	}
	p := ShippedPrior()
	if entities >= MinEntities && events >= MinEvents {
		if p = fitGamma(xs); p.checkPrior() != nil {
			return Prior{}, fault.New(fault.Unprocessable, "prior_not_fitted",
				"no prior can be learned from %d events of %d entities: events and hours do not belong together", events, entities)
		}
	}
	p.Entities, p.Events = entities, events
	return p, nil
}

// count is y events over e units of exposure, e > 0.
type count struct{ y, e float64 }

func rawCounts(xs []Exposure) []count {
	out := make([]count, 0, len(xs))
	for i := range xs {
		if xs[i].RawUnits > 0 {
			out = append(out, count{float64(xs[i].Count), xs[i].RawUnits})
		}
	}
	return out
}

func decayedCounts(xs []Exposure) []count {
	out := make([]count, 0, len(xs))
	for i := range xs {
		if xs[i].Units > 0 {
			out = append(out, count{xs[i].Events, xs[i].Units})
		}
	}
	return out
}

func sumCounts(cs []count) (y, e float64) {
	for _, c := range cs {
		y, e = y+c.y, e+c.e
	}
	return y, e
}

// marshallMoments returns the moment estimates of shape and rate (Marshall 1991, Appl
// Stat 40:283-294); without any event or exposure both are 0.
func marshallMoments(cs []count) (alpha, beta float64) {
	y, e := sumCounts(cs)
	if y == 0 {
		return 0, 0
	}
	m, s2 := y/e, 0.0
	for _, c := range cs {
		d := c.y/c.e - m
		s2 += c.e * d * d
	}
	a := math.Max(s2/e-m/(e/float64(len(cs))), 1e-6)
	return m * m / a, m / a
}

// fitGamma maximises the negative binomial likelihood: shape and mean by Newton
// steps on (log alpha, log m) over the raw counts, then the mean alone over the
// decayed ones. It needs at least one event under exposure.
func fitGamma(xs []Exposure) Prior {
	raw := rawCounts(xs)
	alpha, beta := marshallMoments(raw)
	shape := math.Max(minShape, math.Min(maxShape, alpha))
	at := nbPoint(raw, math.Log(shape), math.Log(alpha/beta)).climbToTop(raw, nb.jointStep)
	if recent := decayedCounts(xs); hasEvents(recent) {
		at = nbPoint(recent, at.a, at.b).climbToTop(recent, nb.meanOnly)
	}
	alpha, m := math.Exp(at.a), math.Exp(at.b)
	return Prior{Alpha: alpha, Beta: alpha / m, Mean: m, Source: SourceTenant}
}

func hasEvents(cs []count) bool {
	y, _ := sumCounts(cs)
	return y > 0
}

// nb is the log likelihood at a = log alpha, b = log m with its gradient and
// Hessian in (a, b).
type nb struct {
	a, b, ll      float64
	ga, gb        float64
	haa, hab, hbb float64
}

// nbPoint sums the likelihood of NB2 with mean mu = m*E and shape alpha; terms
// free of the parameters are left out.
func nbPoint(cs []count, a, b float64) nb {
	p := nb{a: a, b: b}
	alpha, m := math.Exp(a), math.Exp(b)
	lg0, psi0, tri0 := lgamma(alpha), mathext.Digamma(alpha), trigamma(alpha)
	var d1, d2 float64 // derivatives in alpha itself
	for _, c := range cs {
		y, mu := c.y, m*c.e
		s := alpha + mu
		shrink := -math.Log1p(mu / alpha)
		p.ll += alpha * shrink
		d1 += shrink + (mu-y)/s
		d2 += mu/(alpha*s) - (mu-y)/(s*s)
		if y > 0 {
			p.ll += lgamma(alpha+y) - lg0 + y*math.Log(mu/s)
			d1 += mathext.Digamma(alpha+y) - psi0
			d2 += trigamma(alpha+y) - tri0
		}
		p.gb += alpha * (y - mu) / s
		p.hbb -= alpha * mu * (alpha + y) / (s * s)
		p.hab += alpha * (y - mu) * mu / (s * s)
	}
	p.ga = alpha * d1
	p.haa = alpha*alpha*d2 + p.ga
	return p
}

// jointStep is the Newton step in both parameters, or one along the gradient where
// the surface is not concave.
func (p nb) jointStep() (da, db float64) {
	det := p.haa*p.hbb - p.hab*p.hab
	if p.haa < 0 && det > 0 {
		return (p.gb*p.hab - p.ga*p.hbb) / det, (p.ga*p.hab - p.gb*p.haa) / det
	}
	return math.Copysign(0.5, p.ga), -p.gb / p.hbb
}

// meanOnly is the Newton step in log m at a fixed shape.
func (p nb) meanOnly() (da, db float64) { return 0, -p.gb / p.hbb }

// climbToTop climbs from p by damped steps until it stands still.
func (p nb) climbToTop(cs []count, step func(nb) (da, db float64)) nb {
	for range 100 {
		da, db := step(p)
		next, moved := p.climbStep(cs, da, db)
		done := !moved || math.Abs(next.a-p.a)+math.Abs(next.b-p.b) < 1e-10
		if p = next; done {
			break
		}
	}
	return p
}

// climbStep takes the step, halved until it does not descend; moved is false where
// no fraction of it climbs.
func (p nb) climbStep(cs []count, da, db float64) (next nb, moved bool) {
	da, db = math.Max(-2, math.Min(2, da)), math.Max(-2, math.Min(2, db))
	for range 30 {
		a := math.Max(math.Log(minShape), math.Min(math.Log(maxShape), p.a+da))
		if q := nbPoint(cs, a, p.b+db); q.ll >= p.ll {
			return q, true
		}
		da, db = da/2, db/2
	}
	return p, false
}

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

// trigamma is the Hurwitz zeta function at 2.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }
