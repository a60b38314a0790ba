package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A Reply is what the server answered.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into decodes the body or fails the test.
func (r Reply) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("status %d, body %.500q: %v", r.Status, r.Body, err)
	}
}

// Call sends a request with a bearer token or key, when there is one. A body
// is sent as JSON.
func (v *Server) Call(method, path, bearer string, body any) Reply {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			v.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, v.URL+path, in)
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return readAnswer(v, func() (*http.Response, error) {
		return http.DefaultTransport.RoundTrip(req) // redirects are looked at, not followed
	})
}

// readAnswer is the whole of what a request is answered, which it must be.
func readAnswer(t testing.TB, ask func() (*http.Response, error)) Reply {
	t.Helper()
	res, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Reply{res.StatusCode, res.Header, text}
}

// Metrics is the text that /metrics shows of the server whose --admin-listen is
// admin.
func Metrics(t testing.TB, admin string) string {
	t.Helper()
	r := readAnswer(t, func() (*http.Response, error) { return http.Get("http://" + admin + "/metrics") })
	if r.Status != http.StatusOK {
		t.Fatalf("/metrics: status %d, body %.500q", r.Status, r.Body)
	}
	return string(r.Body)
}

// A Session is what signing in gives.
type Session struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	User         struct {
		ID, Email string
	}
}

// SignIn tries a password; a refusal has the status and no session.
func (v *Server) SignIn(email, password string) (Session, int) {
	v.Helper()
	var out Session
	r := v.Call("POST", "/auth/v1/token?grant_type=password", "", map[string]string{"email": email, "password": password})
	r.Into(v, &out)
	return out, r.Status
}

// Token signs a user in who must be able to.
func (v *Server) Token(email, password string) string {
	v.Helper()
	got, status := v.SignIn(email, password)
	if status != http.StatusOK || got.AccessToken == "" {
		v.Fatalf("sign in as %s: status %d", email, status)
	}
	return got.AccessToken
}

// Uploaded makes an import job of so many items and returns its id.
func (v *Server) Uploaded(bearer string, rows int) string {
	v.Helper()
	var job struct{ ID string }
	v.Call("POST", "/v1/import-jobs", bearer, map[string]string{"target": "items"}).Into(v, &job)
	var b strings.Builder
	b.WriteString("sku,name\n")
	for i := range rows {
		fmt.Fprintf(&b, "LIFE-%d,Item %d\n", i, i)
	}
	req, err := http.NewRequest("PUT", v.URL+"/v1/import-jobs/"+job.ID+"/file?name=items.csv",
		strings.NewReader(b.String()))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "text/csv")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode >= 300 {
		v.Fatalf("upload: %d %s", res.StatusCode, text)
	}
	return job.ID
}
