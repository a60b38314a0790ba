// Package keyring holds the keys that sign access tokens and the API keys, counts
// what API keys are used for, and changes the master key. It may import accounts.
//
// Layer: domains. Begin at [Keyring].
package keyring
