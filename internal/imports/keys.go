package imports

import (
	"hash/maphash"
	"math/bits"
)

// keys remembers on which line each key of a file stands, in twelve bytes a
// key: 64 bits of its hash and the line. The place tells as many bits again as
// there are places, of a second hash; that two of a million keys share them all
// has a chance of one in 10^12. Both hashes are under seeds of this run.
type keys struct {
	seed  [2]maphash.Seed
	slots []keySlot
	room  int // keys that it takes
	n     int
	more  *keys // of those beyond
}

type keySlot struct{ high, low, line uint32 } // line 0 = free

// newKeys makes room for the keys of n rows: a table that grew would need two
// and a half times the memory while it does.
func newKeys(n int) *keys {
	n = max(n, 1000)
	return &keys{seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, slots: make([]keySlot, n+n/3+1), room: n}
}

// put notes a key's line unless the key is there; then it returns its line.
func (k *keys) put(key string, line int) (earlier int, there bool) {
	hash := maphash.String(k.seed[0], key)
	s := k.find(hash, maphash.String(k.seed[1], key))
	switch {
	case s.line != 0:
		return int(s.line), true
	case k.n == k.room:
		if k.more == nil {
			k.more = newKeys(2 * k.room)
		}
		return k.more.put(key, line)
	}
	*s = keySlot{uint32(hash >> 32), uint32(hash), uint32(line)}
	k.n++
	return 0, false
}

// line is where a key stands, 0 when it is not there.
func (k *keys) line(key string) int {
	s := k.find(maphash.String(k.seed[0], key), maphash.String(k.seed[1], key))
	if s.line == 0 && k.more != nil {
		return k.more.line(key)
	}
	return int(s.line)
}

// find returns the slot of a key by its hashes: its own, or the free one where
// it goes.
func (k *keys) find(hash, place uint64) *keySlot {
	high, low := uint32(hash>>32), uint32(hash)
	i, _ := bits.Mul64(place, uint64(len(k.slots)))
	for {
		s := &k.slots[i]
		if s.line == 0 || s.high == high && s.low == low {
			return s
		}
		if i++; i == uint64(len(k.slots)) {
			i = 0
		}
	}
}
