// Package profile is what people do with their own account: read and change it, show
// a credential again, hand over a tenant. It may import every room but admin.
//
// Layer: domains. Begin at [Store].
package profile
