package sheets

import (
	"context"
	"log/slog"
	"sync"

	"holdfast/internal/fault"
)

// pictureSide is the longer side of a picture on paper, in pixels: some 250 to the inch
// at the width that it has there.
const pictureSide = 900

// developAll makes the pictures of a sheet from photos as they are kept, two at a time.
// One whose bytes are not to be had, or cannot be read, is said to be missing; when the
// server has no time for pictures the sheet is refused.
func (p *Printer) developAll(ctx context.Context, w *words, photos []photoRow) (gallery, error) {
	list := make(gallery, len(photos))
	var wait sync.WaitGroup
	for half := range 2 {
		wait.Go(func() {
			for i := half; i < len(photos) && ctx.Err() == nil; i += 2 {
				list[i] = p.developPicture(ctx, w, i, photos[i])
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "57014", "the server is busy with other photos")
	}
	return list, nil
}

func (p *Printer) developPicture(ctx context.Context, w *words, i int, row photoRow) picture {
	x := picture{sha256: row.SHA256, caption: joinSaid(": ", w.sayText("Picture {n}", "n", i+1), row.Caption)}
	var err error
	if x.jpeg, err = p.developOne(ctx, row.Key); err != nil {
		slog.Warn("a photo is missing on a sheet", "photo", row.ID, "error", err)
		x.missing = w.sayText("The picture is not to be had.")
	}
	return x
}

func (p *Printer) developOne(ctx context.Context, key string) ([]byte, error) {
	f, err := p.files.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	image, err := p.room.ShrinkPicture(ctx, f, pictureSide)
	if err != nil {
		return nil, err
	}
	return image.JPEG, nil
}
