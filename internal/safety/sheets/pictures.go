package sheets

import (
	"context"
	"log/slog"

	"holdfast/internal/fault"
)

// pictureSide is the longer side of a picture on paper, in pixels: some 250 to the inch
// at the width that it has there.
const pictureSide = 900

// developAll makes the pictures of a sheet from photos as they are kept. One whose bytes
// are not to be had, or cannot be read, is said to be missing; when the server has no time
// for pictures the sheet is refused.
func (p *Printer) developAll(ctx context.Context, w *words, photos []photoRow) (gallery, error) {
	var list gallery
	for i, row := range photos {
		x := picture{sha256: row.SHA256,
			caption: joinSaid(": ", w.say("Picture {n}", "n", i+1), row.Caption)}
		var err error
		if x.jpeg, err = p.developOne(ctx, row.Key); err != nil {
			if ctx.Err() != nil {
				return nil, fault.Wrap(err, fault.Unavailable, "57014", "the server is busy with other photos")
			}
			slog.Warn("a photo is missing on a sheet", "photo", row.ID, "error", err)
			x.missing = w.say("The picture is not to be had.")
		}
		list = append(list, x)
	}
	return list, nil
}

func (p *Printer) developOne(ctx context.Context, key string) ([]byte, error) {
	f, err := p.files.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	image, err := p.room.Shrink(ctx, f, pictureSide)
	if err != nil {
		return nil, err
	}
	return image.JPEG, nil
}
