package api

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	grammar "holdfast/internal/query"
	"holdfast/internal/warehouse/epcis"
	"holdfast/internal/warehouse/papers"
	"holdfast/internal/web"
)

// EPCIS serves what happened to goods as documents of EPCIS 2.0.
type EPCIS struct{ visibility *papers.Visibility }

// NewEPCIS returns the face of what tells events.
func NewEPCIS(v *papers.Visibility) *EPCIS { return &EPCIS{v} }

// Routes lists what is served.
func (e *EPCIS) Routes() []route.Route {
	return []route.Route{{Method: "GET", Pattern: "/v1/epcis/events", Who: route.TenantMember, Handle: e.serveEvents,
		Tag: "epcis", Media: epcis.Media,
		Query: map[string]string{"EQ_bizStep": "string", "GE_recordTime": "string", "LT_recordTime": "string",
			"perPage": "integer", "nextPageToken": "string"},
		Doc: "What happened to goods, in the order of its recording, as an EPCIS 2.0 document; the Link header leads on"}}
}

// Sizes of a page (EPCIS 2.0, 12.5.2 leaves them to the server).
const (
	usualEvents = 100
	mostEvents  = 1000
)

func (e *EPCIS) serveEvents(w http.ResponseWriter, c *route.Call) error {
	q, err := readEvents(c.Query)
	if err != nil {
		return err
	}
	events, next, err := e.visibility.Events(c.Context(), c.Actor, q)
	if err != nil {
		return err
	}
	if next != nil {
		again := url.Values{}
		for name, values := range c.Query {
			again[name] = values
		}
		again.Set("nextPageToken", pageToken(*next))
		w.Header().Set("Link", "<"+c.URL.EscapedPath()+"?"+again.Encode()+`>; rel="next"`)
	}
	w.Header().Set("GS1-EPCIS-Version", "2.0.0")
	return web.JSONAs(w, epcis.Media, epcis.NewDocument(e.visibility.Now(), events))
}

func readEvents(given map[string][]string) (q papers.EventQuery, err error) {
	q.PerPage = usualEvents
	for name, values := range given {
		if len(values) != 1 {
			return q, refuseUnreadable(name, "is given more than once")
		}
		v := values[0]
		switch name {
		case "EQ_bizStep":
			q.Steps, err = readSteps(v)
		case "GE_recordTime":
			if q.After.Time, err = time.Parse(time.RFC3339, v); err != nil {
				err = refuseUnreadable(name, "is no instant such as 2026-01-31T06:00:00Z")
			}
		case "LT_recordTime":
			if q.Before, err = time.Parse(time.RFC3339, v); err != nil {
				err = refuseUnreadable(name, "is no instant such as 2026-01-31T06:00:00Z")
			}
		case "perPage":
			if q.PerPage, err = strconv.Atoi(v); err != nil || q.PerPage < 1 || q.PerPage > mostEvents {
				err = refuseUnreadable(name, "is no number from 1 to "+strconv.Itoa(mostEvents))
			}
		case "nextPageToken": // below: it goes before GE_recordTime
		}
		if err != nil {
			return q, err
		}
	}
	if token := given["nextPageToken"]; len(token) == 1 {
		q.After, err = readToken(token[0])
	}
	return q, err
}

func refuseUnreadable(name, why string) error {
	name = fault.Clip(name, 60)
	return fault.New(fault.Invalid, "22023", "%s %s", name, why).At(name, "%s", why)
}

func readSteps(v string) ([]string, error) {
	steps := strings.Split(v, ",")
	for _, s := range steps {
		if !slices.Contains(epcis.Steps, s) {
			return nil, refuseUnreadable("EQ_bizStep", "is none of "+strings.Join(epcis.Steps, ", "))
		}
	}
	return steps, nil
}

// pageToken is a place in the order of events as a text. It leads no further
// than a time that the caller may ask for himself, so it is not signed.
func pageToken(r papers.Recorded) string {
	return base64.RawURLEncoding.EncodeToString([]byte(grammar.FormatTime(r.Time) + r.ID))
}

func readToken(v string) (r papers.Recorded, err error) {
	wrong := refuseUnreadable("nextPageToken", "cannot be read: take it from the Link of an answer as it stands")
	text, err := base64.RawURLEncoding.DecodeString(v)
	if err != nil || len(text) < 36 {
		return r, wrong
	}
	at, id := string(text[:len(text)-36]), string(text[len(text)-36:])
	known, err := uuid.Parse(id)
	if err != nil {
		return r, wrong
	}
	r.ID = known.String()
	if r.Time, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return r, wrong
	}
	return r, nil
}
