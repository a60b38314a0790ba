package page

import (
	"net/http"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/safety/share"
	"holdfast/internal/web"
)

// Screens serves the screens of halls: who makes them, and what they show.
type Screens struct {
	gate    *access.Gate
	screens *share.Screens
	url     string
}

// NewScreens returns the face of screens, whose page is under url.
func NewScreens(g *access.Gate, s *share.Screens, url string) *Screens { return &Screens{g, s, url} }

// Routes lists what is served.
func (s *Screens) Routes() []route.Route {
	return []route.Route{
		{Method: "POST", Pattern: "/v1/wall-screens", Who: route.TenantMember, Handle: s.makeScreen, Tag: "screens",
			Status: http.StatusCreated, Out: screenLink{}, Body: map[string]string{"name": "string",
				"site_id": "string", "first_aid_course_id": "string", "language": "string",
				"expires_in_days": "integer"},
			Doc: "A link by which a screen shows the board of a hall without an account, 366 days at most"},
		{Method: "POST", Pattern: "/wall/board", Who: route.Public, Handle: s.showBoard, Tag: "screens",
			Out: share.Board{}, Body: map[string]string{"token": "string"},
			Doc: "The board of a screen; 404 for a token that has ended, was revoked or never was"},
	}
}

// screenIn asks for a screen.
type screenIn struct {
	Name     string `json:"name"`
	SiteID   string `json:"site_id"`
	CourseID string `json:"first_aid_course_id"`
	Language string `json:"language"`
	Days     *int   `json:"expires_in_days"`
}

// screenLink is a new screen; its address is told here and never again.
type screenLink struct {
	ID        string `json:"id" format:"uuid" doc:"Of wall_screens; deleting it makes the link useless."`
	URL       string `json:"url" format:"uri" doc:"Address of the page, told this once."`
	ExpiresAt string `json:"expires_at" format:"date-time" doc:"From then on the link is useless."`
}

// screenBytes is how large the body of a request about a screen may be.
const screenBytes = 4 << 10

func (s *Screens) makeScreen(w http.ResponseWriter, c *route.Call) error {
	var in screenIn
	if err := web.DecodeExact(c.Request, screenBytes, &in); err != nil {
		return err
	}
	for field, id := range map[string]string{"site_id": in.SiteID, "first_aid_course_id": in.CourseID} {
		if id != "" && !functions.IsUUID(id) {
			return fault.New(fault.Invalid, "22P02", "%s is no id", field).At(field, "is no id")
		}
	}
	made, err := s.screens.MakeScreen(c.Context(), c.Actor, share.ScreenWish{Name: in.Name, SiteID: in.SiteID,
		CourseID: in.CourseID, Language: in.Language, Days: in.Days})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	// Behind the number sign a browser keeps it to itself: no log on the way has the token.
	link := strings.TrimSuffix(s.url, "/") + "/wall#" + made.Token
	return web.JSON(w, http.StatusCreated, screenLink{made.ID, link, made.ExpiresAt})
}

// showBoard answers a screen. It counts as any request of its address.
func (s *Screens) showBoard(w http.ResponseWriter, c *route.Call) error {
	if err := s.gate.TakeForm(w, c.Request, "", access.LookAtForm); err != nil {
		return err
	}
	var in struct {
		Token string `json:"token"`
	}
	if err := web.DecodeExact(c.Request, screenBytes, &in); err != nil {
		return err
	}
	board, err := s.screens.ReadBoard(c.Context(), senderOf(c.Request), in.Token)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return web.JSON(w, http.StatusOK, board)
}
