// Package warehouse_test works goods over HTTP, from the dock to the customer, in a
// server that runs in the test's process.
package warehouse_test

import (
	"testing"

	"holdfast/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
