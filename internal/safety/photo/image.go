// Package photo keeps photos of incidents and inspections: read by what they
// are and not by their name, within bounds of size and memory, turned upright,
// scaled down and written anew, so that no metadata (place, time, device)
// survives.
//
// Layer: domains. Begin at [New].
package photo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"holdfast/internal/fault"
)

// Bounds of a photo: bytes as uploaded, and memory while it is decoded. A file
// of a few kilobytes can claim gigabytes.
const (
	MaxBytes  = 15 << 20
	maxMemory = 160 << 20
	maxSide   = 20_000
	longSide  = 2048 // pixels kept
	quality   = 82
)

// atOnce is how many photos are decoded at the same time.
const atOnce = 2

// DecodeSemaphore makes photos fit to be kept, a few at a time. It is safe for concurrent use.
type DecodeSemaphore struct{ free chan struct{} }

// NewDarkroom returns a room for two photos at once.
func NewDecodeSemaphore() *DecodeSemaphore { return &DecodeSemaphore{make(chan struct{}, atOnce)} }

// Image is a photo as it is kept: a JPEG without metadata.
type Image struct {
	JPEG          []byte
	Width, Height int

	pixels *image.RGBA
}

// Thumbnail returns a small JPEG of the photo whose longer side has at most side
// pixels.
func (i *Image) Thumbnail(side int) ([]byte, error) {
	small, err := encodeJPEG(scaleDown(i.pixels, side))
	if err != nil {
		return nil, err
	}
	return small.JPEG, nil
}

// Develop reads a JPEG, PNG or WebP file and makes the photo that is kept. It
// reads nothing before its turn has come, so r is best a file: whoever is slow
// would keep others waiting. It
// fails with fault.Unsupported for another kind of file, fault.TooLarge past
// the bounds and fault.Invalid for a broken one.
func (d *DecodeSemaphore) Develop(ctx context.Context, r io.Reader) (*Image, error) {
	return d.developTo(ctx, r, longSide)
}

// ShrinkPicture makes a smaller JPEG of a photo whose longer side has at most side pixels. It
// fails as Develop does.
func (d *DecodeSemaphore) ShrinkPicture(ctx context.Context, r io.Reader, side int) (*Image, error) {
	return d.developTo(ctx, r, side)
}

func (d *DecodeSemaphore) developTo(ctx context.Context, r io.Reader, side int) (*Image, error) {
	select {
	case d.free <- struct{}{}:
		defer func() { <-d.free }()
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "57014", "the server is busy with other photos")
	}
	raw, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "22023", "the upload broke off")
	}
	if len(raw) > MaxBytes {
		return nil, tooLarge("the photo is larger than %d MB", MaxBytes>>20)
	}
	f, err := inspectImage(raw)
	if err != nil {
		return nil, err
	}
	src, err := f.decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "22023", "the photo cannot be read: it is broken or of an unusual kind").At("photo", "cannot be read")
	}
	return encodeJPEG(applyOrientation(scaleDown(src, side), f.turn))
}

func tooLarge(format string, args ...any) error {
	return fault.New(fault.TooLarge, "54000", format, args...).At("photo", format, args...)
}

// found is what the first look at a file tells.
type found struct {
	decode func(io.Reader) (image.Image, error)
	turn   uint16 // EXIF orientation, 1 to 8
}

// inspectImage reads the kind, size and orientation without decoding.
func inspectImage(raw []byte) (found, error) {
	f := found{turn: 1}
	var config func(io.Reader) (image.Config, error)
	perPixel := 0.0
	switch {
	case bytes.HasPrefix(raw, []byte("\xff\xd8\xff")):
		f.decode, config = jpeg.Decode, jpeg.DecodeConfig
		h := jpegHeader(raw)
		f.turn, perPixel = h.turn, h.perPixel
	case bytes.HasPrefix(raw, []byte("\x89PNG\r\n\x1a\n")):
		f.decode, config = png.Decode, png.DecodeConfig
		f.turn = readOrientation(findChunk(raw[8:], "eXIf", true))
	case len(raw) > 12 && string(raw[:4]) == "RIFF" && string(raw[8:12]) == "WEBP":
		f.decode, config = webp.Decode, webp.DecodeConfig
		f.turn = readOrientation(bytes.TrimPrefix(findChunk(raw[12:], "EXIF", false), []byte("Exif\x00\x00")))
		perPixel = 8 // lossless ones are held twice
	default:
		return f, fault.New(fault.Unsupported, "22023", "a photo is a JPEG, PNG or WebP file; this is none, whatever its name says").
			At("photo", "not a JPEG, PNG or WebP file")
	}
	c, err := config(bytes.NewReader(raw))
	if err != nil {
		return f, fault.Wrap(err, fault.Invalid, "22023", "the photo cannot be read: it is broken or of an unusual kind").At("photo", "cannot be read")
	}
	if perPixel == 0 {
		perPixel = pixelBytes(c.ColorModel)
	}
	if c.Width < 1 || c.Height < 1 || max(c.Width, c.Height) > maxSide || float64(c.Width)*float64(c.Height)*perPixel > maxMemory {
		return f, tooLarge("the photo has %d x %d pixels, which is too many: take it with a lower resolution", c.Width, c.Height)
	}
	return f, nil
}

func pixelBytes(m color.Model) float64 {
	switch m {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model: // grey with a transparent shade is held in colour
		return 8
	}
	return 4
}

// scaleDown makes an image whose long side is at most side, on white where it is
// transparent. It is halved until nearly there: a scaler that weighs all
// pixels at once needs many times the memory of the picture.
func scaleDown(src image.Image, side int) *image.RGBA {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	if long := max(w, h); long > side {
		w, h = max(1, w*side/long), max(1, h*side/long)
	}
	for b.Dx() >= 2*w && b.Dy() >= 2*h && b.Dx() > 1 && b.Dy() > 1 {
		half := image.NewRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
		draw.ApproxBiLinear.Scale(half, half.Bounds(), src, b, draw.Src, nil)
		src, b = half, half.Bounds()
	}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(dst, dst.Bounds(), image.White, image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(dst, dst.Bounds(), src, b, draw.Over, nil)
	return dst
}

// applyOrientation applies an EXIF orientation (EXIF 2.3, tag 0x0112).
func applyOrientation(src *image.RGBA, turn uint16) *image.RGBA {
	if turn < 2 || turn > 8 {
		return src
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if turn >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := turnedPixel(turn, x, y, w, h)
			copy(out.Pix[out.PixOffset(tx, ty):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return out
}

// turnedPixel is where a stored pixel belongs.
func turnedPixel(turn uint16, x, y, w, h int) (int, int) {
	switch turn {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return h - 1 - y, x
	case 7:
		return h - 1 - y, w - 1 - x
	}
	return y, w - 1 - x
}

func encodeJPEG(img *image.RGBA) (*Image, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, errors.Join(errors.New("photo: encode"), err)
	}
	return &Image{b.Bytes(), img.Bounds().Dx(), img.Bounds().Dy(), img}, nil
}

// header is what a JPEG's segments tell before its pixels.
type header struct {
	turn     uint16
	perPixel float64 // bytes of memory while decoding
}

// jpegHeader walks the segments up to the scan (ITU-T T.81, B.1.1). What it
// cannot make sense of is left to the decoder.
func jpegHeader(raw []byte) header {
	h := header{turn: 1, perPixel: 16}
	for i := 2; i+4 <= len(raw) && raw[i] == 0xff; {
		marker, size := raw[i+1], int(binary.BigEndian.Uint16(raw[i+2:]))
		if marker == 0xff {
			i++ // fill byte
			continue
		}
		end := i + 2 + size
		if size < 2 || end > len(raw) || marker == 0xda {
			break
		}
		body := raw[i+4 : end]
		if marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
			h.turn = readOrientation(body[6:])
		} else if marker >= 0xc0 && marker <= 0xc2 && len(body) >= 6 {
			h.perPixel = frameBytes(body, marker == 0xc2)
		}
		i = end
	}
	return h
}

// frameBytes is the memory of a frame for each pixel: its samples, and when it
// is progressive four bytes more for each coefficient.
func frameBytes(frame []byte, progressive bool) float64 {
	n, sum, most := int(frame[5]), 0, 1
	for c := 0; c < n && 6+3*c+1 < len(frame); c++ {
		factors := frame[6+3*c+1]
		area := int(factors>>4) * int(factors&15)
		sum, most = sum+area, max(most, area)
	}
	per := float64(sum) / float64(most)
	if progressive {
		per *= 5
	}
	return max(per, 1)
}

// findChunk finds a chunk of a PNG (big endian, length before type, checksum
// behind) or RIFF file (little endian, type before length, even length).
func findChunk(raw []byte, name string, png bool) []byte {
	for len(raw) >= 8 {
		kind, size, tail := string(raw[:4]), int64(binary.LittleEndian.Uint32(raw[4:])), int64(0)
		if png {
			kind, size, tail = string(raw[4:8]), int64(binary.BigEndian.Uint32(raw)), 4
		} else {
			tail = size & 1
		}
		if size > int64(len(raw))-8 {
			return nil
		}
		if kind == name {
			return raw[8 : 8+size]
		}
		raw = raw[min(8+size+tail, int64(len(raw))):]
	}
	return nil
}

// readOrientation reads tag 0x0112 of the first directory of a TIFF structure
// (TIFF 6.0, section 2); 1 when there is none.
func readOrientation(tiff []byte) uint16 {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at < 8 || at+2 > int64(len(tiff)) {
		return 1
	}
	n := int64(order.Uint16(tiff[at:]))
	for i := range n {
		e := at + 2 + 12*i
		if e+12 > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[e:]) == 0x0112 {
			if v := order.Uint16(tiff[e+8:]); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}
