package api

import (
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// ServerAnswer is what administrators may know of the program and of the database below it.
type ServerAnswer struct {
	Version       string `json:"version"`
	Engine        string `json:"engine" oneof:"SQLite PostgreSQL"`
	EngineVersion string `json:"engine_version"`
}

// TellServer answers GET /v1/server (administrators, service key).
func TellServer(describe func() ServerAnswer) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		if !c.Actor.Administrator() {
			return fault.New(fault.Forbidden, "42501", "only administrators may ask which version runs")
		}
		return web.JSON(w, http.StatusOK, describe())
	}
}
