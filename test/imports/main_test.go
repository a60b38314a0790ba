package imports_test

import (
	"testing"

	"holdfast/internal/testkit/program"
)

func TestMain(m *testing.M) { program.Main(m) }
