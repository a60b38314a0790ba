package web

import (
	"net/http"
	"strings"
)

// HasTag reports that an If-None-Match header names the answer with the weak tag
// tag (RFC 9110 section 13.1.2, weak comparison).
func HasTag(ifNoneMatch []string, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for _, v := range ifNoneMatch {
		for t := range strings.SplitSeq(v, ",") {
			if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == opaque {
				return true
			}
		}
	}
	return false
}

// TakesGzip reports that the caller accepts the gzip coding: it is named, or
// "*" is, and not with a weight of zero (RFC 9110 section 12.5.3).
func TakesGzip(r *http.Request) bool {
	all, gzip := false, false
	for _, v := range r.Header["Accept-Encoding"] {
		for c := range strings.SplitSeq(v, ",") {
			name, weight, _ := strings.Cut(c, ";")
			wanted := !isRefusedWeight(weight)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				gzip = wanted
				if !wanted {
					return false
				}
			case "*":
				all = wanted
			}
		}
	}
	return gzip || all
}

// isRefusedWeight reports the weight zero: q=0, q=0.0 and so on.
func isRefusedWeight(weight string) bool {
	name, q, ok := strings.Cut(strings.TrimSpace(weight), "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	return strings.Trim(strings.TrimSpace(q), "0.") == ""
}
