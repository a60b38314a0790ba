package absent

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// Bounds of a WebSocket that only says no.
const (
	refusalTime    = 2 * time.Minute // realtime-js leaves 50 s after its last channel was closed
	refusalBytes   = 64 << 10        // of a message
	refusalWriting = 5 * time.Second // a reader that takes longer is dropped
)

// Opcodes of frames (RFC 6455, section 5.2).
const (
	frameText  = 1
	frameClose = 8
	framePing  = 9
	framePong  = 10
)

// refuseChannels takes a WebSocket of realtime-js and refuses each channel that it
// joins for good: an error reply with the reason, and the channel's end. A client
// whose handshake or connection is refused comes back every ten seconds for ever;
// one without channels leaves by itself.
func refuseChannels(w http.ResponseWriter, r *http.Request, reason string) error {
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if err != nil || len(key) != 16 || r.Header.Get("Sec-WebSocket-Version") != "13" {
		w.Header().Set("Sec-WebSocket-Version", "13")
		return fault.New(fault.Invalid, "0A000", "this is no WebSocket handshake of version 13: %s", reason)
	}
	h := w.Header()
	h.Set("Upgrade", "websocket")
	h.Set("Connection", "Upgrade")
	h.Set("Sec-WebSocket-Accept", acceptKey(r.Header.Get("Sec-WebSocket-Key")))
	if offered, _, _ := strings.Cut(r.Header.Get("Sec-WebSocket-Protocol"), ","); offered != "" {
		h.Set("Sec-WebSocket-Protocol", strings.TrimSpace(offered)) // a browser fails without one
	}
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("absent: take over a connection: %w", err)
	}
	defer conn.Close()
	line := &refusedLine{conn: conn, in: buffered.Reader, reason: reason}
	if err := line.serveMessages(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		slog.Debug("a refused WebSocket ended", "request_id", web.RequestID(r.Context()), "error", err)
	}
	return nil
}

// acceptKey proves that the handshake was read (RFC 6455, section 4.2.2).
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// refusedLine is an open WebSocket.
type refusedLine struct {
	conn   net.Conn
	in     *bufio.Reader
	reason string
}

// serveMessages answers messages until the client leaves or its time is over.
func (l *refusedLine) serveMessages() error {
	if err := l.conn.SetReadDeadline(time.Now().Add(refusalTime)); err != nil {
		return err
	}
	for {
		opcode, message, err := l.readFrame()
		switch {
		case err != nil:
			return errors.Join(err, l.writeFrame(frameClose, nil))
		case opcode == frameClose:
			return l.writeFrame(frameClose, message[:min(len(message), 2)])
		case opcode == framePing:
			err = l.writeFrame(framePong, message)
		case opcode == frameText:
			err = l.answerMessage(message)
		}
		if err != nil {
			return err
		}
	}
}

// readFrame reads a frame of a client, which is masked and whole (RFC 6455, section
// 5.2): no message of Realtime's client is sent in pieces.
func (l *refusedLine) readFrame() (opcode byte, message []byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(l.in, head[:2]); err != nil {
		return 0, nil, err
	}
	opcode = head[0] & 0x0f
	isWhole, isMasked, length := head[0]&0x80 != 0, head[1]&0x80 != 0, int(head[1]&0x7f)
	if length == 126 {
		if _, err = io.ReadFull(l.in, head[:2]); err != nil {
			return 0, nil, err
		}
		length = int(binary.BigEndian.Uint16(head[:2]))
	} else if length == 127 {
		length = refusalBytes + 1
	}
	if !isWhole || !isMasked || length > refusalBytes {
		return 0, nil, errors.New("the frame is in pieces, unmasked or too long")
	}
	var mask [4]byte
	if _, err = io.ReadFull(l.in, mask[:]); err != nil {
		return 0, nil, err
	}
	message = make([]byte, length)
	if _, err = io.ReadFull(l.in, message); err != nil {
		return 0, nil, err
	}
	for i := range message {
		message[i] ^= mask[i%4]
	}
	return opcode, message, nil
}

// writeFrame writes a whole frame, unmasked as a server's are.
func (l *refusedLine) writeFrame(opcode byte, message []byte) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(refusalWriting)); err != nil {
		return err
	}
	if len(message) > math.MaxUint16 {
		return errors.New("the answer is too long for a frame")
	}
	frame := []byte{0x80 | opcode}
	if len(message) < 126 {
		frame = append(frame, byte(len(message)))
	} else {
		frame = binary.BigEndian.AppendUint16(append(frame, 126), uint16(len(message)))
	}
	_, err := l.conn.Write(append(frame, message...))
	return err
}

// phoenixMessage is a message of Realtime's protocol: an array of its members in
// version 2, an object in version 1.
type phoenixMessage struct {
	JoinRef any    `json:"join_ref"`
	Ref     any    `json:"ref"`
	Topic   string `json:"topic"`
	Event   string `json:"event"`
	Payload any    `json:"payload"`
}

func parsePhoenix(text []byte) (m phoenixMessage, isArray, ok bool) {
	var parts []any
	if json.Unmarshal(text, &parts) != nil {
		return m, false, json.Unmarshal(text, &m) == nil && m.Event != ""
	}
	if len(parts) != 5 {
		return m, true, false
	}
	m = phoenixMessage{JoinRef: parts[0], Ref: parts[1], Payload: parts[4]}
	m.Topic, _ = parts[2].(string)
	m.Event, _ = parts[3].(string)
	return m, true, m.Event != ""
}

// answerMessage refuses a join and ends its channel; heartbeats and all else are
// answered with ok.
func (l *refusedLine) answerMessage(text []byte) error {
	m, isArray, ok := parsePhoenix(text)
	if !ok {
		return nil
	}
	reply := m
	reply.Event, reply.Payload = "phx_reply", map[string]any{"status": "ok", "response": struct{}{}}
	if m.Event != "phx_join" {
		return l.sendPhoenix(reply, isArray)
	}
	reply.Payload = map[string]any{"status": "error", "response": map[string]string{"reason": l.reason}}
	if err := l.sendPhoenix(reply, isArray); err != nil {
		return err
	}
	end := m
	end.Event, end.Payload = "phx_close", map[string]string{"reason": l.reason}
	end.Ref = m.JoinRef
	return l.sendPhoenix(end, isArray)
}

func (l *refusedLine) sendPhoenix(m phoenixMessage, isArray bool) error {
	var v any = m
	if isArray {
		v = []any{m.JoinRef, m.Ref, m.Topic, m.Event, m.Payload}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.writeFrame(frameText, text)
}
