package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/catalog"
	"holdfast/internal/event"
	"holdfast/internal/fault"
)

// Pace of an event stream.
const (
	heartbeat   = 15 * time.Second
	recheck     = 3 * time.Second  // is the caller still who he was
	streamWrite = 10 * time.Second // a reader that takes longer is dropped
	reconnectMs = 2000             // the stream's retry field
)

// Events serves GET /v1/events: what happens in the tenant, as it happens, in
// the format of server-sent events (WHATWG HTML 9.2).
type Events struct {
	gate     *access.Gate
	notifier *event.Notifier
	cat      *catalog.Catalog

	heartbeat, recheck time.Duration
}

// NewEvents returns the face of n.
func NewEvents(g *access.Gate, n *event.Notifier, c *catalog.Catalog) *Events {
	return &Events{gate: g, notifier: n, cat: c, heartbeat: heartbeat, recheck: recheck}
}

// Routes lists what is served.
func (e *Events) Routes() []route.Route {
	return []route.Route{{Method: "GET", Pattern: "/v1/events", Who: route.TenantMember, Handle: e.serveStream,
		Media: "text/event-stream", Tag: "events", Query: map[string]string{"types": "string", "last_event_id": "string"},
		Doc: "What happens in the tenant, as server-sent events"}}
}

// serveStream writes the stream. Last-Event-ID (or last_event_id in the query)
// resumes after an event; types chooses topics. A stream.reset event says that
// the event to resume after is no longer kept.
func (e *Events) serveStream(w http.ResponseWriter, c *route.Call) error {
	r, a := c.Request, c.Actor
	in, err := streamInput(r, c.Query)
	if err != nil {
		return err
	}
	sub, err := e.notifier.Subscribe(r.Context(), a.TenantID, in.after)
	if err != nil {
		return err
	}
	defer sub.End()
	s := &stream{Events: e, sub: sub, w: w, ctl: http.NewResponseController(w), r: r, a: a, topics: in.topics}
	if err := s.openStream(); err != nil {
		return err
	}
	// The answer has begun; a stream that breaks is simply resumed.
	s.runStream()
	return nil
}

// streamRequest is what the request says about the stream.
type streamRequest struct {
	topics event.Topics
	after  string
}

func streamInput(r *http.Request, q map[string][]string) (in streamRequest, err error) {
	in.after = r.Header.Get("Last-Event-ID")
	var list []string
	for name, values := range q {
		switch name {
		case "types":
			for _, v := range values {
				list = append(list, strings.Split(v, ",")...)
			}
		case "last_event_id":
			if in.after == "" {
				in.after = values[0]
			}
		}
	}
	in.topics, err = event.ParseTopics(list, "types")
	return in, err
}

// stream is one open connection.
type stream struct {
	*Events
	sub    *event.Subscription
	w      http.ResponseWriter
	ctl    *http.ResponseController
	r      *http.Request
	a      actor.Actor
	topics event.Topics
}

// openStream begins the answer. The server's read timeout bounds requests; it would
// also end a stream, whose request is over.
func (s *stream) openStream() error {
	text := fmt.Sprintf("retry: %d\n: events of tenant %s\n\n", reconnectMs, s.a.TenantID)
	if s.sub.Gap {
		text += "event: stream.reset\ndata: {\"reason\":\"the event to resume after is no longer kept; read your records afresh\"}\n\n"
	}
	return s.beginAnswer(text)
}

// beginAnswer sends the header and a first text.
func (s *stream) beginAnswer(text string) error {
	if err := s.ctl.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("api: event stream: %w", err)
	}
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	if s.r.Method == http.MethodHead {
		return nil
	}
	return s.sendText(text)
}

func (s *stream) sendText(text string) error {
	if err := s.ctl.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.ctl.Flush()
}

// runStream writes events until the reader, his right to read, or the server ends.
func (s *stream) runStream() {
	ctx := s.r.Context()
	if s.r.Method == http.MethodHead || s.catchUp(ctx) != nil {
		return
	}
	beat, check := time.NewTicker(s.heartbeat), time.NewTicker(s.recheck)
	defer beat.Stop()
	defer check.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-s.sub.Done():
			return
		case e := <-s.sub.Live():
			err = s.sendEvent(e)
		case <-beat.C:
			err = s.sendText(": still here\n\n")
		case <-check.C:
			err = s.renewReader()
		}
		if err != nil {
			return
		}
	}
}

// errEnded says that the subscription has ended.
var errEnded = errors.New("api: the event stream has ended")

// catchUp writes the events the reader has missed. A slow reader may take hours
// over them: he is asked for meanwhile as often as later.
func (s *stream) catchUp(ctx context.Context) error {
	checked := time.Now()
	return s.sub.Missed(ctx, func(e *event.Event) error {
		select {
		case <-s.sub.Done():
			return errEnded
		default:
		}
		if time.Since(checked) >= s.recheck {
			if err := s.renewReader(); err != nil {
				return err
			}
			checked = time.Now()
		}
		return s.sendEvent(e)
	})
}

// sendEvent writes an event that the reader chose and may see.
func (s *stream) sendEvent(e *event.Event) error {
	if !s.topics.Has(e.Type) {
		return nil
	}
	isVisible, err := s.notifier.IsVisible(s.r.Context(), s.cat, s.a, e)
	if err != nil || !isVisible {
		return err
	}
	return s.sendText("id: " + e.ID + "\nevent: " + e.Type + "\ndata: " + string(e.Payload()) + "\n\n")
}

// renewReader asks again who the reader is: his session may have ended, his role
// changed. A database that does not answer right now proves neither.
func (s *stream) renewReader() error {
	a, err := s.gate.Authenticate(s.r)
	switch {
	case fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Internal):
		return nil
	case err != nil:
		return err
	case a.Role == actor.Service && a.TenantID == "":
		return nil
	case a.TenantID != s.a.TenantID:
		return fault.New(fault.Forbidden, "42501", "the session is in another tenant now")
	}
	s.a = a
	return nil
}
