package sms

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"holdfast/internal/fault"
)

// Webhook posts messages to an address of the operator's, which hands them to
// whatever carries them: {"to": "+15550001111", "text": "...",
// "channel": "sms"}. User and password of the address travel as basic
// authentication. Any 2xx is success.
type Webhook struct {
	address        string
	user, password string
	client         *http.Client
}

// NewWebhook checks the address. The operator wrote it, so it may be on the
// inside.
func NewWebhook(address string) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("sms: the address of text messages is not an absolute http or https URL")
	}
	w := &Webhook{user: u.User.Username(), client: &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	w.password, _ = u.User.Password()
	u.User = nil
	w.address = u.String()
	return w, nil
}

// Send implements Sender; a refusal is fault.Unavailable, with nothing of the
// answer in it.
func (w *Webhook) Send(ctx context.Context, m Message) error {
	body, err := json.Marshal(map[string]string{"to": "+" + m.To, "text": m.Text, "channel": m.Channel})
	if err != nil {
		return fmt.Errorf("sms: encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("sms: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if w.user != "" || w.password != "" {
		req.SetBasicAuth(w.user, w.password)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "sms_send_failed", "the text message cannot be handed on now")
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode/100 != 2 {
		return fault.New(fault.Unavailable, "sms_send_failed", "the text message was not taken: status %d", res.StatusCode)
	}
	return nil
}
