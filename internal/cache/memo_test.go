package cache

import (
	"strconv"
	"testing"
	"time"
)

func TestMemo(t *testing.T) {
	var m Memo[int]
	now := time.Unix(1000, 0)
	m.Put("a", 1, now.Add(time.Second))
	m.Put("b", 2, now.Add(time.Hour))
	if v, ok := m.Get("a", now); !ok || v != 1 {
		t.Errorf("a = %d, %t", v, ok)
	}
	if _, ok := m.Get("a", now.Add(time.Second)); ok {
		t.Error("a is remembered past its time")
	}
	m.Forget("b")
	if _, ok := m.Get("b", now); ok {
		t.Error("b was to be forgotten")
	}
	began := time.Now()
	m.Forget("b")
	m.PutSince("b", 3, began, now.Add(time.Hour))
	if _, ok := m.Get("b", now); ok {
		t.Error("b was forgotten while it was looked for")
	}
	m.PutSince("b", 3, time.Now(), now.Add(time.Hour))
	if v, ok := m.Get("b", now); !ok || v != 3 {
		t.Errorf("b = %d, %t", v, ok)
	}
	for n := range 3 * memoSize {
		m.Put(strconv.Itoa(n), n, now.Add(time.Hour))
	}
	if len(m.kept) > memoSize {
		t.Errorf("%d keys are kept, more than %d", len(m.kept), memoSize)
	}
	m.Forget("")
	if _, ok := m.Get(strconv.Itoa(3*memoSize-1), now); ok {
		t.Error("all was to be forgotten")
	}
}
