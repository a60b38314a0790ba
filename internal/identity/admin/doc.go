// Package admin is what service keys and the command line do with anybody's account.
// It may import every room but profile.
//
// Layer: domains. Begin at [Administration].
package admin
