package imports

import (
	"holdfast/internal/imports/apply"
	"holdfast/internal/imports/check"
	"holdfast/internal/imports/undo"
)

// What goes into the rooms and comes out of them, by one name for callers outside.
type (
	Difference       = check.Difference
	Edit             = check.Edit
	Applied          = apply.Applied
	Conflict         = undo.Conflict
	RolledBackResult = undo.RolledBackResult
)
