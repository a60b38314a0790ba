package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
)

// pause lets mails go out between two questions; who asks without one fills their queue.
const pause = 15 * time.Millisecond

// samples is how many known and how many unknown addresses a round asks about.
const samples = 300

// silence measures how well the time of an answer, or of the next one, tells who
// has an account: as the area under the curve of known against unknown, which is
// 0.5 where it tells nothing and 1 where it tells all.
func (m *measurement) silence(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	paths := []string{"recover", "otp"}
	for round := range m.rounds {
		for _, path := range paths {
			if err := s.accounts(ctx, path, round); err != nil {
				return err
			}
		}
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	for _, path := range paths {
		var own, next []float64
		for round := range m.rounds {
			o, n, err := s.ask(ctx, path, round)
			if err != nil {
				return err
			}
			own, next = append(own, o), append(next, n)
		}
		for _, r := range []*result{of("who has an account, POST /"+path, engine, own,
			"AUC at 300 samples of each").atMost(0.55, ""), of("  and the next answer", engine, next, "").atMost(0.55, "")} {
			if err := m.add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func known(path string, round, i int) string {
	return fmt.Sprintf("known-%s-%d-%d@bench.example", path, round, i)
}

// accounts writes the accounts that a round asks about; the server is not running.
func (s *site) accounts(ctx context.Context, path string, round int) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	err = d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		for i := range samples {
			tx.Queue(`INSERT INTO users (id, email, role, email_confirmed_at, app_metadata, user_metadata, is_sso, is_anonymous, created_at, updated_at)
				VALUES ($1, $2, 'authenticated', $3, '{}', '{}', $4, $4, $3, $3)`,
				[]any{uuid.NewString(), known(path, round, i), now, false}, nil)
		}
		return tx.Flush()
	})
	if end := d.Close(); err == nil {
		err = end
	}
	return err
}

// ask asks about known and unknown addresses in random order, one after the other,
// and then for something that concerns neither. It returns the areas of both.
func (s *site) ask(ctx context.Context, path string, round int) (own, next float64, err error) {
	var asked, after [2][]float64 // unknown, known
	for _, i := range rand.Perm(2 * samples) {
		class, email := i%2, known(path, round, i/2)
		if class == 0 {
			email = "un" + email
		}
		time.Sleep(pause)
		took, err := s.timed(ctx, "POST", "/auth/v1/"+path, fmt.Sprintf(`{"email":%q,"create_user":false}`, email))
		if err != nil {
			return 0, 0, err
		}
		then, err := s.timed(ctx, "GET", "/auth/v1/settings", "")
		if err != nil {
			return 0, 0, err
		}
		asked[class], after[class] = append(asked[class], took), append(after[class], then)
	}
	return area(asked[0], asked[1]), area(after[0], after[1]), nil
}

func (s *site) timed(ctx context.Context, method, path, body string) (seconds float64, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.server.address+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, raw)
	}
	return time.Since(begin).Seconds(), err
}

// area is the chance that one of b is greater than one of a, halved for equals; of
// the two sides of a half the upper one (Mann and Whitney 1947).
func area(a, b []float64) float64 {
	type sample struct {
		seconds float64
		ofB     bool
	}
	var all []sample
	for _, v := range a {
		all = append(all, sample{v, false})
	}
	for _, v := range b {
		all = append(all, sample{v, true})
	}
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.seconds, y.seconds) })
	ranks := 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].seconds == all[i].seconds {
			j++
		}
		for k := i; k < j; k++ {
			if all[k].ofB {
				ranks += float64(i+j+1) / 2
			}
		}
		i = j
	}
	n, m := float64(len(a)), float64(len(b))
	u := (ranks - m*(m+1)/2) / (n * m)
	return max(u, 1-u)
}
