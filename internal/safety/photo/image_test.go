package photo

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"holdfast/internal/fault"
)

// corner is a picture that is white but for a red corner at the top left.
func corner(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{255, 255, 255, 255}
			if x < w/3 && y < h/3 {
				c = color.RGBA{255, 0, 0, 255}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func asJPEG(t testing.TB, img image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, img image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exif puts an EXIF segment with an orientation and a place name behind the
// first marker of a JPEG.
func exif(raw []byte, turn uint16, order binary.ByteOrder) []byte {
	tiff := []byte("II*\x00\x08\x00\x00\x00")
	if order == binary.BigEndian {
		tiff = []byte("MM\x00*\x00\x00\x00\x08")
	}
	var dir bytes.Buffer
	binary.Write(&dir, order, uint16(1))
	binary.Write(&dir, order, uint16(0x0112))
	binary.Write(&dir, order, uint16(3))
	binary.Write(&dir, order, uint32(1))
	binary.Write(&dir, order, turn)
	binary.Write(&dir, order, uint16(0))
	body := append(append([]byte("Exif\x00\x00"), tiff...), dir.Bytes()...)
	body = append(body, "GPS 53.5N 9.9E"...)
	seg := append([]byte{0xff, 0xe1, 0, 0}, body...)
	binary.BigEndian.PutUint16(seg[2:], uint16(len(body)+2))
	return append(append(append([]byte{}, raw[:2]...), seg...), raw[2:]...)
}

func develop(t testing.TB, raw []byte) (*Image, error) {
	return NewDecodeSemaphore().Develop(t.Context(), bytes.NewReader(raw))
}

// red reports where the red corner is: "tl", "tr", "bl", "br".
func red(t *testing.T, p *Image) string {
	img, err := jpeg.Decode(bytes.NewReader(p.JPEG))
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	for name, q := range map[string][2]int{"tl": {2, 2}, "tr": {p.Width - 3, 2}, "bl": {2, p.Height - 3},
		"br": {p.Width - 3, p.Height - 3}} {
		if r, g, _, _ := img.At(q[0], q[1]).RGBA(); r > 0xc000 && g < 0x6000 {
			at += name
		}
	}
	return at
}

// A photo is turned as its EXIF says, in both byte orders, and keeps nothing of
// it.
func TestOrientation(t *testing.T) {
	plain := asJPEG(t, corner(90, 60))
	for turn, want := range map[uint16]string{1: "tl", 2: "tr", 3: "br", 4: "bl", 5: "tl", 6: "tr", 7: "br", 8: "bl",
		0: "tl", 9: "tl"} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			p, err := develop(t, exif(plain, turn, order))
			if err != nil {
				t.Fatal(err)
			}
			wide := p.Width == 90 && p.Height == 60
			if got := red(t, p); got != want || wide == (turn >= 5 && turn <= 8) {
				t.Errorf("orientation %d %v: corner %s of %d x %d, want %s", turn, order, got, p.Width, p.Height, want)
			}
			if bytes.Contains(p.JPEG, []byte("GPS")) || bytes.Contains(p.JPEG, []byte("Exif")) {
				t.Errorf("orientation %d: metadata survived", turn)
			}
		}
	}
}

// a 1 x 1 lossy WebP.
const webpPixel = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA="

// What a file is, its bytes say; transparent is white; large is scaled down.
func TestKinds(t *testing.T) {
	webpRaw, err := base64.StdEncoding.DecodeString(webpPixel)
	if err != nil {
		t.Fatal(err)
	}
	clear := image.NewNRGBA(image.Rect(0, 0, 30, 20))
	gray := image.NewGray(image.Rect(0, 0, 4000, 1000))
	for name, c := range map[string]struct {
		raw  []byte
		w, h int
	}{
		"jpeg": {asJPEG(t, corner(30, 20)), 30, 20}, "png": {asPNG(t, corner(30, 20)), 30, 20},
		"transparent": {asPNG(t, clear), 30, 20}, "webp": {webpRaw, 1, 1},
		"large": {asPNG(t, gray), 2048, 512}, "thin": {asPNG(t, image.NewGray(image.Rect(0, 0, 9000, 1))), 2048, 1},
	} {
		p, err := develop(t, c.raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		cfg, err := jpeg.DecodeConfig(bytes.NewReader(p.JPEG))
		if err != nil || p.Width != c.w || p.Height != c.h || cfg.Width != c.w || cfg.Height != c.h {
			t.Errorf("%s: %d x %d, %v", name, p.Width, p.Height, err)
		}
		if img, _ := jpeg.Decode(bytes.NewReader(p.JPEG)); name == "transparent" {
			if r, _, _, _ := img.At(5, 5).RGBA(); r < 0xf000 {
				t.Errorf("transparent became %v", img.At(5, 5))
			}
		}
	}
}

// bomb is a PNG that claims a size; its pixels are not there.
func bomb(w, h uint32, bits, kind byte) []byte {
	body := append([]byte("IHDR"), 0, 0, 0, 0, 0, 0, 0, 0, bits, kind, 0, 0, 0)
	binary.BigEndian.PutUint32(body[4:], w)
	binary.BigEndian.PutUint32(body[8:], h)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
}

// Files that are no photos, claim too much or are broken are refused for what
// they are, before memory is spent.
func TestRefused(t *testing.T) {
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	f, _ := zw.Create("photo.jpg")
	f.Write(asJPEG(t, corner(9, 9)))
	zw.Close()
	whole := asJPEG(t, corner(300, 300))
	huge := bytes.Clone(whole) // the frame header claims 65,000 x 65,000
	at := bytes.Index(huge, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(huge[at+5:], 65000)
	binary.BigEndian.PutUint16(huge[at+7:], 65000)
	for name, c := range map[string]struct {
		raw  []byte
		kind fault.Kind
	}{
		"zip": {z.Bytes(), fault.Unsupported}, "empty": {nil, fault.Unsupported}, "text": {[]byte("hello"),
			fault.Unsupported}, "gif": {[]byte("GIF89a" + strings.Repeat("\x00", 40)), fault.Unsupported},
		"svg": {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), fault.Unsupported}, "half": {whole[:len(whole)/2],
			fault.Invalid}, "only a magic": {[]byte("\xff\xd8\xff\xe0"), fault.Invalid},
		"gigapixel png": {bomb(60000, 60000, 8, 6), fault.TooLarge}, "deep png": {bomb(6000, 6000, 16, 6), fault.TooLarge},
		"a line of pixels": {bomb(1, 160_000_000, 8, 0), fault.TooLarge},
		"grey that may be held in colour": {bomb(12_600, 12_600, 8, 0),
			fault.TooLarge}, "cut png": {bomb(10, 10, 8, 6), fault.Invalid},
		"gigapixel jpeg": {huge, fault.TooLarge}, "webp of nothing": {[]byte("RIFF\x04\x00\x00\x00WEBPVP8 "),
			fault.Invalid}, "too many bytes": {append(bytes.Clone(whole), make([]byte, MaxBytes)...), fault.TooLarge},
	} {
		if _, err := develop(t, c.raw); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v, want kind %d", name, err, c.kind)
		}
	}
	if _, err := NewDecodeSemaphore().Develop(t.Context(),
		io.MultiReader(bytes.NewReader(whole[:99]), failing{})); !fault.Is(err, fault.Invalid) {
		t.Errorf("a body that breaks off: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("gone") }

// Whatever the bytes, the answer is a photo or a fault with a 4xx.
func FuzzDevelop(f *testing.F) {
	small := asJPEG(f, corner(16, 16))
	webpRaw, _ := base64.StdEncoding.DecodeString(webpPixel)
	for _, raw := range [][]byte{small, exif(small, 6, binary.BigEndian), asPNG(f, corner(16, 16)), webpRaw,
		bomb(9, 9, 16, 6)} {
		f.Add(raw)
	}
	room := NewDecodeSemaphore()
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := room.Develop(t.Context(), bytes.NewReader(raw))
		if err != nil {
			if k := fault.As(err).Kind; k != fault.Invalid && k != fault.Unsupported && k != fault.TooLarge {
				t.Errorf("%v", err)
			}
			return
		}
		if p.Width < 1 || p.Width > longSide || p.Height < 1 || p.Height > longSide {
			t.Errorf("%d x %d", p.Width, p.Height)
		}
	})
}
