//go:build !race

package dbtest

const raced = false
