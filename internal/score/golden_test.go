package score_test

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"holdfast/internal/score"
)

// near fails unless got is within the 1e-3 to which the numbers are published.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-3) {
		t.Errorf("%s = %.5f, want %.4f", what, got, want)
	}
}

type sector struct{ hours, accidents float64 }

type sectorKey struct{ committee, activity string }

// french reads one year of French work accidents by sector (testdata/README.md).
func french(t testing.TB, path string) map[sectorKey]sector {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := func(name string) int { return slices.Index(lines[0], name) }
	number := func(s string) float64 {
		v, _ := strconv.ParseFloat(s, 64) // an empty cell is 0
		return v
	}
	out := map[sectorKey]sector{}
	for _, l := range lines[1:] {
		out[sectorKey{l[col("CTN")], l[col("NAF")]}] = sector{number(l[col("nbHeuresTrav")]), number(l[col("AT1erReg")])}
	}
	return out
}

// study is the French backtest: learn from 2020, forecast 2021.
type study struct {
	past   []score.Exposure
	branch []string  // first two digits of the activity
	next   []float64 // exposure of 2021
	events []float64 // accidents of 2021
}

func frenchStudy(t testing.TB, low, high float64) study {
	then, now := french(t, "testdata/ameli_at_2020.csv"), french(t, "testdata/ameli_at_2021.csv")
	keys := make([]sectorKey, 0, len(then))
	for k, s := range then {
		if s.hours >= low && s.hours <= high && now[k].hours > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b sectorKey) int {
		return slices.Compare([]string{a.committee, a.activity}, []string{b.committee, b.activity})
	})
	var s study
	for _, k := range keys {
		var x score.Exposure
		x.AddEvents(int(then[k].accidents), 1)
		x.AddHours(then[k].hours, 1)
		s.past = append(s.past, x)
		s.branch = append(s.branch, k.activity[:2])
		s.next = append(s.next, now[k].hours/score.HoursUnit)
		s.events = append(s.events, now[k].accidents)
	}
	return s
}

// measure forecasts with a rate per unit of exposure.
func (s study) measure(t *testing.T, rate func(x score.Exposure) float64) score.Metrics {
	t.Helper()
	fs := make([]score.Forecast, len(s.past))
	for i, x := range s.past {
		mean := rate(x) * s.next[i]
		fs[i] = score.Forecast{Mean: math.Max(mean, 1e-6*s.next[i]), Probability: -math.Expm1(-mean)}
	}
	return s.metrics(t, fs)
}

func (s study) bayes(t *testing.T, p score.Prior) score.Metrics {
	t.Helper()
	return s.bayesOf(t, func(int) score.Prior { return p })
}

// bayesOf forecasts with a prior of each sector's own.
func (s study) bayesOf(t *testing.T, prior func(i int) score.Prior) score.Metrics {
	t.Helper()
	fs := make([]score.Forecast, len(s.past))
	for i, x := range s.past {
		q := prior(i).Posterior(x)
		fs[i] = score.Forecast{Mean: q.Rate() * s.next[i], Probability: q.Probability(s.next[i])}
	}
	return s.metrics(t, fs)
}

func (s study) metrics(t *testing.T, fs []score.Forecast) score.Metrics {
	t.Helper()
	m, err := score.Measure(fs, s.events)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (s study) pooled() float64 {
	var y, e float64
	for _, x := range s.past {
		y, e = y+x.Events, e+x.Units
	}
	return y / e
}

// worstFifth is the AUC of finding the fifth of sectors with the highest rate
// of the year after.
func (s study) worstFifth(rate func(x score.Exposure) float64) float64 {
	next := make([]float64, len(s.past))
	for i := range next {
		next[i] = s.events[i] / s.next[i]
	}
	sorted := slices.Sorted(slices.Values(next))
	cut := sorted[len(sorted)-1-len(sorted)/5]
	rates, worst := make([]float64, len(next)), make([]bool, len(next))
	for i, x := range s.past {
		rates[i], worst[i] = rate(x), next[i] > cut
	}
	auc, _ := score.AUC(rates, worst)
	return auc
}

func ownRate(x score.Exposure) float64 { return x.Events / x.Units }

// The published table of the empirical Bayes model on 2,339 French sector
// cells: fitted on 2020, tested on 2021.
func TestFrenchSectors(t *testing.T) {
	s := frenchStudy(t, 10_000, 1_000_000)
	prior, err := score.FitPrior(s.past)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.past) != 2339 || prior.Events != 7706 || prior.Source != score.SourceTenant {
		t.Fatalf("%d cells, %d accidents, %s; want 2,339, 7,706, tenant", len(s.past), prior.Events, prior.Source)
	}
	near(t, "alpha", prior.Alpha, 1.114)
	near(t, "beta", prior.Beta, 0.338)
	near(t, "mean", prior.Mean, 3.296)
	alpha, beta := score.Marshall(s.past)
	near(t, "Marshall alpha", alpha, 1.157)
	near(t, "Marshall beta", beta, 0.369)

	pooled := s.pooled()
	pseudo := func(x score.Exposure) float64 { return (x.Events + pooled*0.5) / (x.Units + 0.5) }
	eb := s.bayes(t, prior)
	if eb.Observed != 9221 {
		t.Errorf("accidents of 2021 = %g, want 9,221", eb.Observed)
	}
	for _, c := range []struct {
		name                          string
		got                           score.Metrics
		deviance, brier, logLoss, auc float64
		calibration                   float64
	}{
		{"pooled", s.measure(t, func(score.Exposure) float64 { return pooled }), 3.873, 0.174, 0.646, 0.811, 0.939},
		{"raw own rate", s.measure(t, ownRate), 8.607, 0.209, 3.146, 0.822, 0.937},
		{"empirical Bayes", eb, 1.789, 0.146, 0.437, 0.861, 0.939},
	} {
		near(t, c.name+" deviance", c.got.Deviance, c.deviance)
		near(t, c.name+" Brier", c.got.Brier, c.brier)
		near(t, c.name+" log loss", c.got.LogLoss, c.logLoss)
		near(t, c.name+" AUC", *c.got.AUC, c.auc)
		near(t, c.name+" calibration", *c.got.Calibration, c.calibration)
	}
	near(t, "Marshall deviance", s.bayes(t, score.Prior{Alpha: alpha, Beta: beta, Mean: alpha / beta}).Deviance, 1.794)
	near(t, "pseudo-exposure deviance", s.measure(t, pseudo).Deviance, 1.800)

	for k, want := range [5][2]float64{{.21, .23}, {.40, .45}, {.64, .66}, {.89, .90}, {1.00, .99}} {
		b := eb.Bins[k]
		if math.Abs(b.Predicted-want[0]) > 0.006 || math.Abs(b.Observed-want[1]) > 0.006 {
			t.Errorf("fifth %d: predicted/observed %.3f/%.3f, want %v (2 decimals)", k+1, b.Predicted, b.Observed, want)
		}
	}
	near(t, "worst fifth, Bayes", s.worstFifth(func(x score.Exposure) float64 { return prior.Posterior(x).Rate() }), 0.803)
	near(t, "worst fifth, raw", s.worstFifth(ownRate), 0.745)
	near(t, "worst fifth, pooled", s.worstFifth(func(score.Exposure) float64 { return pooled }), 0.5)
	near(t, "worst fifth, pseudo-exposure", s.worstFifth(pseudo), 0.804)
}

// Peers by two-digit activity gain nothing at the fitted beta (deviance 1.799
// against 1.789 without them), which is why groups are off by default.
func TestFrenchPeerGroups(t *testing.T) {
	s := frenchStudy(t, 10_000, 1_000_000)
	prior, err := score.FitPrior(s.past)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]score.Exposure{}
	for i, x := range s.past {
		g := groups[s.branch[i]]
		g.Events, g.Units = g.Events+x.Events, g.Units+x.Units
		groups[s.branch[i]] = g
	}
	near(t, "deviance", s.bayesOf(t, func(i int) score.Prior { return prior.WithPeers(groups[s.branch[i]]) }).Deviance,
		1.799)
}

// The shipped prior does nearly as well as the fitted one: shrinking matters,
// the exact prior hardly.
func TestShippedPriorIsSafe(t *testing.T) {
	s := frenchStudy(t, 10_000, 1_000_000)
	if got := s.bayes(t, score.ShippedPrior()).Deviance; got > 1.80 {
		t.Errorf("deviance under the shipped prior = %.4f, want at most 1.80", got)
	}
}

// Sectors of 2,000 to 60,000 hours, the size of one small firm.
func TestFrenchTinySectors(t *testing.T) {
	s := frenchStudy(t, 2_000, 60_000)
	prior, err := score.FitPrior(s.past)
	if err != nil {
		t.Fatal(err)
	}
	eb, raw := s.bayes(t, prior), s.measure(t, ownRate)
	near(t, "Bayes Brier", eb.Brier, 0.157)
	near(t, "Bayes AUC", *eb.AUC, 0.793)
	near(t, "raw Brier", raw.Brier, 0.210)
	near(t, "raw AUC", *raw.AUC, 0.670)
}

// ship is a cell of the wave-damage table of McCullagh & Nelder (1989, table
// 6.2): months of service and incidents of ships of one type, built in the five
// years from year, over the operation period from period.
type ship struct {
	kind                             byte
	year, period, service, incidents int
}

func ships() []ship {
	return []ship{
		{'A', 60, 60, 127, 0}, {'A', 60, 75, 63, 0}, {'A', 65, 60, 1095, 3}, {'A', 65, 75, 1095, 4},
		{'A', 70, 60, 1512, 6}, {'A', 70, 75, 3353, 18}, {'A', 75, 75, 2244, 11},
		{'B', 60, 60, 44882, 39}, {'B', 60, 75, 17176, 29}, {'B', 65, 60, 28609, 58}, {'B', 65, 75, 20370, 53},
		{'B', 70, 60, 7064, 12}, {'B', 70, 75, 13099, 44}, {'B', 75, 75, 7117, 18},
		{'C', 60, 60, 1179, 1}, {'C', 60, 75, 552, 1}, {'C', 65, 60, 781, 0}, {'C', 65, 75, 676, 1},
		{'C', 70, 60, 783, 6}, {'C', 70, 75, 1948, 2}, {'C', 75, 75, 274, 1},
		{'D', 60, 60, 251, 0}, {'D', 60, 75, 105, 0}, {'D', 65, 60, 288, 0}, {'D', 65, 75, 192, 0},
		{'D', 70, 60, 349, 2}, {'D', 70, 75, 1208, 11}, {'D', 75, 75, 2051, 4},
		{'E', 60, 60, 45, 0}, {'E', 65, 60, 789, 7}, {'E', 65, 75, 437, 7},
		{'E', 70, 60, 1157, 5}, {'E', 70, 75, 2161, 12}, {'E', 75, 75, 542, 1},
	}
}

func shipSample() score.Sample { return sampleOfShips(ships()) }

func sampleOfShips(rows []ship) score.Sample {
	return score.Sample{N: len(rows), P: 8, Row: func(i int, x []float64) (float64, float64) {
		clear(x)
		s := rows[i]
		if s.kind > 'A' {
			x[s.kind-'B'] = 1
		}
		if s.year > 60 {
			x[4+(s.year-65)/5] = 1
		}
		if s.period == 75 {
			x[7] = 1
		}
		return float64(s.incidents), math.Log(float64(s.service))
	}}
}

// The textbook regression, and the same with a ridge of 1 on all but the
// intercept.
func TestShipsRegression(t *testing.T) {
	for _, c := range []struct {
		name      string
		lambda    float64
		intercept float64
		coef      [8]float64
		deviance  float64
	}{
		{"maximum likelihood", 0, -6.4059, [8]float64{-0.5433, -0.6874, -0.0760, 0.3256, 0.6971, 0.8184, 0.4534, 0.3845},
			38.6951},
		{"ridge 1", 1, -6.3959, [8]float64{-0.5296, -0.6211, -0.0519, 0.3358, 0.6663, 0.7850, 0.4148, 0.3882}, 38.8024},
	} {
		t.Run(c.name, func(t *testing.T) {
			fit, err := score.FitPoisson(shipSample(), c.lambda)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "intercept", fit.Intercept, c.intercept)
			for j, want := range c.coef {
				near(t, "coefficient", fit.Coef[j], want)
			}
			near(t, "deviance", fit.Deviance, c.deviance)
		})
	}
}

// The copy of the table in the package AER has its row 33 (type E, 1960-64) under
// the periods 1975-79: the deviance tells it apart.
func TestMiskeyedShips(t *testing.T) {
	list := ships()
	for i := range list {
		if s := &list[i]; s.kind == 'E' && s.year == 60 {
			s.year, s.period = 75, 75
		}
	}
	fit, err := score.FitPoisson(sampleOfShips(list), 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "deviance", fit.Deviance, 38.9626)
}
