package app

import (
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"

	"holdfast/internal/api"
	"holdfast/internal/api/auth"
	ssoapi "holdfast/internal/api/sso"
	"holdfast/internal/config"
	"holdfast/internal/console"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/safety/osha"
	"holdfast/internal/web"
	"holdfast/internal/webhook"
)

// routes is everything that is served and is no collection. The OpenAPI
// document is made from it, the catalog and the function table.
func (a *App) routes() []api.Route {
	get, post, put, del := []string{"GET"}, []string{"POST"}, []string{"PUT"}, []string{"DELETE"}
	imp := api.NewImports(a.gate, a.Imports, a.keys)
	hooks := api.NewWebhooks(a.gate, a.Webhooks, a.keys)
	list := []api.Route{
		{Pattern: "/healthz", Methods: get, Out: alive{}, Tag: "operation", Doc: "The process lives", Public: true, Handler: http.HandlerFunc(a.healthz)},
		{Pattern: "/readyz", Methods: get, Out: servable{}, Tag: "operation", Doc: "Requests can be served: database usable, not stopping", Public: true,
			Handler: http.HandlerFunc(a.readyz)},
		{Pattern: "/openapi.json", Methods: get, Tag: "operation", Doc: "This document", Public: true, Handler: a.document.Handler()},
		{Pattern: "/types.ts", Methods: get, Media: "text/plain", Tag: "operation", Public: true, Handler: serveTypes(),
			Doc: "Types of records, verbs and functions for supabase-js: createClient<Database>()"},
		{Pattern: "/catalog.json", Methods: get, Tag: "operation", Public: true, Handler: a.description,
			Doc: "What the collections are: fields, types, units, states, references; for clients that make lists and forms of them"},
		{Pattern: "/{$}", Methods: get, Out: places{}, Tag: "operation", Doc: "Where things are", Public: true, Handler: http.HandlerFunc(a.index)},
		{Pattern: "/v1/{$}", Methods: get, Tag: "operation", Doc: "The OpenAPI document of what the caller may use", Handler: a.platform.Root(a.document)},
		{Pattern: "/rest/v1/{$}", Methods: get, Tag: "operation", Doc: "The OpenAPI document of what the caller may use", Handler: a.platform.Root(a.document)},
		{Pattern: "/v1/rate-limit/status", Methods: get, Out: api.RateLimitStatus{}, Tag: "limits",
			Doc: "What the caller has left in each window", Handler: a.platform.RateLimits()},
		{Pattern: "/v1/permissions", Methods: get, Out: api.PermissionsAnswer(), Tag: "people",
			Doc: "What the caller may do to each collection and function; user_id: what that member may (administrators)", Handler: a.permissions().Handler()},
		{Pattern: "/v1/backup-status", Methods: get, Out: api.BackupStatus{}, Tag: "operation", Doc: "How old the last good backup of the server is (administrators)",
			Handler: api.Backups(a.gate, a.backups.status)},
		{Pattern: "/v1/cache", Methods: del, Status: http.StatusNoContent, Tag: "limits",
			Doc: "Forget the tenant's kept answers (administrators)", Handler: a.platform.ClearCache()},
		{Pattern: "/v1/import-jobs", Methods: post, Made: jobs.Job{}, Tag: "imports", Doc: "Create an import job, with its file (multipart) or without (JSON)",
			Handler: imp.Create(), Keyed: true,
			Body: map[string]string{"file": "file", "target": "string", "mapping": "object", "options": "object"}},
		{Pattern: "/v1/import-jobs/{id}/file", Methods: put, Out: jobs.Job{}, Tag: "imports", Doc: "Upload the file of an import job", Handler: imp.File()},
		{Pattern: "/v1/import-jobs/{id}/cancel", Methods: post, Out: jobs.Job{}, Tag: "imports",
			Doc:     "End a job nothing of which was applied, and forget its file",
			Handler: imp.Cancel()},
		{Pattern: "/v1/import-jobs/{id}/errors", Methods: get, Out: imports.ErrorPage{}, Tag: "imports",
			Doc: "Rows that were refused, by line and column", Handler: imp.Errors()},
		{Pattern: "/v1/import-jobs/{id}/rows", Methods: get, Out: imports.RowPage{}, Tag: "imports",
			Doc: "Rows of the file with what is wrong with them, what they would write (parsed, until they are applied) and what became of them (action: " +
				"insert, update or unchanged; entity_type, entity_id); status (valid, invalid, applied, skipped, rolled_back), code and column filter", Handler: imp.Rows()},
		{Pattern: "/v1/import-jobs/{id}/rows/{row}", Methods: []string{"PATCH"}, Out: imports.StagedRow{}, Tag: "imports",
			Doc: "Correct a row: {cells: {header: text}}; it is checked anew", Handler: imp.Row(),
			Body: map[string]string{"cells": "object"}},
		{Pattern: "/v1/import-jobs/{id}/progress", Methods: get, Out: imports.Progress{}, Media: "text/event-stream", Tag: "imports",
			Doc: "How far the job is; with Accept: text/event-stream again whenever it is further", Handler: imp.Progress()},
		{Pattern: "/v1/import-jobs/{id}/preview", Methods: get, Out: imports.PreviewPage{}, Tag: "imports",
			Doc:     "What applying would do: inserts, and updates with before and after",
			Handler: imp.Preview()},
		{Pattern: "/v1/import-jobs/{id}/corrected", Methods: get, Media: "text/csv", Tag: "imports",
			Doc: "The file with its corrections, as CSV; status=invalid gives the refused rows with the reasons", Handler: imp.Corrected()},
	}
	list = append(list,
		api.Route{Pattern: "/v1/events", Methods: get, Media: "text/event-stream", Tag: "events", Doc: "What happens in the tenant, as server-sent events",
			Handler: api.NewEvents(a.gate, a.notifier, a.catalog).Handler()},
		api.Route{Pattern: "/v1/webhooks", Methods: post, Made: webhook.Endpoint{}, Tag: "webhooks",
			Doc:     "Make a webhook; its secret is answered this once (administrators)",
			Handler: hooks.Create(), Keyed: true,
			Body: map[string]string{"url": "string", "events": "array", "description": "string", "status": "string"}},
		api.Route{Pattern: "/v1/webhooks/{id}/rotate", Methods: post, Out: webhook.Endpoint{}, Tag: "webhooks",
			Doc: "Give a webhook a new secret; the old one signs too for a day", Handler: hooks.Rotate(), Keyed: true},
		api.Route{Pattern: "/v1/webhooks/{id}/test", Methods: post, Out: webhook.Queued{}, Status: http.StatusAccepted, Tag: "webhooks",
			Doc: "Send webhook.test", Handler: hooks.Test(), Keyed: true},
		api.Route{Pattern: "/v1/webhooks/{id}/replay", Methods: post, Out: webhook.Queued{}, Status: http.StatusAccepted, Tag: "webhooks",
			Doc: "Send again what was queued from, inclusive, to, exclusive, and failed; status=all: everything", Handler: hooks.ReplayRange(), Keyed: true},
		api.Route{Pattern: "/v1/webhooks/{id}/deliveries/{delivery}/replay", Methods: post, Out: webhook.Queued{}, Status: http.StatusAccepted, Tag: "webhooks",
			Doc:     "Send one delivery again",
			Handler: hooks.Replay(), Keyed: true},
	)
	list = append(list, api.Route{Pattern: "/r/{token}", Methods: []string{"GET", "POST"}, Media: "text/html", Tag: "reports",
		Doc:    "The public report page of a place: a form without account or script, and the report (multipart: kind, severity, what; when, name, photo)",
		Public: true, Handler: a.reports, Body: map[string]string{"kind": "string", "severity": "string", "what": "string", "when": "string",
			"name": "string", "photo": "file"}})
	list = append(list, api.NewReportLinks(a.gate, a.desk, a.Config.PublicURL).Routes()...)
	list = append(list, api.NewPhotos(a.gate, a.album, a.keys).Routes()...)
	list = append(list, operation(a).Routes()...)
	list = append(list, api.NewForms(a.gate, osha.NewBooks(a.Store)).Routes()...)
	if a.sink != nil {
		list = append(list, api.Route{Pattern: "/dev/mail", Methods: get, Tag: "operation", Doc: "Mails kept by a development server", Public: true,
			Handler: http.HandlerFunc(a.devMail)})
	}
	return append(list, a.identityRoutes()...)
}

func (a *App) permissions() *api.Permissions {
	return &api.Permissions{Gate: a.gate, Catalog: a.catalog, Functions: a.table, Verbs: a.verbs.All(), Member: a.Identity.Tenants.MemberActor}
}

// identityRoutes lists /auth/v1 for the document; one handler serves them all.
func (a *App) identityRoutes() []api.Route {
	var out []api.Route
	for _, r := range auth.Routes() {
		out = append(out, api.Route{Pattern: "/auth/v1" + r.Pattern, Methods: []string{r.Method}, Tag: "identity", Doc: r.Doc, Public: r.Public,
			Body: r.Body, Query: r.Query, Response: r.Response, Status: r.Status})
	}
	for _, r := range ssoapi.Routes() {
		out = append(out, api.Route{Pattern: "/auth/v1" + r.Pattern, Methods: []string{r.Method}, Tag: "identity", Doc: r.Doc, Public: r.Public,
			Body: r.Body, Status: r.Status})
	}
	return out
}

// Handler returns the whole server, with one line of log for each request where
// log is not nil.
func (a *App) Handler(log *slog.Logger) (http.Handler, error) { return a.handler(a.Config, log) }

// handler is Handler with the proxies and origins of a configuration that may
// be newer than the server's.
func (a *App) handler(c *config.Config, log *slog.Logger) (http.Handler, error) {
	proxies, err := c.Proxies()
	if err != nil {
		return nil, err
	}
	front := &web.Front{Proxies: proxies, Origins: c.CORSOrigins, Log: log, HTTPS: strings.HasPrefix(a.Config.PublicURL, "https://"),
		Observe: a.metrics, Trace: a.tracer, Leaving: &a.ready.draining, Witness: a.witness,
		Used: func(w web.Witnessed) {
			u := identity.KeyUse{Key: w.Key, Address: w.Address, Method: w.Method, Route: w.Route}
			if w.User != "" {
				u.Tenant, u.Account = w.Tenant, w.User
			}
			a.Identity.Keyring.KeyUsed(u, w.RequestID)
		}}
	return front.Handler(a.mux()), nil
}

// mux is everything behind the front.
func (a *App) mux() http.Handler {
	mux := http.NewServeMux()
	for _, r := range a.document.Routes {
		if r.Handler == nil {
			continue
		}
		mount(mux, r)
		if bare := strings.TrimSuffix(r.Pattern, "/{$}"); bare != r.Pattern && bare != "" {
			r.Pattern = bare // or the mux would redirect to the slash
			mount(mux, r)
		}
	}
	records := a.gate.Guard(api.CollectionShape, a.collections.Handler())
	verbs := api.NewVerbs(a.gate, a.verbs, a.keys).Handler()
	for _, prefix := range []string{"/v1/", "/rest/v1/"} {
		mux.Handle(prefix+"{name}", records)
		mux.Handle(prefix+"rpc/{name}", verbs)
		mux.Handle(prefix+"{name}/{id}", records)
	}
	mux.Handle("/functions/v1/{name}", a.functions.Handler())
	mux.Handle("/functions/v1/", a.functions.Handler())
	mux.Handle("/functions/v1", web.Wrap(api.FunctionShape, notHere)) // or the mux would redirect
	mux.Handle("/auth/v1", web.Wrap(auth.Shape, notHere))
	mux.Handle("/auth/v1/", a.secureOnly(http.StripPrefix("/auth/v1", a.identityFace())))
	mux.Handle(console.Prefix, a.console)
	mux.Handle("GET /docs", a.reference)
	mux.Handle("GET /docs/{file...}", a.reference)
	mux.Handle(strings.TrimSuffix(console.Prefix, "/"), http.RedirectHandler(console.Prefix, http.StatusPermanentRedirect))
	mux.Handle("/", web.Wrap(api.CollectionShape, notHere))
	return straight(mux)
}

// straight answers what http.ServeMux would redirect, in HTML: a path that is
// not written as the routes are is served by nobody, and its error is its
// surface's.
func straight(next http.Handler) http.Handler {
	lost := web.Wrap(surfaceShape, func(_ http.ResponseWriter, r *http.Request) error {
		return fault.New(fault.NotFound, "PGRST125", "nothing is served at this path").With("", "write it without empty or dotted segments: "+clean(r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; !plain(p) && p != clean(p) {
			lost.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// plain reports a path without anything that clean could change, which most are.
func plain(p string) bool {
	return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.")
}

// clean is a path as http.ServeMux wants it: no empty and no dotted segments,
// the last slash kept.
func clean(p string) string {
	if p == "" || p == "*" {
		return p
	}
	out := path.Clean("/" + p)
	if out != "/" && strings.HasSuffix(p, "/") {
		out += "/"
	}
	return out
}

// surfaceShape is the error body of the surface a path belongs to.
func surfaceShape(r *http.Request, e *fault.Error) web.Reply {
	for prefix, shape := range map[string]web.Shape{"/functions/": api.FunctionShape, "/auth/": auth.Shape} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return shape(r, e)
		}
	}
	return api.CollectionShape(r, e)
}

// mount serves one route, and refuses its other methods in the surface's body.
// Where a collection answers the path's other methods, the method is part of
// the pattern.
func mount(mux *http.ServeMux, r api.Route) {
	if r.Tag == "imports" || r.Tag == "webhooks" {
		for _, m := range r.Methods {
			mux.Handle(m+" "+r.Pattern, r.Handler)
		}
		return
	}
	mux.Handle(r.Pattern, web.Wrap(api.CollectionShape, func(w http.ResponseWriter, req *http.Request) error {
		if req.Method == http.MethodHead && slices.Contains(r.Methods, http.MethodGet) || slices.Contains(r.Methods, req.Method) {
			web.Note(w, r.Pattern, "", "", "")
			r.Handler.ServeHTTP(w, req)
			return nil
		}
		w.Header().Set("Allow", web.Allow(r.Methods))
		if req.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return fault.New(fault.BadMethod, "PGRST117", "%s is not served here; use %s", req.Method, strings.Join(r.Methods, ", "))
	}))
}

func notHere(_ http.ResponseWriter, r *http.Request) error {
	return fault.New(fault.NotFound, "PGRST125", "nothing is served at this path").
		With("", "the API is under /v1, /rest/v1, /functions/v1 and /auth/v1; /openapi.json lists it")
}

// index leads a browser to the console and tells a program where things are.
func (a *App) index(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if console.Wanted(r) {
		http.Redirect(w, r, console.Prefix, http.StatusSeeOther)
		return
	}
	u := a.Config.PublicURL
	web.JSON(w, http.StatusOK, places{Name: "Holdfast", Version: Version, OpenAPI: u + "/openapi.json", Collections: u + "/v1/", REST: u + "/rest/v1/",
		Functions: u + "/functions/v1/", Auth: u + "/auth/v1/", Health: u + "/healthz", Ready: u + "/readyz", Console: u + console.Prefix})
}

// places are the addresses of what is served.
type places struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	OpenAPI     string `json:"openapi" format:"uri"`
	Collections string `json:"collections" format:"uri"`
	REST        string `json:"rest" format:"uri"`
	Functions   string `json:"functions" format:"uri"`
	Auth        string `json:"auth" format:"uri"`
	Health      string `json:"health" format:"uri"`
	Ready       string `json:"ready" format:"uri"`
	Console     string `json:"console" format:"uri"`
}

// secureOnly refuses credentials that crossed a network in the clear: on a
// listener that others can reach, without TLS here or at a trusted proxy.
func (a *App) secureOnly(next http.Handler) http.Handler {
	if a.Config.Loopback() || a.Config.TLS() {
		return next
	}
	return web.Wrap(auth.Shape, func(w http.ResponseWriter, r *http.Request) error {
		if web.Encrypted(r) || r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/auth/v1/.well-known/") {
			next.ServeHTTP(w, r)
			return nil
		}
		return fault.New(fault.Forbidden, "https_required",
			"credentials are taken over HTTPS only: set tls_cert and tls_key, put a TLS proxy in front and name it in trusted_proxies, or listen on 127.0.0.1")
	})
}
