package wording

import "testing"

// Every heading of a mail has its words in every language: one without is a list under nothing.
func TestEveryHeadingHasItsWords(t *testing.T) {
	for _, w := range [...]Wording{english, german, french} {
		for topic, title := range w.topics {
			if title == "" {
				t.Errorf("%s: topic %d has no words", w.Lang, topic)
			}
		}
		for status, title := range w.statuses {
			if title == "" {
				t.Errorf("%s: status %d of a clock has no words", w.Lang, status)
			}
		}
	}
}
