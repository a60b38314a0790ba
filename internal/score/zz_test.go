package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestZZ(t *testing.T) {
	for _, shape := range []float64{0, 4} {
		for seed := uint64(1); seed < 6; seed++ {
			src := rand.NewPCG(seed, 2)
			rng := rand.New(src)
			b, _ := DefaultBounds(Zone)
			p, _ := NewPanel(600, 26, time.Date(2023, 1, 2, 0, 0, 0, 0, time.UTC), b)
			for e := range 600 {
				own := 1.0
				if shape > 0 {
					own = distuv.Gamma{Alpha: shape, Beta: shape, Src: src}.Rand()
				}
				mood := 0.2 + 2*rng.Float64()
				for k := range 26 {
					c := p.At(e, k)
					c.Hours = float32(300 + 1500*rng.Float64())
					c.NearMisses = float32(distuv.Poisson{Lambda: mood * float64(c.Hours) / 1000, Src: src}.Rand())
					x := make([]float64, features)
					if k > 0 {
						p.features(e, k, false, x)
					}
					c.Events = float32(distuv.Poisson{Lambda: own * 20 * math.Exp(x[0]) * float64(c.Hours) / HoursUnit, Src: src}.Rand())
				}
			}
			r, err := FitRegression(p)
			if err != nil {
				t.Fatal(err)
			}
			raw := fitRaw(p, r)
			fmt.Println(shape, seed, r.Coef[0]/r.Scaler.SD[0], r.Lambda, r.Events, r.Theta.Alpha, raw.Alpha, raw.Mean)
		}
	}
}

func fitRaw(p *Panel, r *Regression) Prior {
	xs := make([]Exposure, p.Entities)
	var x [features]float64
	for t := max(1, p.Periods-13); t < p.Periods; t++ {
		for e := range xs {
			c := p.At(e, t)
			p.features(e, t, r.Season, x[:])
			r.Scaler.Apply(x[:])
			xs[e].Events += float64(c.Events)
			xs[e].Units += Fit{Intercept: r.Intercept, Coef: r.Coef}.Mean(x[:], math.Log(float64(c.Hours)/HoursUnit))
		}
	}
	return fitGamma(xs)
}

func TestZZDecay(t *testing.T) {
	for _, rate := range []float64{4, 20, 80} {
		for _, shape := range []float64{1, 4} {
			var dl, dr, al, ar float64
			const N = 8
			for seed := uint64(0); seed < N; seed++ {
				src := rand.NewPCG(seed, 9)
				n := 400
				dec, raw := make([]Exposure, n), make([]Exposure, n)
				lam := make([]float64, n)
				for e := range n {
					lam[e] = distuv.Gamma{Alpha: shape, Beta: shape / rate, Src: src}.Rand()
					for k := range 13 {
						y := distuv.Poisson{Lambda: lam[e] * 1500 / HoursUnit, Src: src}.Rand()
						w := Decay((float64(k)+.5)*28, 180)
						dec[e].AddEvents(int(y), w)
						dec[e].AddHours(1500, w)
						raw[e].AddEvents(int(y), 1)
						raw[e].AddHours(1500, 1)
					}
				}
				a := fitGamma(dec)
				b := fitGamma(raw)
				c := a
				c.Alpha = b.Alpha
				c.Beta = b.Alpha / a.Mean
				loss := func(q Prior) (d float64) {
					for e := range n {
						m := q.Posterior(dec[e]).Rate()
						d += (m/lam[e] - 1 - math.Log(m/lam[e])) * lam[e] // excess Poisson deviance per unit /2
					}
					return d / float64(n)
				}
				dl, dr, al, ar = dl+loss(a)/N, dr+loss(c)/N, al+1/a.Alpha/N, ar+1/b.Alpha/N
			}
			fmt.Printf("rate %g shape %g: decayed-fit loss %.4f (alpha %.2f) raw-fit loss %.4f (alpha %.2f)\n", rate, shape, dl, 1/al, dr, 1/ar)
		}
	}
}
