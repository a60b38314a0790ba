//go:build race

package dbtest

const raced = true
