package inventory

import "holdfast/internal/localtime"

// LotBarReason says why stock of a lot may not go to a customer, "" when it may: it is not
// released, its date has passed, or fewer than minRemaining days are left. Dates are
// YYYY-MM-DD; expires, "" for none, is the last day of use.
func LotBarReason(status, expires, today string, minRemaining int64) string {
	switch {
	case status == "recalled":
		return "is recalled"
	case status == "quarantine":
		return "is in quarantine"
	case status == "expired", expires != "" && expires < today:
		return "has expired"
	case expires != "" && minRemaining > 0 && expires < DaysAfter(today, minRemaining):
		return "has too few days left"
	}
	return ""
}

// DaysAfter is the date some days after another.
func DaysAfter(date string, days int64) string {
	d, err := localtime.ParseDate(date)
	if err != nil {
		return date
	}
	return d.AddDays(int(days)).String()
}
