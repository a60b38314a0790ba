package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/google/uuid"

	"holdfast/internal/fault"
)

// Refresh is a refresh token, version 2: the session's id and a counter, signed
// with a key of that session. The session row holds the one counter, so there
// is no row for each refresh.
//
// Wire form: base64url of version 0 (1 byte), session uuid (16), counter
// (uvarint), the first 16 bytes of HMAC-SHA256 over what precedes, and a
// CRC-32 of everything before it, which tells a mistyped token from a forged
// one without a look into the database.
type Refresh struct {
	Session string
	Counter uint64
	body    []byte // what the signature covers
	mac     []byte
}

const macLen = 16

// NewRefresh returns the wire form of a refresh token.
func NewRefresh(session string, counter uint64, key []byte) (string, error) {
	id, err := uuid.Parse(session)
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "", "refresh token of a session without a UUID")
	}
	b := append([]byte{0}, id[:]...)
	b = binary.AppendUvarint(b, counter)
	b = append(b, macOf(b, key)...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// ParseRefresh reads the wire form; it does not check the signature.
func ParseRefresh(s string) (Refresh, error) {
	if len(s) < 12 || len(s) > 128 {
		return Refresh{}, badRefresh()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 1+16+1+macLen+4 || b[0] != 0 {
		return Refresh{}, badRefresh()
	}
	if base64.RawURLEncoding.EncodedLen(len(b)) != len(s) {
		return Refresh{}, badRefresh() // the decoder passes over line breaks
	}
	check := b[len(b)-4:]
	b = b[:len(b)-4]
	if binary.BigEndian.Uint32(check) != crc32.ChecksumIEEE(b) {
		return Refresh{}, badRefresh()
	}
	n, used := binary.Uvarint(b[17:])
	if used <= 0 || 17+used+macLen != len(b) || len(binary.AppendUvarint(nil, n)) != used {
		return Refresh{}, badRefresh()
	}
	id, err := uuid.FromBytes(b[1:17])
	if err != nil {
		return Refresh{}, badRefresh()
	}
	return Refresh{Session: id.String(), Counter: n, body: b[:17+used], mac: b[17+used:]}, nil
}

// SignedBy reports whether the session's key made the token.
func (r Refresh) SignedBy(key []byte) bool { return hmac.Equal(r.mac, macOf(r.body, key)) }

func macOf(body, key []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)[:macLen]
}

func badRefresh() error {
	return fault.New(fault.Invalid, "validation_failed", "Refresh token is not valid")
}
