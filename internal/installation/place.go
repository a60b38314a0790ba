package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"holdfast/internal/blob"
	"holdfast/internal/fault"
)

// MarkerName is the file in a place that says which installation owns it.
const MarkerName = "holdfast-installation.json"

// marker is the content of that file.
type marker struct {
	Installation string    `json:"installation"`
	Since        time.Time `json:"since"`
}

// OwnerOf returns the id of the installation that owns a place; "" when nobody does.
func OwnerOf(ctx context.Context, place blob.Backend) (string, error) {
	f, err := place.Open(ctx, MarkerName)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("installation: read %s: %w", MarkerName, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", fmt.Errorf("installation: read %s: %w", MarkerName, err)
	}
	var m marker
	if err := json.Unmarshal(text, &m); err != nil || m.Installation == "" {
		return "", fmt.Errorf("installation: %s does not name an installation: %.80q", MarkerName, text)
	}
	return m.Installation, nil
}

// Claim makes an installation the owner of a place that nobody owns, and returns
// who owns it then.
func Claim(ctx context.Context, place blob.Backend, id string, now time.Time) (owner string, err error) {
	if owner, err = OwnerOf(ctx, place); err != nil || owner != "" {
		return owner, err
	}
	err = writeMarker(ctx, place, id, now)
	// Of two that claim a place at once, the other may have been the first.
	owner, readErr := OwnerOf(ctx, place)
	if readErr != nil {
		return "", readErr
	}
	if owner == "" {
		return "", err
	}
	return owner, nil
}

// TakeOver makes an installation the owner of a place, whoever owned it.
func TakeOver(ctx context.Context, place blob.Backend, id string, now time.Time) error {
	if err := place.Remove(ctx, MarkerName); err != nil {
		return fmt.Errorf("installation: take over: %w", err)
	}
	return writeMarker(ctx, place, id, now)
}

func writeMarker(ctx context.Context, place blob.Backend, id string, now time.Time) error {
	text, err := json.Marshal(marker{Installation: id, Since: now.UTC()})
	if err != nil {
		return fmt.Errorf("installation: write %s: %w", MarkerName, err)
	}
	err = place.Create(ctx, MarkerName, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("installation: write %s: %w", MarkerName, err)
	}
	return nil
}
