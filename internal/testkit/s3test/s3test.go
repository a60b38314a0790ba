// Package s3test runs an S3 service inside the test process, with one bucket,
// files, that can be made to misbehave. It checks no signatures.
//
// Layer: tests. Begin at [Start].
package s3test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Server is one running service.
type Server struct {
	host   string
	ailing atomic.Pointer[ailment]
}

type ailment struct {
	method string
	answer http.HandlerFunc
}

// Start runs a service until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	healthy, s := gofakes3.New(memory).Server(), &Server{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := s.ailing.Load(); a != nil && a.method == r.Method {
			a.answer(w, r)
			return
		}
		healthy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.host = strings.TrimPrefix(srv.URL, "http://")
	return s
}

// Address is the setting that leads to the bucket, below a prefix.
func (s *Server) Address(prefix string) string {
	return "s3://key:secret@" + s.host + "/files/" + prefix + "?region=eu-central-1&tls=off"
}

// Answer makes the service answer requests of one method in this way alone.
func (s *Server) Answer(method string, answer http.HandlerFunc) {
	s.ailing.Store(&ailment{method, answer})
}

// Heal ends what Answer began.
func (s *Server) Heal() { s.ailing.Store(nil) }
