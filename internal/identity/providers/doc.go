// Package providers has the ways in by others' word: OpenID Connect providers of the
// configuration, ID tokens, linked identities, and organisations' own providers. It
// may import signin, sessions and what lies below.
//
// Layer: domains. Begin at [Federation].
package providers
