package score

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Sample is the data of a Poisson regression, N rows of P features. Row writes
// the features of row i into x and returns the count and the log of the
// exposure (the offset). It is called many times and must answer the same.
type Sample struct {
	N, P int
	Row  func(i int, x []float64) (y, logExposure float64)
}

// Fit is a penalised Poisson regression: ln mean = Intercept + Coef.x + offset.
// Deviance leaves the penalty out.
type Fit struct {
	Intercept float64
	Coef      []float64
	Lambda    float64
	Deviance  float64
}

// Mean returns the mean count at features x and the given offset.
func (f Fit) Mean(x []float64, logExposure float64) float64 {
	return math.Exp(f.linearPredictor(x) + logExposure)
}

func (f Fit) linearPredictor(x []float64) float64 {
	eta := f.Intercept
	for j, b := range f.Coef {
		eta += b * x[j]
	}
	return eta
}

// FitPoisson fits by iteratively reweighted least squares (McCullagh & Nelder
// 1989) with the ridge penalty lambda/2 x |coef|^2 on the log likelihood; the
// intercept is free (Hoerl & Kennard 1970). Memory is O(P^2). No event at all,
// or features that determine each other at lambda 0, is fault.Unprocessable.
func FitPoisson(s Sample, lambda float64) (Fit, error) {
	if err := inRange("lambda", lambda, 0, maxCount); err != nil {
		return Fit{}, err
	}
	var y, e float64
	x := make([]float64, s.P)
	for i := range s.N {
		n, logE := s.Row(i, x)
		y, e = y+n, e+math.Exp(logE)
	}
	if !(y > 0 && e > 0) {
		return Fit{}, tooThin("a regression needs at least one event and some exposure")
	}
	return s.fitFrom(Fit{Intercept: math.Log(y / e), Coef: make([]float64, s.P), Lambda: lambda})
}

// fitFrom improves start until the penalised deviance stands still. A step that
// makes it worse is halved.
func (s Sample) fitFrom(start Fit) (Fit, error) {
	w := newNormal(s.P)
	objective := w.sumNormal(s, start)
	for range 100 {
		step, err := w.solveStep()
		if err != nil {
			return Fit{}, err
		}
		next, better := w.takeStep(s, start, step, objective)
		if math.IsInf(better, 1) {
			return Fit{}, tooThin("the regression does not converge")
		}
		done := objective-better < 1e-11*(math.Abs(better)+0.1)
		start, objective = next, better
		if done {
			break
		}
	}
	start.Deviance = objective - start.ridgePenalty()
	return start, nil
}

func (f Fit) ridgePenalty() float64 {
	var p float64
	for _, b := range f.Coef {
		p += b * b
	}
	return f.Lambda * p
}

// normal holds the weighted normal equations at one set of coefficients:
// index 0 is the intercept.
type normal struct {
	x, row, grad []float64
	hess         *mat.SymDense
}

func newNormal(p int) *normal {
	w := &normal{row: make([]float64, p+1), grad: make([]float64, p+1), hess: mat.NewSymDense(p+1, nil)}
	w.row[0], w.x = 1, w.row[1:]
	return w
}

// sumNormal fills the gradient and Hessian of half the penalised deviance at f and
// returns that deviance.
func (w *normal) sumNormal(s Sample, f Fit) float64 {
	clear(w.grad)
	w.hess.Zero()
	h, p := w.hess.RawSymmetric(), s.P+1
	var dev float64
	for i := range s.N {
		y, logE := s.Row(i, w.x)
		mu := f.Mean(w.x, logE)
		dev += unitDeviance(y, mu)
		for j := range p {
			w.grad[j] += (y - mu) * w.row[j]
			mx := mu * w.row[j]
			for k := j; k < p; k++ {
				h.Data[j*h.Stride+k] += mx * w.row[k]
			}
		}
	}
	for j, b := range f.Coef {
		w.grad[j+1] -= f.Lambda * b
		h.Data[(j+1)*h.Stride+j+1] += f.Lambda
	}
	return dev + f.ridgePenalty()
}

func (w *normal) solveStep() ([]float64, error) {
	var chol mat.Cholesky
	if !chol.Factorize(w.hess) {
		return nil, tooThin("the features of the regression determine each other")
	}
	var step mat.VecDense
	if err := chol.SolveVecTo(&step, mat.NewVecDense(len(w.grad), w.grad)); err != nil {
		return nil, tooThin("the features of the regression nearly determine each other")
	}
	return step.RawVector().Data, nil
}

// takeStep returns the fit a step away and its penalised deviance, +Inf when no
// fraction of the step helps.
func (w *normal) takeStep(s Sample, f Fit, step []float64, objective float64) (Fit, float64) {
	slack := 1e-12 * (math.Abs(objective) + 1)
	for scale := 1.0; scale > 1e-8; scale /= 2 {
		next := f
		next.Intercept += scale * step[0]
		next.Coef = make([]float64, len(f.Coef))
		for j := range next.Coef {
			next.Coef[j] = f.Coef[j] + scale*step[j+1]
		}
		if v := w.sumNormal(s, next); v <= objective+slack {
			return next, v
		}
	}
	return f, math.Inf(1)
}

// Scaler holds the means and standard deviations that standardise features; a
// feature that never varies has SD 1 and so becomes 0.
type Scaler struct {
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
	Flat int       `json:"-"` // features that never vary
}

// NewScaler measures the features of a sample over its rows.
func NewScaler(s Sample) Scaler {
	c := Scaler{Mean: make([]float64, s.P), SD: make([]float64, s.P)}
	x := make([]float64, s.P)
	for i := range s.N {
		s.Row(i, x)
		for j, v := range x { // Welford, steady for large means
			d := v - c.Mean[j]
			c.Mean[j] += d / float64(i+1)
			c.SD[j] += d * (v - c.Mean[j])
		}
	}
	for j := range c.SD {
		c.SD[j] = math.Sqrt(c.SD[j] / math.Max(1, float64(s.N)))
		if c.SD[j] < 1e-9*(1+math.Abs(c.Mean[j])) {
			c.SD[j] = 1
			c.Flat++
		}
	}
	return c
}

// Apply standardises x in place.
func (c Scaler) Apply(x []float64) {
	for j := range x {
		x[j] = (x[j] - c.Mean[j]) / c.SD[j]
	}
}

// Sample returns s with its features standardised.
func (c Scaler) Sample(s Sample) Sample {
	row := s.Row
	s.Row = func(i int, x []float64) (float64, float64) {
		y, logE := row(i, x)
		c.Apply(x)
		return y, logE
	}
	return s
}
