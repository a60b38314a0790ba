package identity

import (
	"context"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/sms"
)

// throttleFactor refuses a second text message within the mail interval. The
// number of a verified factor counts for its owner alone, so that nobody who
// enrols it elsewhere keeps the owner out; any other number counts for the
// account and for everybody, so that no stranger's telephone is flooded.
func (s *Service) throttleFactor(tx *db.Tx, f factor.Factor) error {
	keys := []string{f.UserID, f.Phone}
	if f.Status == factor.Verified {
		keys = []string{f.ID}
	}
	for _, key := range keys {
		if err := asText(s.throttleTx(tx, "factor", key)); err != nil {
			return err
		}
	}
	return nil
}

// textFactor sends the code of a challenge; a test number gets nothing.
func (s *Service) textFactor(u *User, phone, channel, digits string) error {
	if s.cfg.PhoneCodes[phone] != "" {
		return nil
	}
	tag, _ := u.UserMetadata["locale"].(string)
	m := sms.Message{To: phone, Channel: channel, Text: letter.Text(letter.LocaleOf(tag), s.cfg.Name, digits, int(factor.Life.Minutes()))}
	return s.outbox.Add(func(ctx context.Context) error {
		if err := s.cfg.SMS.Send(ctx, m); err != nil {
			return fmt.Errorf("identity: text message: %w", err)
		}
		return nil
	})
}

// checkChannel completes what carries a text message; the operator's carrier
// is told.
func checkChannel(channel *string) error {
	switch *channel {
	case "":
		*channel = sms.SMS
	case sms.SMS, sms.WhatsApp:
	default:
		return fault.New(fault.Invalid, "validation_failed", "channel: use sms or whatsapp")
	}
	return nil
}
