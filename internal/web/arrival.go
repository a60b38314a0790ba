package web

import (
	"encoding/binary"
	"sync/atomic"
)

// Kinds of TLS records (RFC 8446, 5.1).
const (
	recordChangeCipher = 20
	recordHandshake    = 22
	recordApplication  = 23
	recordHeader       = 5 // bytes: kind, version, length
)

// arrival notes that bytes of a request have come on a connection, before net/http says so:
// that calls it active when the whole header is read. Under TLS it goes by the kinds of the
// records, which are in the clear: a handshake is no request.
type arrival struct {
	hasBegun atomic.Bool

	// Of the reader alone, but for isTLS, which is set before the first byte is read.
	isTLS     bool
	header    [recordHeader]byte
	have      int  // bytes of header
	left      int  // bytes of the record that are still to come
	isChanged bool // a ChangeCipherSpec came
	isOpen    bool // the client's Finished came
}

// noteBytes is told all that is read from the connection.
func (a *arrival) noteBytes(b []byte) {
	if !a.isTLS {
		if len(b) > 0 && !a.hasBegun.Load() {
			a.hasBegun.Store(true)
		}
		return
	}
	for len(b) > 0 {
		if a.left > 0 {
			n := min(a.left, len(b))
			a.left, b = a.left-n, b[n:]
			continue
		}
		n := copy(a.header[a.have:], b)
		a.have, b = a.have+n, b[n:]
		if a.have < recordHeader {
			return
		}
		a.have, a.left = 0, int(binary.BigEndian.Uint16(a.header[3:]))
		a.noteRecord(a.header[0])
	}
}

// noteRecord finds the first record after the client's Finished. TLS 1.2 sends that as a
// handshake record after ChangeCipherSpec, TLS 1.3 as the first record of application data.
func (a *arrival) noteRecord(kind byte) {
	switch kind {
	case recordChangeCipher:
		a.isChanged = true
	case recordHandshake:
		a.isOpen = a.isOpen || a.isChanged
	case recordApplication:
		if a.isOpen {
			a.hasBegun.Store(true)
		}
		a.isOpen = true
	}
}
