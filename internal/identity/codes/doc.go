// Package codes makes and matches what is shown once, digits, links and
// authorization codes, and words and sends the mails that carry them. It may
// import accounts.
//
// Layer: domains. Begin at [Store].
package codes
