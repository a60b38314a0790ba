package mail

import (
	"context"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/fault"
)

// kept bounds a sink: older messages give way.
const kept = 200

// A Kept is a message as a sink shows it. Links are the http and https
// addresses in its text, then those only in its HTML, each once.
type Kept struct {
	ID      string    `json:"id"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Kind    string    `json:"kind"`
	Text    string    `json:"text"`
	HTML    string    `json:"html"`
	At      time.Time `json:"at"`
	Links   []string  `json:"links"`
}

// A Sink is a Sender that keeps the last 200 messages in memory instead, for a
// developer and for tests. The zero value is ready for use.
type Sink struct {
	mu   sync.Mutex
	list []Kept // oldest first
}

// Send keeps m. It refuses what an SMTP server would not be handed either.
func (s *Sink) Send(ctx context.Context, m Message) error {
	if err := m.checkHeaders(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fault.Wrap(err, fault.Unavailable, "mail_unavailable", "the message was not kept")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "mail_unavailable", "the message was not kept")
	}
	k := Kept{ID: id.String(), To: m.To, Subject: m.Subject, Kind: m.Kind, Text: m.Text, HTML: m.HTML,
		At: time.Now().UTC(), Links: findLinks(m.Text, html.UnescapeString(m.HTML))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, k)
	if extra := len(s.list) - kept; extra > 0 {
		s.list = slices.Delete(s.list, 0, extra)
	}
	return nil
}

// List returns the messages, newest first, never nil. With an address it
// returns only those to it.
func (s *Sink) List(to string) []Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Kept{}
	for _, k := range slices.Backward(s.list) {
		if to == "" || strings.EqualFold(k.To, to) {
			out = append(out, k)
		}
	}
	return out
}

// findLinks finds addresses in texts. A full stop or bracket after an address
// belongs to the sentence.
func findLinks(texts ...string) []string {
	pattern := regexp.MustCompile(`https?://[^\s"'<>]+`)
	out := []string{}
	for _, text := range texts {
		for _, link := range pattern.FindAllString(text, -1) {
			link = strings.TrimRight(link, ".,;:!?)]")
			if !slices.Contains(out, link) {
				out = append(out, link)
			}
		}
	}
	return out
}
