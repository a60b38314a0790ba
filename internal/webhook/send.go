package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/query"
)

// Bounds of what is taken in and kept of an answer.
const (
	readAtMost = 64 << 10 // bytes of the body
	keepBody   = 4 << 10
	keepTries  = 20
)

// noAnswer is all a tenant learns of a request without an answer: whether a
// name resolved or a port was open is not told.
const noAnswer = "no answer: the address could not be reached within 10 seconds, or spoke no HTTP"

// outcome is how an attempt went.
type outcome struct {
	at       time.Time
	took     time.Duration
	status   int           // 0 = no answer
	wait     time.Duration // asked for by Retry-After
	request  []byte        // JSON for the log
	response []byte        // JSON, nil without an answer
	err      string
}

func (o outcome) isOK() bool   { return o.status >= 200 && o.status < 300 }
func (o outcome) isGone() bool { return o.status == http.StatusGone }

// sendOnce makes one attempt: signed now, by every secret that is valid now.
func (s *Service) sendOnce(ctx context.Context, ep *endpoint, d *delivery) outcome {
	o := outcome{at: s.now()}
	ctx, cancel := context.WithTimeout(ctx, s.pace.attempt)
	defer cancel()
	req, err := s.newRequest(ctx, ep, d, o.at)
	if err != nil {
		o.err = "the address cannot be requested"
		return o
	}
	o.request = requestLog(req)
	start := time.Now()
	res, err := s.client.Do(req)
	if err != nil {
		o.err = noAnswer
		return o
	}
	defer res.Body.Close()
	// A body that stalls or breaks off does not change what the status said.
	body, _ := io.ReadAll(io.LimitReader(res.Body, readAtMost))
	o.took, o.status, o.response = time.Since(start), res.StatusCode, answerLog(req, res, body)
	if !o.isOK() {
		o.err = "answered " + strconv.Itoa(res.StatusCode)
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
			o.wait = retryAfter(res, o.at)
		}
	}
	return o
}

func (s *Service) newRequest(ctx context.Context, ep *endpoint, d *delivery, at time.Time) (*http.Request, error) {
	if _, err := s.parseURL(ep.url); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ep.url, strings.NewReader(d.payload))
	if err != nil {
		return nil, err
	}
	var signatures []string
	for _, secret := range ep.secrets {
		signatures = append(signatures, signPayload(secret, d.event, at, d.payload))
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.product+"-Webhooks/1")
	h.Set("Webhook-Id", d.event)
	h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set(signatureHeader, strings.Join(signatures, " "))
	return req, nil
}

// signPayload is a signature of Standard Webhooks with a shared secret, version 1.
func signPayload(secret []byte, id string, at time.Time, payload string) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), payload)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// retryAfter reads the header (RFC 9110 10.2.3), seconds or a date, as at least a
// second and at most maxWait. A 429 without one that can be read waits a minute.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(res.Header.Get("Retry-After"))
	var d time.Duration
	if n, err := strconv.ParseUint(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		d = time.Duration(n) * time.Second // out of range: the largest number there is
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(now)
	} else if res.StatusCode == http.StatusTooManyRequests {
		d = time.Minute
	} else {
		return 0
	}
	return min(max(d, time.Second), maxWait)
}

const signatureHeader = "Webhook-Signature"

// hiddenSignature stands in the log for what would let a reader of deliveries send one again as the server's.
const hiddenSignature = "v1,(hidden)"

// requestLog is the request for the log, without its signature.
func requestLog(req *http.Request) []byte {
	h := map[string]string{}
	for k := range req.Header {
		h[strings.ToLower(k)] = req.Header.Get(k)
		if k == signatureHeader {
			h[strings.ToLower(k)] = hiddenSignature
		}
	}
	b, err := json.Marshal(map[string]any{"method": req.Method, "url": req.URL.String(), "headers": h})
	if err != nil {
		return nil
	}
	return b
}

var keptHeaders = []string{"Content-Type", "Content-Length", "Date", "Location", "Retry-After", "Server",
	"Www-Authenticate", "X-Request-Id"}

// hideSignatures replaces in a text the signatures of a request.
func hideSignatures(req *http.Request) *strings.Replacer {
	var pairs []string
	for _, signature := range strings.Fields(req.Header.Get(signatureHeader)) {
		pairs = append(pairs, signature, hiddenSignature)
	}
	return strings.NewReplacer(pairs...)
}

// answerLog is the answer for the log. Nothing of it is trusted: it is text of
// a stranger, who may have sent the request's signature back.
func answerLog(req *http.Request, res *http.Response, body []byte) []byte {
	hide := hideSignatures(req)
	h := map[string]string{}
	for _, k := range keptHeaders {
		if v := res.Header.Get(k); v != "" {
			h[strings.ToLower(k)] = cleanText(hide.Replace(v), 300)
		}
	}
	b, err := json.Marshal(map[string]any{"headers": h, "body": cleanText(hide.Replace(string(body)), keepBody),
		"body_cut": len(body) > keepBody})
	if err != nil {
		return nil
	}
	return b
}

// cleanText cuts a text and takes out what a database text cannot hold.
func cleanText(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
}

// try is one line of a delivery's history.
type try struct {
	At     string `json:"at"`
	Status *int   `json:"status"`
	Ms     *int64 `json:"ms"`
	Error  string `json:"error,omitempty"`
}

const recordOutcomeSQL = `
	UPDATE webhook_deliveries
	SET status = $2, attempt = $3, next_at = $4, done_at = $5, response_status = $6, response_ms = $7,
		request = $8, response = $9, error = $10, attempts = $11
	WHERE id = $1 AND (next_at IS NOT NULL OR $12)`

// recordOutcome writes an attempt's outcome and when the next one is due. A delivery
// that was given up meanwhile stays so, unless it has arrived.
func (s *Service) recordOutcome(ctx context.Context, d *delivery, o outcome) error {
	one := try{At: query.FormatTime(o.at), Error: o.err}
	var status, ms, errText any
	if o.status != 0 { // without an answer the time taken would tell open from closed
		n := o.took.Milliseconds()
		one.Status, one.Ms, status, ms = &o.status, &n, o.status, n
	}
	if o.err != "" {
		errText = o.err
	}
	state, next, done := s.decideFate(d, o)
	return s.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue(recordOutcomeSQL,
			[]any{d.id, state, d.attempt + 1, next, done, status, ms, orNull(o.request), orNull(o.response), errText,
				appendHistory(d.attempts, one), o.isOK()}, nil)
		return nil
	})
}

// decideFate is what becomes of a delivery after an attempt.
func (s *Service) decideFate(d *delivery, o outcome) (state string, next, done any) {
	now := s.now()
	if o.isOK() {
		return "delivered", nil, now
	}
	if o.isGone() {
		return "dead", nil, now
	}
	at := now.Add(max(retryDelay(d.attempt+1), o.wait))
	if isBusy(d, o) {
		at = now.Add(o.wait)
	} else if o.status == http.StatusTooManyRequests {
		at = now.Add(max(retryDelay(d.attempt+1-busyTries), o.wait))
	}
	if at.After(d.queuedAt.Add(keepTrying)) {
		return "dead", nil, now
	}
	return "retrying", at, nil
}

func appendHistory(before string, one try) string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(before), &list) != nil {
		list = nil
	}
	b, err := json.Marshal(one)
	if err != nil {
		return before
	}
	list = append(list, b)
	out, err := json.Marshal(list[max(0, len(list)-keepTries):])
	if err != nil {
		return before
	}
	return string(out)
}

func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}
