package app

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/api"
	"holdfast/internal/api/absent"
	"holdfast/internal/api/auth"
	"holdfast/internal/api/page"
	"holdfast/internal/api/route"
	ssoapi "holdfast/internal/api/sso"
	"holdfast/internal/backups"
	"holdfast/internal/config"
	"holdfast/internal/console"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/safety/osha"
	"holdfast/internal/warehouse/costs"
	"holdfast/internal/warehouse/papers"
	"holdfast/internal/web"
)

// routeTable is what an application serves.
type routeTable struct{ *App }

// allRoutes is everything that is served, each with who may ask for it. The OpenAPI
// document is made from it, the catalog and the tables of functions and verbs;
// docs/routes.md shows it.
func (a routeTable) allRoutes() []route.Route {
	return slices.Concat(
		a.operationRoutes(), a.recordRoutes(),
		api.NewImports(a.gate, a.Imports, a.keys).Routes(),
		api.NewEvents(a.gate, a.notifier, a.catalog).Routes(),
		api.NewWebhooks(a.Webhooks, a.keys).Routes(),
		api.NewReportLinks(a.desk, a.Config.PublicURL).Routes(),
		api.NewPhotos(a.album, a.keys).Routes(),
		api.NewFiles(a.evidence, a.album, a.keys).Routes(),
		api.NewForms(osha.NewBooks(a.Store)).Routes(),
		api.NewSheets(a.printer, a.links, a.Config.PublicURL).Routes(),
		page.NewScreens(a.gate, a.screens, a.Config.PublicURL).Routes(),
		api.NewLabels(papers.NewPrinter(a.Store)).Routes(),
		api.NewStockValue(costs.NewBooks(a.Store)).Routes(),
		api.NewEPCIS(papers.NewVisibility(a.Store)).Routes(),
		newOperation(a.App).Routes(), absent.Routes(a.gate),
		a.pageRoutes(), a.identityRoutes(),
	)
}

// operationRoutes are what the server says of itself and of the caller.
func (a routeTable) operationRoutes() []route.Route {
	doc := "What the caller may use of the collections, in Swagger 2.0; with Accept: application/vnd.oai.openapi+json in OpenAPI 3.1"
	return []route.Route{
		{Method: "GET", Pattern: "/healthz", Who: route.Public, Handle: route.Plain(http.HandlerFunc(serveHealthz)),
			Out: alive{}, Tag: "operation", Doc: "The process lives"},
		{Method: "GET", Pattern: "/readyz", Who: route.Public, Handle: route.Plain(http.HandlerFunc(a.serveReadyz)),
			Out: servable{}, Tag: "operation", Doc: "Requests can be served: database usable, not stopping"},
		{Method: "GET", Pattern: "/openapi.json", Who: route.Public, Handle: route.Plain(a.document.Handler()),
			Tag: "operation", Doc: "This document"},
		{Method: "GET", Pattern: "/types.ts", Who: route.Public, Handle: route.Plain(serveTypes()), Media: "text/plain",
			Tag: "operation", Doc: "Types of records, verbs and functions for supabase-js: createClient<Database>()"},
		{Method: "GET", Pattern: "/catalog.json", Who: route.Public, Handle: route.Plain(a.description), Tag: "operation",
			Doc: "What the collections are: fields, types, units, states, references; settings and types of events; " +
				"for clients that make lists and forms of them"},
		{Method: "GET", Pattern: "/{$}", Who: route.Public, Handle: route.Plain(http.HandlerFunc(a.serveIndex)),
			Out: places{}, Tag: "operation", Doc: "Where things are"},
		{Method: "GET", Pattern: "/.well-known/security.txt", Who: route.Public, Media: "text/plain", Tag: "operation",
			Handle: api.TellSecurity(api.SecurityContact{Contact: a.Config.SecurityContact, URL: a.Config.PublicURL}, a.now),
			Doc:    "Who answers when somebody finds a weakness of this server (RFC 9116); 404 where none is named"},
		{Method: "GET", Pattern: "/v1/{$}", Who: route.Visitor, Tag: "operation", Doc: doc,
			Handle: api.Root(a.document, "/v1")},
		{Method: "GET", Pattern: "/rest/v1/{$}", Who: route.Visitor, Tag: "operation", Doc: doc,
			Handle: api.Root(a.document, "/rest/v1")},
		{Method: "GET", Pattern: "/v1/rate-limit/status", Who: route.SignedIn, Question: true, Handle: a.platform.RateLimits,
			Out: api.RateLimitStatus{}, Tag: "limits",
			Doc: "What the caller has left in each window, and what all of its tenant have"},
		{Method: "GET", Pattern: "/v1/permissions", Who: route.SignedIn, Handle: a.newPermissions().Serve,
			Out: api.PermissionsAnswer(), Tag: "people", Query: map[string]string{"user_id": "string"},
			Doc: "What the caller may do to each collection and function; user_id: what that member may (administrators)"},
		{Method: "GET", Pattern: "/v1/backup-status", Who: route.SignedIn, Handle: api.Backups(a.backups.cachedStatus),
			Out: backups.Status{}, Tag: "operation", Doc: "How old the last good backup of the server is (administrators)"},
		{Method: "GET", Pattern: "/v1/server", Who: route.SignedIn, Handle: api.TellServer(a.describeServer),
			Out: api.ServerAnswer{}, Tag: "operation", Doc: "Which version runs, on which database (administrators)"},
		{Method: "DELETE", Pattern: "/v1/cache", Who: route.SignedIn, Handle: a.platform.ClearCache, Reads: true,
			Status: http.StatusNoContent, Tag: "limits", Doc: "Forget the tenant's kept answers (administrators)"},
	}
}

// recordRoutes are what answers by a name: collections, verbs and functions. The
// document describes each of them by what it is.
func (a routeTable) recordRoutes() []route.Route {
	records := route.Plain(a.gate.Guard(route.CollectionShape, a.collections.Handler()))
	verbs := api.NewVerbs(a.gate, a.verbs, a.keys).Serve
	calls := a.functions.Serve
	var list []route.Route
	for _, prefix := range []string{"/v1/", "/rest/v1/"} {
		list = append(list,
			route.Route{Pattern: prefix + "{name}", Handle: records, Doc: "Records of a collection, in PostgREST's grammar"},
			route.Route{Pattern: prefix + "{name}/{id}", Handle: records, Doc: "One record of a collection"},
			route.Route{Pattern: prefix + "rpc/{name}", Handle: verbs, Doc: "A verb, by POST; one that only answers by GET too"})
	}
	list = append(list,
		route.Route{Pattern: "/functions/v1/{name}", Handle: calls, Doc: "A function, by the methods it has"})
	for i := range list {
		list[i].Who, list[i].Unlisted = route.Named, true
	}
	return list
}

// pageRoutes are what a browser shows.
func (a routeTable) pageRoutes() []route.Route {
	reports, followUp := route.Plain(a.reports), route.Plain(a.reports.FollowUp())
	follow := "What became of a report, to whoever holds its code, and words that are added to it (multipart: code; words)"
	report := "The public report page, and a report (multipart: kind, severity, what; where, when, name, photo)"
	shared := route.Plain(a.shared)
	list := []route.Route{
		{Method: "GET", Pattern: "/shared/{token}", Who: route.Public, Handle: shared, Media: "text/html", Tag: "sheets",
			Doc: "The page of a shared document, which asks for the password; 404 for a link that has ended or never was"},
		{Method: "POST", Pattern: "/shared/{token}", Who: route.Public, Handle: shared, Media: "application/pdf",
			Tag: "sheets", Body: map[string]string{"password": "string"},
			Doc: "A shared document as whoever shared it reads it now (application/x-www-form-urlencoded: password)"},
		{Method: "GET", Pattern: "/wall", Who: route.Public, Handle: route.Plain(a.wall), Media: "text/html",
			Tag: "screens", Doc: "The page of a hall's screen; its script asks for the board with the token behind #"},
		{Method: "GET", Pattern: "/r/{token}", Who: route.Public, Handle: reports, Media: "text/html", Tag: "reports",
			Doc: report},
		{Method: "POST", Pattern: "/r/{token}", Who: route.Public, Handle: reports, Media: "text/html", Tag: "reports",
			Doc: report,
			Body: map[string]string{"kind": "string", "severity": "string", "where": "string", "what": "string",
				"when": "string", "name": "string", "photo": "file"}},
		{Method: "GET", Pattern: "/r/{token}/status", Who: route.Public, Handle: followUp, Media: "text/html",
			Tag: "reports", Doc: follow},
		{Method: "POST", Pattern: "/r/{token}/status", Who: route.Public, Handle: followUp, Media: "text/html",
			Tag: "reports", Doc: follow, Body: map[string]string{"code": "string", "words": "string"}},
		{Pattern: console.Prefix, Who: route.Public, Handle: route.Plain(a.console), Unlisted: true, Doc: "The console"},
		{Pattern: strings.TrimSuffix(console.Prefix, "/"), Who: route.Public, Unlisted: true, Doc: "The console",
			Handle: route.Plain(http.RedirectHandler(console.Prefix, http.StatusPermanentRedirect))},
		{Method: "GET", Pattern: "/docs", Who: route.Public, Handle: route.Plain(a.reference), Beside: true, Unlisted: true,
			Doc: "The reference"},
		{Method: "GET", Pattern: "/docs/{file...}", Who: route.Public, Handle: route.Plain(a.reference), Beside: true,
			Unlisted: true, Doc: "Guides, pages, and what the reference is made of"},
	}
	if a.sink != nil {
		mails := devMail{a.sink, a.Config.PublicURL}
		list = append(list, route.Route{Method: "GET", Pattern: "/dev/mail", Who: route.Public,
			Handle: route.Plain(http.HandlerFunc(mails.showMails)), Tag: "operation", Doc: "Mails kept by a development server"})
	}
	return list
}

func (a routeTable) newPermissions() *api.Permissions {
	return &api.Permissions{Catalog: a.catalog, Functions: a.table, Verbs: a.verbs.All(),
		Member: a.Identity.Tenants.MemberActor, Locale: a.Identity.Tenants.LocaleOf}
}

// identityRoutes are those of /auth/v1.
func (a routeTable) identityRoutes() []route.Route {
	providers := ssoapi.New(a.SSO, a.Identity)
	own := auth.New(a.Identity, auth.Options{Windows: route.WindowsOf(a.gate), Scopes: keyScopes(a.App),
		Custom: providers.Authorize})
	return append(own.Routes(), providers.Routes()...)
}

// Handler returns the whole server, with one line of log for each request where
// log is not nil.
func (a *App) Handler(log *slog.Logger) (http.Handler, error) { return a.buildHandler(a.Config, log) }

// buildHandler is Handler with the proxies and origins of a configuration that may
// be newer than the server's.
func (a *App) buildHandler(c *config.Config, log *slog.Logger) (http.Handler, error) {
	proxies, err := c.Proxies()
	if err != nil {
		return nil, err
	}
	front := &web.Front{Proxies: proxies, Origins: c.CORSOrigins, Log: log, Shape: route.Shape,
		HTTPS:   strings.HasPrefix(a.Config.PublicURL, "https://"),
		Observe: a.metrics, Trace: a.tracer, Leaving: &a.ready.draining, AuditHook: a.auditRefusal,
		Used: func(w web.AuditedRequest) {
			u := identity.KeyUse{Key: w.Key, Address: w.Address, Method: w.Method, Route: w.Route}
			if w.User != "" {
				u.Tenant, u.Account = w.Tenant, w.User
			}
			a.Identity.Keyring.KeyUsed(u, w.RequestID)
		}}
	return front.Handler(routeTable{a}.secureOnly(a.face)), nil
}

// consoleAt is the console's address with the parameters of the request: mailed
// links come by the server's own address with what they are about.
func consoleAt(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return console.Prefix
	}
	return console.Prefix + "?" + r.URL.RawQuery
}

// serveIndex leads a browser to the console and tells a program where things are.
func (a routeTable) serveIndex(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if console.Wanted(r) {
		http.Redirect(w, r, consoleAt(r), http.StatusSeeOther)
		return
	}
	u := a.Config.PublicURL
	web.JSON(w, http.StatusOK, places{Name: "Holdfast", OpenAPI: u + "/openapi.json", Collections: u +
		"/v1/", REST: u + "/rest/v1/",
		Functions: u + "/functions/v1/", Auth: u + "/auth/v1/", Health: u + "/healthz", Ready: u + "/readyz", Console: u +
			console.Prefix})
}

// places are the addresses of what is served.
type places struct {
	Name        string `json:"name"`
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
func (a routeTable) secureOnly(next http.Handler) http.Handler {
	if a.Config.Loopback() || a.Config.TLS() {
		return next
	}
	refused := web.Wrap(route.IdentityShape, func(w http.ResponseWriter, r *http.Request) error {
		if over := a.gate.TakeSession(w, actor.Actor{Role: actor.Anon}, web.ClientAddress(r)); over != nil {
			return over
		}
		return fault.New(fault.Forbidden, "https_required",
			"credentials are taken over HTTPS only: set tls_cert and tls_key, put a TLS proxy in front and name it in trusted_proxies, or listen on 127.0.0.1")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		published := r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/auth/v1/.well-known/")
		guarded := strings.HasPrefix(r.URL.Path, "/auth/v1/") || strings.HasPrefix(r.URL.Path, "/shared/") ||
			r.URL.Path == "/wall/board"
		if guarded && !published && !web.Encrypted(r) {
			refused.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
