package identity

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/sms"
	"holdfast/internal/web"
)

// Texts to one verified factor within a day: asked for from one address, and in
// all. Who knows the password may be a stranger.
const (
	textsHere  = 20
	textsInAll = 100
)

// throttleFactor refuses a second text message within the mail interval. The
// number of a verified factor counts for its owner alone, so that nobody who
// enrols it elsewhere keeps the owner out, and by address, so that a stranger
// with the password does not take the owner's texts; any other number counts for
// the account and for everybody, so that no stranger's telephone is flooded.
func (s *Service) throttleFactor(tx *db.Tx, f factor.Factor, address string) error {
	if f.Status != factor.Verified {
		if err := asText(s.throttleTx(tx, "factor", f.UserID)); err != nil {
			return err
		}
		return asText(s.throttleTx(tx, "factor", f.Phone))
	}
	here := f.ID + "|" + web.AddressKey(address)
	if err := asText(s.throttleTx(tx, "factor", here)); err != nil {
		return err
	}
	if err := asText(s.ration(tx, "factor|"+here, textsHere)); err != nil {
		return err
	}
	return asText(s.ration(tx, "factor|"+f.ID, textsInAll))
}

// ration refuses more than n within a day. What is undone counts for nothing.
func (s *Service) ration(tx *db.Tx, key string, n int) error {
	if s.cfg.MailInterval <= 0 {
		return nil
	}
	taken, left := s.recent.Ration(key, s.now(), n, 24*time.Hour)
	if left > 0 {
		return tooSoon(left)
	}
	tx.Undone(func() { s.recent.Forget(taken) })
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
