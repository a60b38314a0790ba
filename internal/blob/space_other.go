//go:build !(linux || darwin || freebsd)

package blob

import "math"

// availableBytes knows nothing here: a full disk shows when it refuses a write.
func availableBytes(string) (uint64, error) { return math.MaxUint64, nil }

// IsOnSameDisk knows nothing here.
func IsOnSameDisk(string, string) bool { return false }
