// Package signin has the ways in by what a person types: passwords, one-time
// passwords by mail and text, links, and sign-up. It may import sessions and what
// lies below.
//
// Layer: domains. Begin at [SignIns].
package signin
