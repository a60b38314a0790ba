package idempotency

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
)

// packMark begins a body that is kept compressed: no text that is answered
// begins with this control character.
const packMark = '\x01'

// packBody is a body as it is kept: as it is, or compressed where it is long; nil
// for none. A body is kept whole whatever its length: it is what the write stored
// anyway, in its rows and in the audit log.
func packBody(body []byte) (any, error) {
	if body == nil {
		return nil, nil
	}
	if len(body) <= MaxBody {
		return string(body), nil
	}
	var b bytes.Buffer
	b.WriteByte(packMark)
	text := base64.NewEncoder(base64.StdEncoding, &b)
	w, err := flate.NewWriter(text, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{func() error { _, err := w.Write(body); return err }, w.Close, text.Close} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

// unpackBody is the body that was kept.
func unpackBody(kept []byte) ([]byte, error) {
	if len(kept) == 0 || kept[0] != packMark {
		return kept, nil
	}
	body, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(kept[1:]))))
	if err != nil {
		return nil, fmt.Errorf("once: kept body: %w", err)
	}
	return body, nil
}
