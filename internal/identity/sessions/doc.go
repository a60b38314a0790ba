// Package sessions begins, renews and ends sessions, issues their tokens, and says
// who a request is from, a machine's included. It may import what makes no session:
// accounts, codes, keyring and tenants.
//
// Layer: domains. Begin at [Store].
package sessions
