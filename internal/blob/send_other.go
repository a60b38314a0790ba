//go:build !linux

package blob

import "os"

// syncRange brings a piece of a file to the disk.
func syncRange(f *os.File, _, _ int64) error { return f.Sync() }
