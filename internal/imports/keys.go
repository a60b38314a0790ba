package imports

import "hash/maphash"

// keys remembers on which line each key of a file stands, in sixteen bytes a
// key: 96 bits of its hash, under seeds of this run, and the line. That two of
// a million keys share those bits has a chance of one in 10^17.
type keys struct {
	seed  [2]maphash.Seed
	slots []keySlot // a power of two; line 0 = free
	n     int
}

type keySlot struct {
	hash uint64
	more uint32
	line int32
}

func newKeys() *keys {
	return &keys{seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, slots: make([]keySlot, 1024)}
}

// put notes a key's line unless the key is there; then it returns its line.
func (k *keys) put(key string, line int) (earlier int, there bool) {
	if 4*k.n >= 3*len(k.slots) {
		k.grow()
	}
	s := k.find(maphash.String(k.seed[0], key), uint32(maphash.String(k.seed[1], key)))
	if s.line != 0 {
		return int(s.line), true
	}
	s.line = int32(line)
	k.n++
	return 0, false
}

// find returns the slot of a hash: its own, or the free one where it goes.
func (k *keys) find(hash uint64, more uint32) *keySlot {
	mask := uint64(len(k.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &k.slots[i]
		if s.line == 0 {
			s.hash, s.more = hash, more
			return s
		}
		if s.hash == hash && s.more == more {
			return s
		}
	}
}

func (k *keys) grow() {
	old := k.slots
	k.slots = make([]keySlot, 2*len(old))
	for _, s := range old {
		if s.line != 0 {
			*k.find(s.hash, s.more) = s
		}
	}
}
