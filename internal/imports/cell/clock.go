package cell

import "strings"

// IsClock reports a time of day without a date: 8:00, 10:15 pm, 06:00:30.
func IsClock(s string) bool {
	s = strings.TrimSpace(s)
	if at := strings.IndexByte(s, ':'); at < 1 || at > 2 || len(s) > 16 {
		return false
	}
	_, _, err := parseClock(s)
	return err == nil
}

// HasClock reports a date with a time of day, or one of these alone.
func HasClock(s string) bool { return strings.IndexByte(s, ':') >= 0 }
