package mfa

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/sms"
)

// Texts to one verified factor within a day: asked for from one address that the
// factor was passed from before, from all of these, and from all others.
const (
	textsHere      = 20
	textsKnown     = 100
	textsElsewhere = 20
)

// throttleFactor refuses a second text message within the mail interval. The
// number of a verified factor counts for its owner alone, so that nobody who
// enrols it elsewhere keeps the owner out; any other number counts for the
// account and for everybody, so that no stranger's telephone is flooded. Who asks
// for the owner's texts may be a stranger with the password, who has as many
// sessions and addresses as he likes: all that the factor was never passed from
// share one interval and one ration, and take nothing of the others'.
func (s *Factors) throttleFactor(tx *db.Tx, f factor.Factor, from string) error {
	if f.Status != factor.Verified {
		if err := accounts.AsText(s.Post.ThrottleTx(tx, "factor", f.UserID)); err != nil {
			return err
		}
		return accounts.AsText(s.Post.ThrottleTx(tx, "factor", f.Phone))
	}
	if !f.KnownFrom(from) {
		if err := accounts.AsText(s.Post.ThrottleTx(tx, "factor", f.ID)); err != nil {
			return err
		}
		return accounts.AsText(s.ration(tx, "elsewhere|"+f.ID, textsElsewhere))
	}
	here := f.ID + "|" + from
	if err := accounts.AsText(s.Post.ThrottleTx(tx, "factor", here)); err != nil {
		return err
	}
	if err := accounts.AsText(s.ration(tx, "here|"+here, textsHere)); err != nil {
		return err
	}
	return accounts.AsText(s.ration(tx, "known|"+f.ID, textsKnown))
}

// ration refuses more than n within a day. What is undone counts for nothing.
func (s *Factors) ration(tx *db.Tx, key string, n int) error {
	if s.Config.MailInterval <= 0 {
		return nil
	}
	now := s.Now()
	if left := s.Post.Recent.Ration(key, now, n, 24*time.Hour); left > 0 {
		return codes.TooSoon(left, n)
	}
	tx.Undone(func() { s.Post.Recent.Return(key, now) })
	return nil
}

// textFactor sends the code of a challenge; a test number gets nothing.
func (s *Factors) textFactor(u *accounts.User, phone, channel, digits string) error {
	if s.Config.PhoneCodes[phone] != "" {
		return nil
	}
	tag, _ := u.UserMetadata["locale"].(string)
	text := mailtemplate.Text(mailtemplate.LocaleOf(tag), s.Config.ProductName, digits,
		max(1, int(s.Config.ChallengeTTL.Minutes())))
	m := sms.Message{To: phone, Channel: channel, Text: text}
	return s.Post.Outbox.Add(func(ctx context.Context) error {
		if err := s.Config.SMS.Send(ctx, m); err != nil {
			return fmt.Errorf("identity: text message: %w", err)
		}
		return nil
	})
}
