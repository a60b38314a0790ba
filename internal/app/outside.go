package app

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/backups"
	"holdfast/internal/config"
	"holdfast/internal/identity/sms"
	"holdfast/internal/installation"
	"holdfast/internal/metrics"
)

// outsidePlaces are the places outside the data directory that the settings name.
func outsidePlaces(c *config.Config) (out installation.Outside) {
	if c.BlobURL != "" {
		out.Files = installation.Place{Setting: "blob_url", Address: c.BlobURL, Shown: backups.WithoutUser(c.BlobURL)}
	}
	if c.BackupTo != "" {
		address := backups.PlaceOf(c)
		out.Backups = installation.Place{Setting: "backup_to", Address: address, Shown: backups.WithoutUser(address)}
	}
	return out
}

// heldMetric is the number that an alarm is set on.
func heldMetric(g *installation.Guard) metrics.Value {
	return metrics.Value{Name: "holdfast_outside_held",
		Help: "1 while a restored copy waits for `holdfast resume`, or a place belongs to another installation.",
		Read: func() float64 { return boolValue(g.HeldReason() != "") }}
}

// heldTexts sends no text message while a restored copy waits for a decision.
type heldTexts struct {
	sms.Sender
	guard *installation.Guard
}

// Send implements sms.Sender.
func (h heldTexts) Send(ctx context.Context, m sms.Message) error {
	if h.guard.IsHeld() {
		return installation.HeldFault()
	}
	return h.Sender.Send(ctx, m)
}

// Resume says what a restored installation is: the original takes the places over that
// the settings name, a copy works beside the original.
func Resume(ctx context.Context, a *App, asOriginal bool) error {
	is, err := installation.Read(ctx, a.DB)
	if err != nil {
		return err
	}
	if is.ID == "" {
		return errors.New("app: no server ran on this database yet: there is nothing to resume")
	}
	if asOriginal {
		return a.guard.TakeOver(ctx)
	}
	if !is.IsHeld() {
		return fmt.Errorf("app: this installation is no restored copy that waits: it is of state %s", is.State)
	}
	return installation.Decide(ctx, a.DB, installation.Copy)
}

// HeldReason says what an installation does not do outside, and why; "" = it does
// everything.
func HeldReason(ctx context.Context, a *App) (string, error) {
	if err := a.guard.Refresh(ctx); err != nil {
		return "", err
	}
	return a.guard.HeldReason(), nil
}
