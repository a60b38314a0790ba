//go:build !linux

package password

// yieldToOthers does nothing where threads have no priority of their own.
func yieldToOthers() {}
