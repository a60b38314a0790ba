//go:build !linux

package password

import "os"

// programPath returns the path of this program.
func programPath() (string, error) { return os.Executable() }

// GiveWay does nothing where nobody has said how.
func GiveWay() {}

// onHugePages does nothing where nobody has said how.
func onHugePages(int) {}
