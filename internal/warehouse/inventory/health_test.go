package inventory

import (
	"testing"
	"time"

	"holdfast/internal/decimal"
)

// stockOf makes an item with history: shipments as days ago -> quantity.
func stockOf(onHand, point string, firstIn int, ships map[int]string) Stock {
	s := Stock{OnHand: dp(onHand), Available: dp(onHand), ReorderPoint: dp(point), Value: dp(onHand)}
	if firstIn >= 0 {
		s.FirstIn = healthNow.AddDate(0, 0, -firstIn)
	}
	for ago, q := range ships {
		s.Book(healthNow, healthNow.Truncate(24*time.Hour).AddDate(0, 0, -ago), -dp(q), dp(q))
	}
	return s
}

var healthNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Each class at its cut. FSN classes by turnover and time without an issue are
// textbook; the cuts are our choice.
func TestClassify(t *testing.T) {
	fast := map[int]string{29: "10", 28: "10", 27: "10", 26: "10", 25: "10", 80: "40"}
	for _, c := range []struct {
		name string
		s    Stock
		want Class
	}{
		{"never moved, nothing there", stockOf("0", "0", -1, nil), Class{}},
		{"new item is neither slow nor dead", stockOf("5", "0", 59, nil), Class{}},
		{"no issue, 60 days old", stockOf("5", "0", 60, nil), Class{Slow: true}},
		{"no issue, 180 days old", stockOf("5", "0", 180, nil), Class{Slow: true}},
		{"no issue, 181 days old", stockOf("5", "0", 181, nil), Class{Dead: true}},
		{"last issue 180 days ago", stockOf("5", "0", 300, map[int]string{180: "1"}), Class{Slow: true}},
		{"last issue 181 days ago", stockOf("5", "0", 300, map[int]string{181: "1"}), Class{Dead: true}},
		{"hardly turns, though issued lately", stockOf("100", "0", 300, map[int]string{5: "1"}), Class{Slow: true}},
		{"turns well, last issue 60 days ago", stockOf("10", "0", 300, map[int]string{60: "100"}), Class{}},
		{"turns well, last issue 61 days ago", stockOf("10", "0", 300, map[int]string{61: "100"}), Class{Slow: true}},
		{"turns fast on five days", stockOf("1", "0", 300, fast), Class{Fast: true}},
		{"turns fast on four days", stockOf("1", "0", 300, map[int]string{29: "20", 28: "10", 27: "10", 26: "10", 80: "40"}),
			Class{}},
		{"low", stockOf("5", "5", 10, nil), Class{Low: true}},
		{"below half the reorder point", stockOf("2.4999", "5", 10, nil), Class{Low: true, Critical: true}},
		{"half the reorder point", stockOf("2.5", "5", 10, nil), Class{Low: true}},
		{"out of stock with demand", stockOf("0", "0", 300, map[int]string{89: "1"}), Class{Critical: true}},
		{"out of stock, demand long ago", stockOf("0", "0", 300, map[int]string{90: "1"}), Class{}},
	} {
		if got := c.s.Classify(healthNow); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	ordered := stockOf("0", "0", -1, nil)
	ordered.OnOrder = true
	if !ordered.Classify(healthNow).Critical {
		t.Error("an order waits for an item that is not there")
	}
}

// 90 units shipped in equal parts over 90 days from 90 to 0 in stock: mean
// closing quantity 44.5, turns 90 x 365/90 / 44.5 = 8.2.
func TestTurns(t *testing.T) {
	var h History
	for ago := range HealthWindow {
		h.Book(healthNow, healthNow.Truncate(24*time.Hour).AddDate(0, 0, -ago), -decimal.One, decimal.One)
	}
	if got := h.averageStock(0); got != 44.5 {
		t.Errorf("average = %v", got)
	}
	if got := h.yearlyTurns(0); got < 8.2022 || got > 8.2023 {
		t.Errorf("turns = %v", got)
	}
}

// Four items worth 10, 20, 30 and 40: one critical and low, one dead (20), one
// slow (40): 100 x (1 - (0.35/4 + 0.25/4 + 0.25 x 0.2 + 0.15 x 0.4)) = 74.
func TestHealthScore(t *testing.T) {
	var a Assessment
	for _, s := range []Stock{
		{OnHand: dp("1"), Available: dp("1"), ReorderPoint: dp("10"), Value: dp("10"), FirstIn: healthNow},
		{OnHand: dp("1"), Available: dp("1"), Value: dp("20"), FirstIn: healthNow.AddDate(-1, 0, 0)},
		{OnHand: dp("1"), Available: dp("1"), Value: dp("30"), FirstIn: healthNow},
		{OnHand: dp("1"), Available: dp("1"), Value: dp("40"), FirstIn: healthNow.AddDate(0, 0, -100)},
	} {
		a.Add(&s, healthNow)
	}
	if got, want := a.Health(), (Health{Score: dp("74"), Slow: 1, Dead: 1, Critical: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := new(Assessment).Health().Score; got != dp("100") {
		t.Errorf("no items score %s", got)
	}
}
