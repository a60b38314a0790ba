package photo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"testing"
)

// scene is a picture in which a shift, a lost half or a wrong turn shows: a
// colour for each quadrant under a slope of light, a grid, and a dark disc off
// the middle.
func scene(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	colours := [4]color.RGBA{{200, 60, 60, 255}, {60, 180, 60, 255}, {60, 90, 200, 255}, {210, 190, 70, 255}}
	cx, cy, r := discAt(w, h)
	for y := range h {
		for x := range w {
			c := colours[2*(2*y/h)+2*x/w]
			light := 0.7 + 0.3*float64(x)/float64(w)
			if x/16%8 == 0 || y/16%8 == 0 {
				light -= 0.15
			}
			if math.Hypot(float64(x)+0.5-cx, float64(y)+0.5-cy) < r {
				light = 0
			}
			img.SetRGBA(x, y, color.RGBA{uint8(float64(c.R) * light), uint8(float64(c.G) * light), uint8(float64(c.B) * light),
				255})
		}
	}
	return img
}

// discAt is the middle and radius of a scene's disc.
func discAt(w, h int) (cx, cy, r float64) {
	return 0.3 * float64(w), 0.65 * float64(h), 0.05 * float64(min(w, h))
}

// means are the mean colours of a picture's quadrants: top left, top right,
// bottom left, bottom right.
func means(img image.Image) (out [4][3]float64) {
	b := img.Bounds()
	var n [4]float64
	for y := range b.Dy() {
		for x := range b.Dx() {
			q := 2*(2*y/b.Dy()) + 2*x/b.Dx()
			r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
			for i, v := range [3]uint32{r, g, bl} {
				out[q][i] += float64(v >> 8)
			}
			n[q]++
		}
	}
	for q := range out {
		for i := range out[q] {
			out[q][i] /= n[q]
		}
	}
	return out
}

// disc finds the middle of what is nearly black, in parts of width and height.
func disc(img image.Image) (x, y float64) {
	b := img.Bounds()
	var n float64
	for py := range b.Dy() {
		for px := range b.Dx() {
			if r, g, bl, _ := img.At(b.Min.X+px, b.Min.Y+py).RGBA(); r+g+bl < 3*0x1800 {
				x, y, n = x+float64(px)+0.5, y+float64(py)+0.5, n+1
			}
		}
	}
	return x / n / float64(b.Dx()), y / n / float64(b.Dy())
}

// A picture that was scaled shows what it showed: each quadrant has its mean
// colour, nothing moved by as much as half a pixel of what is kept, and it is
// turned as its EXIF says, at sizes that are halved never, once and twice and
// at odd ones.
func TestScaledResembles(t *testing.T) {
	quadrants := map[uint16][4]int{1: {0, 1, 2, 3}, 3: {3, 2, 1, 0}, 6: {2, 0, 3, 1}, 8: {1, 3, 0, 2}}
	at := map[uint16]func(x, y float64) (float64, float64){
		1: func(x, y float64) (float64, float64) { return x, y },
		3: func(x, y float64) (float64, float64) { return 1 - x, 1 - y },
		6: func(x, y float64) (float64, float64) { return 1 - y, x },
		8: func(x, y float64) (float64, float64) { return y, 1 - x },
	}
	for _, c := range []struct {
		w, h int
		turn uint16
	}{{900, 600, 1}, {3001, 701, 3}, {4099, 777, 1}, {777, 4801, 8}, {8200, 500, 6}} {
		t.Run(fmt.Sprintf("%dx%d turned %d", c.w, c.h, c.turn), func(t *testing.T) {
			src := scene(c.w, c.h)
			p, err := develop(t, exif(asJPEG(t, src), c.turn, binary.BigEndian))
			if err != nil {
				t.Fatal(err)
			}
			got, err := jpeg.Decode(bytes.NewReader(p.JPEG))
			if err != nil {
				t.Fatal(err)
			}
			long := min(max(c.w, c.h), longSide)
			if max(p.Width, p.Height) != long || (p.Width > p.Height) != (c.w > c.h && c.turn < 5 || c.w < c.h && c.turn > 4) {
				t.Errorf("%d x %d", p.Width, p.Height)
			}
			was, is := means(src), means(got)
			for q, from := range quadrants[c.turn] {
				for i := range 3 {
					if math.Abs(is[q][i]-was[from][i]) > 2.5 {
						t.Errorf("quadrant %d: mean colour %.1f, was %.1f", q, is[q], was[from])
						break
					}
				}
			}
			x, y := at[c.turn](disc(src))
			if gx, gy := disc(got); math.Abs(gx-x)*float64(p.Width) > 0.5 || math.Abs(gy-y)*float64(p.Height) > 0.5 {
				t.Errorf("the disc is %.2f, %.2f pixels from its place", (gx-x)*float64(p.Width), (gy-y)*float64(p.Height))
			}
		})
	}
}
