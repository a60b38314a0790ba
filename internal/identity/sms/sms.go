// Package sms hands text messages on. Which service carries them is the
// operator's choice: anything with the one method will do.
package sms

import (
	"context"
	"log/slog"
)

// Sender sends a text to a number, digits only with the country code first.
type Sender interface {
	Send(ctx context.Context, to, text string) error
}

// Log writes messages to the log instead of sending them: for development
// only, since the log then holds codes.
type Log struct{ To *slog.Logger }

// Send implements Sender.
func (l Log) Send(_ context.Context, to, text string) error {
	l.To.Info("text message", "to", to, "text", text)
	return nil
}
