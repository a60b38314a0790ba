//go:build !linux

package pgtest

// memoryFolder is a folder in memory: none is known here.
func memoryFolder() string { return "" }
