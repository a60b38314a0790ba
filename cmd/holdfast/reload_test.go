package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/identity/token"
	"holdfast/internal/testkit/program"
)

// Settings change under load and no request is
// lost; a mistake changes nothing; what cannot change is named.
func TestHangup(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		conf := s.File("", "cors_origins = https://one.example\n")
		v := s.Serve("--dev", "--config", conf)
		admits := func(origin string) bool {
			req, err := http.NewRequest("GET", v.URL+"/healthz", nil)
			if err != nil {
				s.Fatal(err)
			}
			req.Header.Set("Origin", origin)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				s.Fatal(err)
			}
			res.Body.Close()
			return res.Header.Get("Access-Control-Allow-Origin") == origin
		}
		if !admits("https://one.example") || admits("https://two.example") {
			s.Error("the file is not what counts at start")
		}
		bearer := v.Token("viewer@north.example", "holdfast-demo")
		var stop atomic.Bool
		var load sync.WaitGroup
		for range 4 {
			load.Go(func() {
				for !stop.Load() {
					if r := v.Call("GET", "/v1/zones?limit=1", bearer, nil); r.Status != http.StatusOK {
						s.Errorf("under the reload: %d %s", r.Status, r.Body)
						return
					}
				}
			})
		}
		s.File(conf, "cors_origins = https://two.example\n")
		v.Signal(syscall.SIGHUP)
		s.Eventually("the new origin counts", func() bool { return admits("https://two.example") })
		if admits("https://one.example") {
			s.Error("the old origin counts too")
		}
		s.File(conf, "cors_orgins = https://three.example\n")
		v.Signal(syscall.SIGHUP)
		s.Eventually("the mistake is named", func() bool {
			return strings.Contains(v.Out.String(), "stays as it was") && strings.Contains(v.Out.String(), "cors_orgins")
		})
		if !admits("https://two.example") {
			s.Error("a mistake changed the settings")
		}
		s.File(conf, "cors_origins = https://four.example\npassword_min_length = 12\n")
		v.Signal(syscall.SIGHUP)
		s.Eventually("what needs a restart is named", func() bool {
			return strings.Contains(v.Out.String(),
				`"settings":"password_min_length"`)
		})
		if !admits("https://four.example") {
			s.Error("the rest of the file does not count")
		}
		stop.Store(true)
		load.Wait()
		v.Stop()
	})
}

// The signing key is rotated in its file by two reloads.
func TestSigningKeysReload(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		set := func(keys ...jose.JSONWebKey) string {
			text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
			if err != nil {
				s.Fatal(err)
			}
			return string(text)
		}
		made := func(kid string) jose.JSONWebKey {
			k, err := token.Generate(kid)
			if err != nil {
				s.Fatal(err)
			}
			return k
		}
		older, newer := made("older"), made("newer")
		file := s.File("", set(older))
		v := s.Serve("--dev", "--signing-keys", file)
		signIn := func() string { return v.Token("viewer@north.example", "holdfast-demo") }
		status := func(bearer string) int { return v.Call("GET", "/v1/zones?limit=1", bearer, nil).Status }
		jwks := func() string {
			return string(v.Call("GET", "/auth/v1/.well-known/jwks.json", "", nil).Body)
		}
		first := signIn()
		s.File(file, set(newer, older))
		v.Signal(syscall.SIGHUP)
		s.Eventually("both keys are shown", func() bool {
			return strings.Contains(jwks(), "newer") &&
				strings.Contains(jwks(), "older")
		})
		if strings.Contains(jwks(), `"d"`) {
			s.Error("the key set shows a private part")
		}
		second := signIn()
		if a, b := status(first), status(second); a != http.StatusOK || b != http.StatusOK || kidOf(s, second) != "newer" {
			s.Errorf("in the overlap: %d and %d, signed by %s", a, b, kidOf(s, second))
		}
		s.File(file, "no keys")
		v.Signal(syscall.SIGHUP)
		s.Eventually("the mistake is named", func() bool { return strings.Contains(v.Out.String(), "stays as it was") })
		if got := status(second); got != http.StatusOK {
			s.Errorf("after a mistake in the file: %d", got)
		}
		s.File(file, set(newer))
		v.Signal(syscall.SIGHUP)
		s.Eventually("the old key is gone", func() bool { return status(first) == http.StatusUnauthorized })
		if got := status(second); got != http.StatusOK {
			s.Errorf("the new key's token: %d", got)
		}
	})
}

func kidOf(s *program.Site, raw string) string {
	parsed, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		s.Fatal(err)
	}
	return parsed.Signatures[0].Header.KeyID
}
