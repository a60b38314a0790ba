package webhook

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// mostPause is the longest between two looks for what is due while they fail.
const mostPause = 10 * time.Second

// lane is one webhook's queue, leased to this node.
type lane struct {
	id, tenant, owner string
	url               string // whose failures these are
	failures, trips   int64
}

// Run sends what is due until ctx ends; attempts in flight are finished first,
// which takes ten seconds at most.
func (s *Service) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	freed := make(chan string, s.pace.lanes)
	running, total := map[string]int{}, 0
	claims := backoff.New(nil, "send webhooks", s.pace.poll, mostPause)
	for ctx.Err() == nil {
		var lanes []*lane
		if claims.IsReady() && !s.isHeld() {
			var err error
			lanes, err = s.claimLanes(ctx, s.pace.lanes-total, busyTenants(running, s.pace.perTenant))
			claims.Note(ctx, err)
		}
		for _, l := range lanes {
			running[l.tenant]++
			total++
			wg.Go(func() {
				defer func() { freed <- l.tenant }()
				s.serveLane(ctx, l)
			})
		}
		if len(lanes) > 0 && total < s.pace.lanes {
			continue
		}
		done := s.awaitWork(ctx, freed)
		for ; done != ""; done = nextFreed(freed) {
			total--
			if running[done]--; running[done] == 0 {
				delete(running, done)
			}
		}
	}
}

func (s *Service) isHeld() bool { return s.held != nil && s.held() }

// awaitWork waits until there may be something to do, and returns the tenant whose
// lane was given back, or "".
func (s *Service) awaitWork(ctx context.Context, freed chan string) string {
	t := time.NewTimer(s.pace.poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-t.C:
	case tenant := <-freed:
		return tenant
	}
	return ""
}

func nextFreed(freed chan string) string {
	select {
	case t := <-freed:
		return t
	default:
		return ""
	}
}

func busyTenants(running map[string]int, most int) []string {
	out := []string{}
	for t, n := range running {
		if n >= most {
			out = append(out, t)
		}
	}
	return out
}

const dueLane = "active AND next_at <= $1 AND (open_until IS NULL OR open_until <= $1)"

// claimLanes leases up to n lanes that have something due: one of each tenant
// first, then the second of each, those served longest ago first. Lanes of
// tenants in full are left alone, and so are leased ones, unless this node has
// seen the lease for longer than it lasts: no clocks are compared.
func (s *Service) claimLanes(ctx context.Context, n int, full []string) ([]*lane, error) {
	if n <= 0 {
		return nil, nil
	}
	now, out := s.now(), []*lane(nil)
	due, dead := false, query.List(s.expiredLeases(now))
	leases := map[string]time.Time{}
	if err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		clear(leases)
		tx.Queue(`
			SELECT owner
			FROM webhook_lanes
			WHERE active
				AND next_at <= $1
				AND owner IS NOT NULL`, []any{now},
			func(r *db.Row) error {
				leases[r.Text(0)] = now
				return nil
			})
		return tx.Last().Query(db.FillWords(`
			SELECT 1
			FROM webhook_lanes
			WHERE {due lane}
				AND NOT (tenant_id IN {ids $2})
				AND (owner IS NULL OR owner IN {texts $3})
			LIMIT 1`, "{due lane}", dueLane), []any{now, query.List(full), dead},
			func(*db.Row) error { due = true; return nil })
	}); err != nil {
		return nil, err
	}
	s.noteLeases(leases)
	if !due {
		return nil, nil
	}
	err := s.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = nil
		free := dueLane + " AND (owner IS NULL OR " + tx.DB().InText("owner", 5) + ")"
		err := tx.Query(db.FillWords(`
			SELECT webhook_id, tenant_id, failures, trips, (
				SELECT w.url
				FROM webhooks w
				WHERE w.tenant_id = webhook_lanes.tenant_id
					AND w.id = webhook_lanes.webhook_id
			)
			FROM webhook_lanes
			WHERE webhook_id IN (
				SELECT webhook_id
				FROM (
					SELECT webhook_id, served_at,
						row_number() OVER (PARTITION BY tenant_id ORDER BY served_at NULLS FIRST, webhook_id) AS turn
					FROM webhook_lanes
					WHERE {free}
						AND NOT (tenant_id IN {ids $2})
				) AS d
				WHERE turn <= $4
				ORDER BY turn, served_at NULLS FIRST
				LIMIT $3
			)
				AND {free}
			{skip locked}`, "{free}", free),
			[]any{now, query.List(full), n, s.pace.perTenant, dead}, func(r *db.Row) error {
				out = append(out, &lane{id: r.Text(0), tenant: r.Text(1), failures: r.Int(2), trips: r.Int(3), url: r.Text(4),
					owner: uuid.NewString()})
				return nil
			})
		if err != nil {
			return err
		}
		for _, l := range out {
			// Nodes of earlier versions go by lease_until.
			tx.Queue(`
				UPDATE webhook_lanes
				SET owner = $2, lease_until = $3
				WHERE webhook_id = $1`,
				[]any{l.id, l.owner, now.Add(s.pace.lease)}, nil)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// noteLeases notes the leases there are; each keeps the time it was first seen.
func (s *Service) noteLeases(leases map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner := range leases {
		if since, ok := s.leases[owner]; ok {
			leases[owner] = since
		}
	}
	s.leases = leases
}

// expiredLeases are the leases seen for so long that their nodes must have ended.
func (s *Service) expiredLeases(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for owner, since := range s.leases {
		if now.Sub(since) >= s.pace.lease {
			out = append(out, owner)
		}
	}
	return out
}

// serveLane sends what is due in a lane, for one turn, and gives the lane back.
func (s *Service) serveLane(ctx context.Context, l *lane) {
	t := &lease{s: s, lane: l, ep: &endpoint{tenant: l.tenant, id: l.id, url: l.url}, failures: l.failures, trips: l.trips,
		end: time.Now().Add(s.pace.turn)}
	defer func() {
		if p := recover(); p != nil {
			slog.Error("webhook delivery panicked", "webhook", l.id, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	for !t.isOver(ctx) {
		more, err := t.sendBatch(ctx)
		if err != nil {
			slog.Warn("a webhook's deliveries wait", "webhook", l.id, "error", err)
			break
		}
		if !more {
			break
		}
	}
	if err := t.releaseLane(context.WithoutCancel(ctx)); err != nil {
		slog.Warn("a webhook's lane was not given back; its lease runs out", "webhook", l.id, "error", err)
	}
}
