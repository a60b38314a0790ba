// Package captcha asks a service whether a person, not a program, sent a form:
// hCaptcha, Turnstile, reCAPTCHA and their like share one protocol.
//
// Layer: domains. Begin at [New].
package captcha

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/fault"
)

// Verifier asks the service at an address with the site's secret.
type Verifier struct {
	address, secret string
	client          *http.Client
}

// New checks the address, which the operator wrote.
func New(address, secret string) (*Verifier, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || secret == "" {
		return nil, fmt.Errorf("captcha: needs an absolute http or https address and a secret")
	}
	return &Verifier{address: address, secret: secret, client: &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Check asks whether answer, the token of the widget, is good
// (docs.hcaptcha.com, "Verify the User Response Server Side"): captcha_failed,
// or fault.Unavailable when the service does not say.
func (v *Verifier) Check(ctx context.Context, answer, address string) error {
	if strings.TrimSpace(answer) == "" || len(answer) > 8<<10 {
		return failed("no captcha response (captcha_token) found in request")
	}
	form := url.Values{"secret": {v.secret}, "response": {answer}}
	if address != "" {
		form.Set("remoteip", address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.address, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("captcha: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := v.client.Do(req)
	if err != nil {
		return silent(err)
	}
	defer res.Body.Close()
	var out struct {
		Success bool     `json:"success"`
		Errors  []string `json:"error-codes"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&out); err != nil ||
		res.StatusCode != http.StatusOK {
		return silent(fmt.Errorf("captcha: status %d: %w", res.StatusCode, err))
	}
	for _, code := range out.Errors {
		if strings.HasSuffix(code, "-secret") || code == "sitekey-secret-mismatch" {
			return silent(fmt.Errorf("captcha: the service refuses the secret: %s", code))
		}
	}
	if !out.Success {
		return failed("request disallowed")
	}
	return nil
}

func failed(why string) error {
	return fault.New(fault.Invalid, "captcha_failed", "captcha protection: %s", why)
}

// silent is a service that is away or ours to mend: nobody gets in meanwhile.
func silent(err error) error {
	return fault.Wrap(err, fault.Unavailable, "unexpected_failure", "the captcha service does not answer; try again")
}
