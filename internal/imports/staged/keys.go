package staged

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// Keys remembers on which line each key of a file stands, in eleven bytes a key,
// because what lives here lives three times until the collector has run: 56 bits
// of its hash and the line. The place tells nearly as many bits again as there
// are places, of a second hash; that two of a million keys share them all has a
// chance of one in 10^9. Both hashes are under seeds of this run.
type Keys struct {
	seed  [2]maphash.Seed
	slots []keySlot
	room  int // keys that it takes
	n     int
	more  *Keys // of those beyond
}

type keySlot struct {
	hash [7]byte
	line [4]byte // 0 = free
}

func slotOf(hash uint64, line int) (s keySlot) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], hash)
	copy(s.hash[:], b[:])
	binary.LittleEndian.PutUint32(s.line[:], uint32(line))
	return s
}

func (s *keySlot) lineOf() int { return int(binary.LittleEndian.Uint32(s.line[:])) }

// NewKeys makes room for the keys of n rows: a table that grew would need two
// and a half times the memory while it does. Few places stay free; on its way in
// a key passes sixteen others on average. With n = 0 nobody knows how many keys
// come: of a chain of tables each is asked, and has places free to say no soon.
func NewKeys(n int) *Keys {
	if n == 0 {
		return tableOf(1000, 3)
	}
	return tableOf(n, 32)
}

// tableOf has room for n keys and one place in so many more.
func tableOf(n, spare int) *Keys {
	return &Keys{seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, slots: make([]keySlot, n+n/spare+1),
		room: n}
}

// Put notes a key's line unless the key is there; then it returns its line.
func (k *Keys) Put(key string, line int) (earlier int, there bool) {
	hash := maphash.String(k.seed[0], key)
	s := k.findSlot(hash, maphash.String(k.seed[1], key))
	if s.lineOf() != 0 {
		return s.lineOf(), true
	}
	if k.n == k.room {
		if k.more == nil {
			k.more = tableOf(2*k.room, 3)
		}
		return k.more.Put(key, line)
	}
	*s = slotOf(hash, line)
	k.n++
	return 0, false
}

// Set notes a key's line, in place of the one it may have.
func (k *Keys) Set(key string, line int) {
	hash := maphash.String(k.seed[0], key)
	s := k.findSlot(hash, maphash.String(k.seed[1], key))
	switch {
	case s.lineOf() != 0:
	case k.n == k.room:
		if k.more == nil {
			k.more = tableOf(2*k.room, 3)
		}
		k.more.Set(key, line)
		return
	default:
		k.n++
	}
	*s = slotOf(hash, line)
}

// Line is where a key stands, 0 when it is not there.
func (k *Keys) Line(key string) int {
	s := k.findSlot(maphash.String(k.seed[0], key), maphash.String(k.seed[1], key))
	if s.lineOf() == 0 && k.more != nil {
		return k.more.Line(key)
	}
	return s.lineOf()
}

// findSlot returns the slot of a key by its hashes: its own, or the free one where
// it goes.
func (k *Keys) findSlot(hash, place uint64) *keySlot {
	want := slotOf(hash, 0).hash
	i, _ := bits.Mul64(place, uint64(len(k.slots)))
	for {
		s := &k.slots[i]
		if s.hash == want || s.lineOf() == 0 {
			return s
		}
		if i++; i == uint64(len(k.slots)) {
			i = 0
		}
	}
}
