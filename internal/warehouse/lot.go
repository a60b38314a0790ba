package warehouse

import (
	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// lotBars says why stock of a lot may not go to a customer, "" when it may: it
// is not released, its date has passed, or fewer than minRemaining days are
// left. A date is the last day of use.
func lotBars(lot store.Row, today string, minRemaining int64) string {
	return lotBarReason(lot.Text("status"), lot.Text("expires_on"), today, minRemaining)
}

func lotBarReason(status, expires, today string, minRemaining int64) string {
	switch {
	case status == "recalled":
		return "is recalled"
	case status == "quarantine":
		return "is in quarantine"
	case status == "expired", expires != "" && expires < today:
		return "has expired"
	case expires != "" && minRemaining > 0 && expires < daysAfter(today, minRemaining):
		return "has too few days left"
	}
	return ""
}

// daysAfter is the date some days after another.
func daysAfter(date string, days int64) string {
	d, err := localtime.ParseDate(date)
	if err != nil {
		return date
	}
	return d.AddDays(int(days)).String()
}
