// Package tenants says who belongs where: tenants, members, invitations, and the
// proof of addresses and numbers, which lets people in where they are invited. It
// may import accounts and codes.
//
// Layer: domains. Begin at [Store].
package tenants
