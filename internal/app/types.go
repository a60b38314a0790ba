package app

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/functions"
	"holdfast/internal/safety/register"
	"holdfast/internal/schema"
	"holdfast/internal/store"
	"holdfast/internal/typegen"
	"holdfast/internal/warehouse"
)

// TypeScript is the module of types that GET /types.ts serves; it needs no
// database.
func TypeScript() []byte { return typegen.TypeScript(typeSource()) }

// GoTypes is the source of a Go package of the same types.
func GoTypes() []byte { return typegen.Go(typeSource(), "holdfast") }

// PythonTypes is a module of pydantic models of the same types.
func PythonTypes() []byte { return typegen.Python(typeSource()) }

// typeSource is everything that clients can be typed by. The functions stand
// over a store without a database: they are described, not called.
func typeSource() typegen.Source {
	src := typegen.Source{Catalog: catalog.Default()}
	described := store.New(nil, src.Catalog, store.Effects{}, time.Now)
	for _, fn := range functions.Table(functions.Deps{Store: described, Now: time.Now}) {
		call := typegen.Call{Name: fn.Name, Doc: fn.Doc, In: schema.Input(fn.In), Out: schema.Of(fn.Out)}
		src.Functions = append(src.Functions, call)
		if fn.Alias != "" {
			call.Name = fn.Alias
			src.Functions = append(src.Functions, call)
		}
	}
	for _, v := range slices.Concat(warehouse.Verbs(), register.Verbs()) {
		src.Verbs = append(src.Verbs, typegen.Call{Name: v.Name, Doc: v.Doc, In: v.Input(), Out: schema.Of(v.Out)})
	}
	return src
}

// serveTypes serves the module of types, made once.
func serveTypes() http.Handler {
	module := sync.OnceValue(TypeScript)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(module())
	})
}
