package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/load"
)

// people are the cases of the identity service; they share a small database.
var people = []string{"signin", "user", "refresh", "flood"}

func (m *measurement) peopleCases(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tenant := data.Sized(1, 2_000)
	if err := s.fill(ctx, tenant); err != nil {
		return err
	}
	if err := s.owner(ctx, tenant.ID); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	token, err := s.token(ctx, tenant.ID)
	if err != nil {
		return err
	}
	me, err := s.call(ctx, "GET", "/auth/v1/user", token, "", nil)
	if err != nil {
		return err
	}
	if err := s.startLimit(ctx, tenant.ID, me); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		run  func(context.Context, *site, string, string) error
	}{{"signin", m.signIns}, {"user", m.users}, {"refresh", m.refreshes}, {"flood", m.flood}} {
		if !m.wants(c.name) {
			continue
		}
		if err := c.run(ctx, s, tenant.ID, token); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

var asJSON = []string{"Content-Type: application/json"}

// signIns compares password sign-ins with the hash alone.
func (m *measurement) signIns(ctx context.Context, s *site, tenant, _ string) error {
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, address(tenant), password)
	r, err := m.abab(ctx, s, "sign-in with a password", 4,
		load.Request{Method: "POST", Path: "/auth/v1/token?grant_type=password", Header: asJSON, Body: body, Status: 200},
		load.Request{Method: "POST", Path: "/argon2", Header: asJSON, Body: body, Status: 200})
	if err != nil {
		return err
	}
	return m.add(r.atLeast(0.92, ""))
}

// users compares GET /user with a handler that writes the same bytes.
func (m *measurement) users(ctx context.Context, s *site, _, token string) error {
	r, err := m.abab(ctx, s, "GET /user", 8, load.Request{Method: "GET", Path: "/auth/v1/user",
		Header: []string{"Authorization: Bearer " + token}, Status: 200},
		load.Request{Method: "GET", Path: "/hit", Status: 200})
	if err != nil {
		return err
	}
	return m.add(r.atLeast(0.2, ""))
}

// refreshes lets each connection refresh a session of its own, each token once.
// By hand that is the statements, which the signature of the new token joins in
// the second comparison.
func (m *measurement) refreshes(ctx context.Context, s *site, tenant, _ string) error {
	var product, bare, signed []load.Report
	for range m.rounds {
		r, err := m.carrying(ctx, s, tenant, "/auth/v1/token?grant_type=refresh_token")
		if err != nil {
			return err
		}
		b, err := m.carrying(ctx, s, tenant, "/refresh")
		if err != nil {
			return err
		}
		c, err := m.carrying(ctx, s, tenant, "/refresh?sign")
		if err != nil {
			return err
		}
		product, bare, signed = append(product, r), append(bare, b), append(signed, c)
	}
	if err := m.add(compare("refresh, rotated", s.engine, product, bare).atLeast(0.6, "")); err != nil {
		return err
	}
	return m.add(compare("  with the signature by hand", s.engine, product, signed).atLeast(0.6, ""))
}

// carrying runs a chain of refreshes on each connection, of the product or, by
// hand, where a session's id is its token.
func (m *measurement) carrying(ctx context.Context, s *site, tenant, path string) (load.Report, error) {
	const conns = 8
	tokens, ids, err := s.sessions(ctx, tenant, conns)
	if err != nil {
		return load.Report{}, err
	}
	req := load.Request{Method: "POST", Path: path, Header: asJSON, Body: `{"refresh_token":"{carry}"}`, Status: 200,
		Carry: "refresh_token"}
	if !strings.HasPrefix(path, "/auth/") {
		plan := m.plan(s, s.limit, conns, req, 1)
		plan.Seeds, plan.Warm = ids, 0
		return measure(ctx, plan)
	}
	plan := m.plan(s, s.server, conns, req, 1)
	plan.Seeds, plan.Warm = tokens, 0
	return m.product(ctx, s, "refresh", plan)
}

// sessions signs in n times and returns the refresh tokens and session ids.
func (s *site) sessions(ctx context.Context, tenant string, n int) (tokens, ids []string, err error) {
	for range n {
		body := fmt.Sprintf(`{"email":%q,"password":%q}`, address(tenant), password)
		raw, err := s.call(ctx, "POST", "/auth/v1/token?grant_type=password", "", "application/json", strings.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		var out struct {
			Access  string `json:"access_token"`
			Refresh string `json:"refresh_token"`
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			return nil, nil, err
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(out.Access, ".")[1])
		if err != nil {
			return nil, nil, err
		}
		var claims struct {
			Session string `json:"session_id"`
		}
		if err := json.Unmarshal(payload, &claims); err != nil {
			return nil, nil, err
		}
		tokens, ids = append(tokens, out.Refresh), append(ids, claims.Session)
	}
	return tokens, ids, nil
}

// crowd is how many sign-ups come at once.
const crowd = 200

// flood measures a tenant's reads in peace and while crowds of strangers sign
// up, one crowd after the other.
func (m *measurement) flood(ctx context.Context, s *site, _, token string) error {
	req := load.Request{Method: "GET", Path: listPath, Header: []string{"Authorization: Bearer " + token}, Status: 200}
	var p99, memory, refused, told []float64
	var idle, busy []load.Report
	for i := range m.rounds {
		calm, err := measure(ctx, m.plan(s, s.server, 2, req, i))
		if err != nil {
			return err
		}
		stop, end := context.WithCancel(ctx)
		var crowds counts
		var wg sync.WaitGroup
		wg.Go(func() { crowds = s.signUps(stop, i) })
		loud, err := m.product(ctx, s, "reads under sign-ups", m.plan(s, s.server, 2, req, 1))
		end()
		wg.Wait()
		if err != nil {
			return err
		}
		idle, busy = append(idle, calm), append(busy, loud)
		p99 = append(p99, loud.P99/calm.P99)
		memory = append(memory, float64(loud.RSS>>20))
		refused = append(refused, float64(crowds.refused)/float64(max(1, crowds.all)))
		told = append(told, float64(crowds.told)/float64(max(1, crowds.refused)))
	}
	ms := func(list []load.Report) float64 {
		return median(each(list, func(r load.Report) float64 { return r.P99 }))
	}
	r := of("p99 of reads under 200 sign-ups", s.engine, p99,
		fmt.Sprintf("%.1f ms against %.1f in peace", ms(busy), ms(idle))).atMost(2, "")
	r.Server, r.Limit = busy, idle
	for _, x := range []*result{r, of("  memory meanwhile", s.engine, memory, "MB").atMost(1000, " MB"),
		of("  surplus refused", s.engine, refused, "share of sign-ups answered 503"),
		of("  of them with Retry-After", s.engine, told, "").atLeast(1, "")} {
		if err := m.add(x); err != nil {
			return err
		}
	}
	return nil
}

// counts are what became of sign-ups.
type counts struct{ all, refused, told int }

// signUps sends crowds of sign-ups until ctx ends.
func (s *site) signUps(ctx context.Context, round int) counts {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxConnsPerHost: crowd,
		MaxIdleConnsPerHost: crowd}}
	var out counts
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := fmt.Sprintf(`{"email":"crowd-%d-%d-%d@bench.example","password":"measured-with-care"}`, round, i, n)
				req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.server.address+"/auth/v1/signup",
					strings.NewReader(body))
				if err != nil {
					return
				}
				req.Header.Set("Content-Type", "application/json")
				res, err := client.Do(req)
				if err != nil {
					continue
				}
				res.Body.Close()
				wait, told := 2, res.Header.Get("Retry-After")
				mu.Lock()
				out.all++
				if res.StatusCode == http.StatusServiceUnavailable {
					out.refused++
					if wait, err = strconv.Atoi(told); err == nil {
						out.told++
					}
				}
				mu.Unlock()
				// Who is refused waits as long as he is told.
				select {
				case <-time.After(time.Duration(wait) * time.Second):
				case <-ctx.Done():
				}
			}
		})
	}
	wg.Wait()
	return out
}
