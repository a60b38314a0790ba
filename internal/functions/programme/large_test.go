package programme_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions/output"
	"holdfast/internal/functions/programme"
	"holdfast/internal/store"
)

const little = "0190a000-0000-7000-8000-000000000003"

// crowd gives a tenant so many workers, past the store.
func (k *kit) crowd(tenant string, n int) {
	k.Helper()
	cols := []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"},
		{Name: "created_at", Type: "timestamptz"},
		{Name: "updated_at", Type: "timestamptz"},
		{Name: "version", Type: "bigint"}, {Name: "employee_no", Type: "text"}, {Name: "name", Type: "text"},
		{Name: "employment", Type: "text"}, {Name: "supervised", Type: "boolean"},
		{Name: "status", Type: "text"}}
	err := k.d.Write(context.Background(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		rows := tx.InsertMany("workers", cols, "")
		for i := range n {
			err := rows.Add(tenant, worker(i), k.now, k.now, 1, fmt.Sprint("N", i), "W", "employee", false, "active")
			if err != nil {
				return err
			}
		}
		return rows.Send()
	})
	if err != nil {
		k.Fatal(explain(err))
	}
}

func worker(i int) string { return fmt.Sprintf("0190d000-0000-7000-8000-%012d", i) }

// ending is a context whose deadline comes when done is closed.
type ending struct {
	context.Context
	done chan struct{}
}

func (e ending) Done() <-chan struct{} { return e.done }

func (e ending) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// sheets counts the pieces of an answer and keeps the text.
type sheets struct {
	strings.Builder
	n, most int
}

func (s *sheets) Write(b []byte) (int, error) {
	s.n, s.most = s.n+1, max(s.most, len(b))
	return s.Builder.Write(b)
}

// growth is how far the heap may grow between two collections, in per cent.
func growth() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// A node works for one large tenant at a time, and each has one request at work
// or waiting; small tenants and single entities do not wait. What is answered
// about a large one is made while it is sent.
func TestLargeTenants(t *testing.T) {
	each(t, func(k *kit) {
		k.as.TenantID = little
		k.add("tenants", store.Row{"id": little, "name": "T", "slug": "little"})
		k.crowd(north, 5000)
		k.crowd(south, 5000)
		k.crowd(little, 20)
		var hold, trap atomic.Bool
		usual := growth()
		begun, release := make(chan bool), make(chan bool)
		p := programme.New(k.s, func() time.Time {
			if hold.CompareAndSwap(true, false) {
				begun <- true
				<-release
			}
			if growth() != usual && trap.CompareAndSwap(true, false) {
				panic("in a turn")
			}
			return k.now
		}, programme.Hooks{})
		score := func(ctx context.Context, tenant, entity string) (string, error) {
			out, err := p.Scores(ctx, actor.Actor{Role: actor.Service, TenantID: tenant},
				&programme.ScoresIn{EntityType: "worker", EntityID: entity, PeriodDays: 30})
			if err != nil {
				return "", err
			}
			var s sheets
			if err := output.Write(&s, out); err != nil {
				return "", err
			}
			if tenant == north && (s.n < 10 || s.most > 100_000) {
				k.Errorf("%d pieces, one of %d bytes", s.n, s.most)
			}
			return s.String(), nil
		}
		first := make(chan error)
		var text string
		hold.Store(true)
		go func() {
			var err error
			text, err = score(context.Background(), north, "")
			first <- err
		}()
		<-begun
		short, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		if _, err := score(short, south, ""); !fault.Is(err, fault.Unavailable) {
			k.Errorf("beside another large tenant: %v", err)
		}
		at := time.Now()
		_, err := score(context.Background(), north, "")
		if f := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.RetryAfter == 0 ||
			time.Since(at) > 25*time.Second {
			k.Errorf("beside the tenant's own, after %v: %v", time.Since(at), err)
		}
		late := ending{context.Background(), make(chan struct{})}
		two, night := make(chan error, 2), make(chan error)
		for range cap(two) {
			go func() {
				_, err := score(late, south, "")
				two <- err
			}()
		}
		if err := <-two; !fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
			k.Errorf("beside one that waits: %v", err)
		}
		go func() {
			_, err := p.Nightly(late, north)
			night <- err
		}()
		time.Sleep(200 * time.Millisecond) // it comes to its wait
		close(late.done)
		if err := <-night; !errors.Is(err, context.DeadlineExceeded) {
			k.Errorf("the night beside the tenant's own: %v", err)
		}
		if err := <-two; !fault.Is(err, fault.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
			k.Errorf("the one that waits: %v", err)
		}
		for _, c := range [][2]string{{little, ""}, {south, worker(7)}} {
			if _, err := score(context.Background(), c[0], c[1]); err != nil {
				k.Errorf("%s %s: %v", c[0], c[1], explain(err))
			}
		}
		close(release)
		if err := <-first; err != nil {
			k.Fatal(explain(err))
		}
		var answer struct {
			Computed int               `json:"scores_computed"`
			Scores   []json.RawMessage `json:"scores"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Computed != 5000 || len(answer.Scores) != 5000 {
			k.Errorf("%v: %d computed, %d in the answer", err, answer.Computed, len(answer.Scores))
		}
		if _, err := score(context.Background(), south, ""); err != nil {
			k.Errorf("after it: %v", explain(err))
		}
		func() {
			defer func() {
				if recover() == nil {
					k.Error("the night did not come to its turn")
				}
			}()
			trap.Store(true)
			_, _ = p.Nightly(context.Background(), south)
		}()
		if growth() != usual {
			k.Errorf("after a night that broke off the heap grows by %d, before by %d", growth(), usual)
		}
		short, cancel = context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := score(short, south, ""); err != nil {
			k.Errorf("after a night that broke off: %v", explain(err))
		}
	})
}
