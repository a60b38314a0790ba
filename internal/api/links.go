package api

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"mime"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/identity/totp"
	"holdfast/internal/safety"
	"holdfast/internal/safety/report"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

// ReportLinks serves what leads to the public report page: new tokens and
// codes to print. Making, changing and deleting links is the collection's.
type ReportLinks struct {
	desk *report.Service
	url  string
}

// NewReportLinks returns the face of a desk whose pages are under url.
func NewReportLinks(d *report.Service, url string) *ReportLinks {
	return &ReportLinks{d, url}
}

// Routes lists what is served.
func (l *ReportLinks) Routes() []route.Route {
	list := []route.Route{
		{Method: "POST", Pattern: "/v1/report-links/{id}/rotate", Handle: ofLink(l.rotateLink), Out: rotatedLink{},
			Doc: "Give a report link a new token: codes printed before no longer work"},
		{Method: "GET", Pattern: "/v1/report-links/{id}/qr.svg", Handle: ofLink(l.serveSVG), Media: "image/svg+xml",
			Doc: "The link's QR code, to print"},
		{Method: "GET", Pattern: "/v1/report-links/{id}/qr.png", Handle: ofLink(l.servePNG), Media: "image/png",
			Doc: "The link's QR code, to print"},
	}
	for i := range list {
		list[i].Tag, list[i].Who = "reports", route.TenantMember
	}
	return list
}

// ofLink reads the id of a link.
func ofLink(h func(w http.ResponseWriter, r *http.Request, a actor.Actor, id string) error) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		id, err := uuid.Parse(c.PathValue("id"))
		if err != nil || len(c.PathValue("id")) != 36 {
			return noRecord()
		}
		return h(w, c.Request, c.Actor, id.String())
	}
}

// linkAddress is what a link's code says.
func (l *ReportLinks) linkAddress(row store.Row) string {
	return strings.TrimSuffix(l.url, "/") + "/r/" + row.Text("token")
}

func (l *ReportLinks) rotateLink(w http.ResponseWriter, r *http.Request, a actor.Actor, id string) error {
	row, err := l.desk.Rotate(r.Context(), a, id)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return web.JSON(w, http.StatusOK, rotatedLink{id, row.Text("token"), row.Text("rotated_at"), l.linkAddress(row)})
}

// rotatedLink is a link with its new token.
type rotatedLink struct {
	ID        string `json:"id" format:"uuid"`
	Token     string `json:"token" doc:"The new token, in the address."`
	RotatedAt string `json:"rotated_at" format:"date-time" doc:"When it was given."`
	URL       string `json:"url" format:"uri" doc:"Address of the page."`
}

func (l *ReportLinks) serveSVG(w http.ResponseWriter, r *http.Request, a actor.Actor, id string) error {
	row, err := l.desk.Link(r.Context(), a, id)
	if err != nil {
		return err
	}
	code, err := totp.QR(l.linkAddress(row))
	if err != nil {
		return err
	}
	return picturedCode(w, row, "svg", []byte(code))
}

// pixels is the side of one module of a printed code.
const pixels = 12

func (l *ReportLinks) servePNG(w http.ResponseWriter, r *http.Request, a actor.Actor, id string) error {
	row, err := l.desk.Link(r.Context(), a, id)
	if err != nil {
		return err
	}
	code, err := qr.Encode(l.linkAddress(row), qr.M, qr.Auto)
	if err != nil {
		return fmt.Errorf("api: QR code: %w", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, enlargeCode(code)); err != nil {
		return fmt.Errorf("api: QR code: %w", err)
	}
	return picturedCode(w, row, "png", b.Bytes())
}

// enlargeCode draws a code with its quiet zone of four modules (ISO/IEC 18004,
// 9.1).
func enlargeCode(code image.Image) image.Image {
	const quiet = 4
	n := code.Bounds().Dx()
	side := (n + 2*quiet) * pixels
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range n * pixels {
		for x := range n * pixels {
			if r, _, _, _ := code.At(x/pixels, y/pixels).RGBA(); r == 0 {
				img.SetColorIndex(x+quiet*pixels, y+quiet*pixels, 1)
			}
		}
	}
	return img
}

func picturedCode(w http.ResponseWriter, row store.Row, kind string, body []byte) error {
	name, _ := row["name"].(string)
	h := w.Header()
	h.Set("Content-Type", map[string]string{"svg": "image/svg+xml", "png": "image/png"}[kind])
	h.Set("Content-Disposition", mime.FormatMediaType("inline",
		map[string]string{"filename": "report-" + safety.FileWord(name) + "." + kind}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	_, err := w.Write(body)
	return err
}
