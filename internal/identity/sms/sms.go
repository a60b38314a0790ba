// Package sms hands text messages on. Which service carries them is the
// operator's choice: anything with the one method will do.
//
// Layer: domains. Begin at [Sender].
package sms

import (
	"context"
	"log/slog"
)

// What may carry a message.
const (
	SMS      = "sms"
	WhatsApp = "whatsapp"
)

// Message is a text for a number, digits only with the country code first.
type Message struct {
	To, Text string
	Channel  string // SMS or WhatsApp
}

// Sender sends a message.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Log writes messages to the log instead of sending them: for development
// only, since the log then holds codes.
type Log struct{ To *slog.Logger }

// Send implements Sender.
func (l Log) Send(_ context.Context, m Message) error {
	l.To.Info("text message", "to", m.To, "channel", m.Channel, "text", m.Text)
	return nil
}
