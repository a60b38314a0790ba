// Package mfa has second factors and passkeys. It may import sessions and what lies
// below.
//
// Layer: domains. Begin at [Factors].
package mfa
