//go:build !linux

package pgtest

// memory is a folder in memory: none is known here.
func memory() string { return "" }
