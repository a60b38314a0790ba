package web

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// worthPacking is the size of an answer below which packing saves no packet.
const worthPacking = 1024

// packers are writers that have been used before; each holds 800 kB. The level
// takes a third of the time of the usual one and makes an answer a tenth larger:
// answers that are kept are packed apart, at the usual level.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed+1) // fails for no level that there is
	return w
}}

// packedTypes are media types that are packed on their way, beside those in JSON.
var packedTypes = []string{"text/csv", "text/plain"}

// mayPack reports a request whose answer may be packed: one of the API but for
// identity, whose answers hold secrets beside what a stranger sends (the attack
// BREACH).
func mayPack(r *http.Request) bool {
	return r.Method != http.MethodHead && r.Header.Get("Accept-Encoding") != "" &&
		!strings.HasPrefix(r.URL.Path, "/auth/") && TakesGzip(r)
}

// beginPacking has the answer packed where that is worth it, before its head is
// sent.
func (r *recorder) beginPacking(code int) {
	h := r.Header()
	if !r.packs || code < http.StatusOK || code == http.StatusNoContent || code == http.StatusNotModified ||
		h.Get("Content-Encoding") != "" || !isPackedType(h.Get("Content-Type")) {
		return
	}
	if size, err := strconv.Atoi(h.Get("Content-Length")); err == nil && size < worthPacking {
		return
	}
	h.Del("Content-Length")
	h.Set("Content-Encoding", "gzip")
	if !slices.ContainsFunc(h.Values("Vary"), func(v string) bool { return strings.Contains(v, "Accept-Encoding") }) {
		h.Add("Vary", "Accept-Encoding")
	}
	r.packer, _ = packers.Get().(*gzip.Writer)
	r.packer.Reset(r.ResponseWriter)
}

// isPackedType reports a media type that packing makes shorter.
func isPackedType(media string) bool {
	name, _, _ := strings.Cut(media, ";")
	name = strings.TrimSpace(name)
	return name == "application/json" || strings.HasSuffix(name, "+json") || slices.Contains(packedTypes, name)
}

// endPacking writes what a packer still holds.
func (r *recorder) endPacking() {
	if r.packer == nil {
		return
	}
	_ = r.packer.Close() // a client that went away is no fault of ours
	r.packer.Reset(nil)
	packers.Put(r.packer)
	r.packer = nil
}
