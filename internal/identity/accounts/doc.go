// Package accounts is the ground of identity: what an account, a client, a credential
// and a membership are, the configuration, and what every room writes through
// (database, clock, audit log, what is kept of tokens). It imports no other room.
//
// Layer: domains. Begin at [Base].
package accounts
