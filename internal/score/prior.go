package score

import (
	"math"

	"gonum.org/v1/gonum/mathext"
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

func (p Prior) check() error {
	const tiny = 1e-12
	return firstError(
		inRange("alpha", p.Alpha, tiny, maxCount),
		inRange("beta", p.Beta, tiny, maxHours),
		inRange("mean", p.Mean, tiny, maxCount),
	)
}

// WithPeers returns the prior of a group whose decayed history is g: its mean
// becomes (alpha + Y)/(beta + E) at the same strength Beta. On the French
// sectors this gained nothing, so it is off unless a tenant asks.
func (p Prior) WithPeers(g Exposure) Prior {
	p.Mean = (p.Alpha + g.Events) / (p.Beta + g.Units)
	p.Alpha = p.Mean * p.Beta
	return p
}

// FitPrior learns the prior from the histories of all peers by maximum
// likelihood, starting from Marshall's moments. With fewer than 10 entities
// that have exposure, or fewer than 5 events, it returns ShippedPrior, which
// says so in Source. NaN or negative histories are fault.Invalid.
func FitPrior(xs []Exposure) (Prior, error) {
	if err := checkExposures(xs); err != nil {
		return Prior{}, err
	}
	entities, events := 0, 0
	for i := range xs {
		if xs[i].Units > 0 {
			entities++
			events += xs[i].Count
		}
	}
	p := ShippedPrior()
	if alpha, _ := Marshall(xs); alpha > 0 && entities >= MinEntities && events >= MinEvents {
		p = fitGamma(xs)
	}
	p.Entities, p.Events = entities, events
	return p, nil
}

// Marshall returns the moment estimates of shape and rate (Marshall 1991, Appl
// Stat 40:283-294); histories without exposure are left out. Without any event
// or exposure both are 0.
func Marshall(xs []Exposure) (alpha, beta float64) {
	var y, e, n, s2 float64
	for i := range xs {
		if xs[i].Units > 0 {
			y, e, n = y+xs[i].Events, e+xs[i].Units, n+1
		}
	}
	if y == 0 || n == 0 {
		return 0, 0
	}
	m := y / e
	for i := range xs {
		if x := &xs[i]; x.Units > 0 {
			d := x.Events/x.Units - m
			s2 += x.Units * d * d
		}
	}
	a := math.Max(s2/e-m/(e/n), 1e-6)
	return m * m / a, m / a
}

// fitGamma maximises the negative binomial likelihood by Newton steps on
// (log alpha, log m), halved until they climb. It needs at least one event.
func fitGamma(xs []Exposure) Prior {
	alpha, beta := Marshall(xs)
	shape := math.Max(minShape, math.Min(maxShape, alpha))
	at := nbPoint(xs, math.Log(shape), math.Log(alpha/beta))
	for range 100 {
		next, moved := at.climb(xs)
		done := math.Abs(next.a-at.a)+math.Abs(next.b-at.b) < 1e-10
		at = next
		if !moved || done {
			break
		}
	}
	alpha, m := math.Exp(at.a), math.Exp(at.b)
	return Prior{Alpha: alpha, Beta: alpha / m, Mean: m, Source: SourceTenant}
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
func nbPoint(xs []Exposure, a, b float64) nb {
	p := nb{a: a, b: b}
	alpha, m := math.Exp(a), math.Exp(b)
	lg0, psi0, tri0 := lgamma(alpha), mathext.Digamma(alpha), trigamma(alpha)
	var d1, d2 float64 // derivatives in alpha itself
	for i := range xs {
		y, mu := xs[i].Events, m*xs[i].Units
		if mu == 0 {
			continue
		}
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

// climb takes one damped Newton step, or a gradient step where the surface is
// not concave; moved is false where no step climbs.
func (p nb) climb(xs []Exposure) (next nb, moved bool) {
	det := p.haa*p.hbb - p.hab*p.hab
	da, db := (p.gb*p.hab-p.ga*p.hbb)/det, (p.ga*p.hab-p.gb*p.haa)/det
	if !(p.haa < 0 && det > 0) {
		da, db = math.Copysign(0.5, p.ga), -p.gb/p.hbb
	}
	da, db = math.Max(-2, math.Min(2, da)), math.Max(-2, math.Min(2, db))
	for range 30 {
		a := math.Max(math.Log(minShape), math.Min(math.Log(maxShape), p.a+da))
		if q := nbPoint(xs, a, p.b+db); q.ll >= p.ll {
			return q, true
		}
		da, db = da/2, db/2
	}
	return p, false
}

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

// trigamma is the Hurwitz zeta function at 2.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }
