// Package wal reads the write-ahead log of an SQLite database, by section 4 of
// sqlite.org/fileformat2.html: which pages were committed since a place in it.
//
// Layer: adapters. Begin at [Read].
package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

const (
	headSize  = 32
	frameSize = 24 // before each page
	magic     = 0x377f0682
)

// Suffix makes the log's name of the database's.
const Suffix = "-wal"

// Position is a place in a log, behind a commit. The zero Position is the
// beginning of whatever log there is.
type Position struct {
	Salts  [2]uint32 `json:"salts"`
	Offset int64     `json:"offset"`
	Sum    [2]uint32 `json:"sum"` // of the log up to here
	// Done: all up to here is in the database file, so the log may begin anew.
	Done bool `json:"done"`
}

// Changes are the pages that were committed between two positions.
type Changes struct {
	PageSize int
	Pages    uint32           // that the database has at the end; 0 = nothing was committed
	At       map[uint32]int64 // where the log has the last content of each page
	End      Position
	file     *os.File
	kept     map[uint32][]byte // by Load; nil = in the log
}

// ErrGap: the log does not go on from the position; what came between was written
// into the database and overwritten.
var ErrGap = errors.New("wal: the log does not go on where it was read last")

// Read finds what was committed behind from. Close the result. It fails with
// ErrGap. The log may be written to meanwhile.
func Read(path string, from Position) (*Changes, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return noChanges(from)
	}
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	c, err := readChanges(f, from)
	if err != nil {
		f.Close()
		return nil, err
	}
	c.file = f
	return c, nil
}

func noChanges(from Position) (*Changes, error) {
	if from.Offset > 0 && !from.Done {
		return nil, ErrGap
	}
	return &Changes{End: from}, nil
}

func readChanges(f *os.File, from Position) (*Changes, error) {
	head := make([]byte, headSize)
	if _, err := f.ReadAt(head, 0); errors.Is(err, io.EOF) {
		return noChanges(from) // an empty one
	} else if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	s, err := scannerOf(f, head)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return &Changes{End: from}, nil // its head is being written
	}
	begin := Position{Salts: s.salts, Offset: headSize, Sum: s.sum}
	switch {
	case from.Salts == s.salts && from.Offset >= headSize:
		begin = from
		begin.Done = false
	case from.Offset == 0, from.Done && s.salts[0] == from.Salts[0]+1: // it begins anew with the next salt
	default:
		return nil, ErrGap
	}
	if st, err := f.Stat(); err != nil || st.Size() < begin.Offset {
		return nil, ErrGap
	}
	return s.scanFrames(begin)
}

// scanner walks over the frames of a log.
type scanner struct {
	file  *os.File
	order binary.ByteOrder
	page  int
	salts [2]uint32
	sum   [2]uint32
}

// scannerOf is nil for a head that is not whole.
func scannerOf(f *os.File, head []byte) (*scanner, error) {
	be := binary.BigEndian
	s := &scanner{file: f, order: binary.LittleEndian, page: int(be.Uint32(head[8:])),
		salts: [2]uint32{be.Uint32(head[16:]), be.Uint32(head[20:])}}
	switch be.Uint32(head) {
	case magic:
	case magic + 1:
		s.order = be
	default:
		return nil, errors.New("wal: this is no write-ahead log of SQLite")
	}
	s.addChecksum(head[:24])
	if s.sum != [2]uint32{be.Uint32(head[24:]), be.Uint32(head[28:])} || s.page < 512 || s.page > 1<<16 {
		return nil, nil
	}
	return s, nil
}

// addChecksum carries the checksum on over b, whose length is a multiple of 8.
func (s *scanner) addChecksum(b []byte) {
	x, y := s.sum[0], s.sum[1]
	if s.order == binary.ByteOrder(binary.LittleEndian) {
		for ; len(b) >= 8; b = b[8:] {
			x += binary.LittleEndian.Uint32(b) + y
			y += binary.LittleEndian.Uint32(b[4:]) + x
		}
	} else {
		for ; len(b) >= 8; b = b[8:] {
			x += binary.BigEndian.Uint32(b) + y
			y += binary.BigEndian.Uint32(b[4:]) + x
		}
	}
	s.sum = [2]uint32{x, y}
}

// scanFrames reads frames as long as they are whole and of this log, and keeps what the
// last commit among them covers.
func (s *scanner) scanFrames(from Position) (*Changes, error) {
	out := &Changes{PageSize: s.page, At: map[uint32]int64{}, End: from}
	s.sum = from.Sum
	open := map[uint32]int64{} // not yet committed
	size := int64(frameSize + s.page)
	in := io.NewSectionReader(s.file, from.Offset, 1<<62)
	frames := make([]byte, size*64)
	for at := from.Offset; ; {
		n, err := io.ReadFull(in, frames)
		for b := frames[:n]; int64(len(b)) >= size; b = b[size:] {
			commit, ok := s.checkFrame(b[:size])
			if !ok {
				return out, nil
			}
			open[binary.BigEndian.Uint32(b)] = at + frameSize
			at += size
			if commit > 0 {
				maps.Copy(out.At, open)
				clear(open)
				out.Pages, out.End = commit, Position{Salts: s.salts, Offset: at, Sum: s.sum}
			}
		}
		if err != nil {
			return out, nil
		}
	}
}

// checkFrame checks one frame and returns how many pages the database has behind it, 0
// for one that commits nothing.
func (s *scanner) checkFrame(b []byte) (commit uint32, ok bool) {
	be := binary.BigEndian
	if be.Uint32(b) == 0 || be.Uint32(b[8:]) != s.salts[0] || be.Uint32(b[12:]) != s.salts[1] {
		return 0, false
	}
	s.addChecksum(b[:8])
	s.addChecksum(b[frameSize:])
	return be.Uint32(b[4:]), s.sum == [2]uint32{be.Uint32(b[16:]), be.Uint32(b[20:])}
}

// Frames is how many frames the log has up to a position.
func (p Position) Frames(pageSize int) int64 {
	if p.Offset < headSize {
		return 0
	}
	return (p.Offset - headSize) / int64(frameSize+pageSize)
}

// Load keeps the content of the changed pages in memory, so that they are there when
// the log is written over.
func (c *Changes) Load() error {
	kept := make(map[uint32][]byte, len(c.At))
	err := c.Each(func(page uint32, content []byte) error {
		kept[page] = slices.Clone(content)
		return nil
	})
	c.kept = kept
	return err
}

// Close gives the log back.
func (c *Changes) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Each calls f with the number and content of each changed page, by number.
func (c *Changes) Each(f func(page uint32, content []byte) error) error {
	b := make([]byte, c.PageSize)
	for _, p := range slices.Sorted(maps.Keys(c.At)) {
		if p > c.Pages {
			continue // the database has become shorter since
		}
		if c.kept != nil {
			b = c.kept[p]
		} else if _, err := c.file.ReadAt(b, c.At[p]); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		if err := f(p, b); err != nil {
			return err
		}
	}
	return nil
}

// Count is how many pages Each is called with.
func (c *Changes) Count() (n int64) {
	for p := range c.At {
		if p <= c.Pages {
			n++
		}
	}
	return n
}
