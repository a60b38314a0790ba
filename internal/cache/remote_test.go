package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One asking serves all who want the value while it runs; who gives up does so
// at once and ends it for nobody else.
func TestRemoteIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Remote[string]{Life: time.Hour}
		asked := 0
		answer := make(chan struct{})
		ask := func(ctx context.Context) (string, error) {
			asked++
			select {
			case <-answer:
				return "value", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		got := make(chan string, 3)
		first, leave := context.WithCancel(t.Context())
		go func() {
			_, err := r.Get(first, time.Now, ask)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
			got <- "left"
		}()
		synctest.Wait()
		for range 2 {
			go func() {
				v, err := r.Get(t.Context(), time.Now, ask)
				if err != nil {
					t.Error(err)
				}
				got <- v
			}()
		}
		synctest.Wait()
		leave()
		if v := <-got; v != "left" {
			t.Fatalf("%q came before it was there", v)
		}
		close(answer)
		if a, b := <-got, <-got; a != "value" || b != "value" || asked != 1 {
			t.Errorf("%q, %q, asked %d times", a, b, asked)
		}
		time.Sleep(time.Hour - time.Second)
		if _, err := r.Get(t.Context(), time.Now, ask); err != nil || asked != 1 {
			t.Errorf("%v: asked %d times within its life", err, asked)
		}
		time.Sleep(2 * time.Second)
		if _, err := r.Get(t.Context(), time.Now, ask); err != nil || asked != 2 {
			t.Errorf("%v: asked %d times after it", err, asked)
		}
	})
}

// Who does not answer is asked once for all, and again a moment later.
func TestRemoteRemembersFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Remote[string]{Life: time.Hour}
		asked, down := 0, errors.New("down")
		ask := func(ctx context.Context) (string, error) {
			asked++
			switch asked {
			case 1:
				<-ctx.Done() // hangs until the asking's own deadline
				return "", down
			case 2:
				panic("strange answer")
			}
			return "value", nil
		}
		for range 3 {
			if _, err := r.Get(t.Context(), time.Now, ask); !errors.Is(err, down) || asked != 1 {
				t.Fatalf("%v, asked %d times", err, asked)
			}
		}
		time.Sleep(6 * time.Second)
		if _, err := r.Get(t.Context(), time.Now, ask); err == nil || asked != 2 {
			t.Errorf("%v, asked %d times", err, asked)
		}
		time.Sleep(6 * time.Second)
		if v, err := r.Get(t.Context(), time.Now, ask); v != "value" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
	})
}
