// Package app is the only wiring: configuration to packages to routes to a
// running server, and the verbs of the command line.
//
// Layer: wiring. Begin at [Open].
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	built "holdfast/console"
	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api"
	"holdfast/internal/api/openapi"
	"holdfast/internal/api/page"
	"holdfast/internal/api/route"
	"holdfast/internal/backups/shipping"
	"holdfast/internal/blob"
	"holdfast/internal/cache"
	"holdfast/internal/catalog"
	"holdfast/internal/config"
	"holdfast/internal/console"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/functions/programme"
	"holdfast/internal/idempotency"
	"holdfast/internal/identity"
	"holdfast/internal/imports"
	"holdfast/internal/installation"
	"holdfast/internal/job"
	"holdfast/internal/mail"
	"holdfast/internal/metrics"
	"holdfast/internal/reference"
	"holdfast/internal/safety/evidence"
	"holdfast/internal/safety/photo"
	"holdfast/internal/safety/register"
	"holdfast/internal/safety/report"
	"holdfast/internal/safety/share"
	"holdfast/internal/safety/sheets"
	"holdfast/internal/secrets"
	"holdfast/internal/sso"
	"holdfast/internal/store"
	"holdfast/internal/trace"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse"
	"holdfast/internal/webhook"
)

// stamped is the version that packaging/release links into a binary.
var stamped string

// Version is the product's version: a release's, a tag's, or "dev".
var Version = buildVersion()

func buildVersion() string {
	if stamped != "" {
		return stamped
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "dev"
}

// Mode is what the services are opened for.
type Mode uint8

// Modes of Open.
const (
	Server   Mode = iota // alone on the data directory; migrates
	Tool                 // beside a running server; the schema must be current
	Migrator             // migrates and leaves
)

// App is the product, opened.
type App struct {
	Config   *config.Config
	DB       *db.DB
	Store    *store.Store
	Identity *identity.Service
	SSO      *sso.Service
	Imports  *imports.Importer
	Outbox   *event.Outbox
	Webhooks *webhook.Service

	catalog     *catalog.Catalog
	blobs       blob.Store
	album       *photo.Store
	desk        *report.Service
	reports     *page.Reports
	evidence    *evidence.Store
	printer     *sheets.Printer
	links       *share.Service
	shared      *page.Shared
	screens     *share.Screens
	wall        *page.Wall
	console     *console.Console
	reference   http.Handler
	description http.Handler // of the catalog
	face        http.Handler // of all routes
	sink        *mail.Sink   // nil unless mails are kept for a developer
	cache       *cache.Cache
	gate        *access.Gate
	functions   *api.Functions
	collections *api.Collections
	verbs       *verb.Table
	keys        *idempotency.Keys // of repeated requests
	table       []functions.Function
	programme   *programme.Programme
	jobs        *job.Runner
	platform    *api.Platform
	notifier    *event.Notifier
	mail        mail.Sender
	document    *api.Document
	ready       readiness
	fleet       fleet
	announcer   announcer
	metrics     *metrics.Metrics // nil in a tool
	tracer      *trace.Tracer    // nil in a tool, and where no collector is named
	sender      *metrics.Sender  // nil in the same cases
	analyst     analyst
	backups     *schedule
	guard       *installation.Guard
	ship        *shipping.Shipper // nil = the log is not shipped
	now         func() time.Time
}

// Open opens the database and the services on it.
func Open(ctx context.Context, c *config.Config, mode Mode) (*App, error) {
	a := &App{Config: c, catalog: catalog.Default(), now: time.Now}
	if c.PublicURL == "" && mode == Tool {
		c.PublicURL = RunningURL(c) // links lead to the server beside
	}
	if c.PublicURL == "" {
		c.PublicURL = "http://" + c.Listen
	}
	if mode == Server {
		if err := errors.Join(refusePublishedKey(c), refuseRecipient(c)); err != nil {
			return nil, err
		}
	}
	if err := lostDatabase(c); err != nil {
		return nil, err
	}
	if mode == Server {
		a.metrics = metrics.New(Version, c.Engine())
		var err error
		if a.tracer, err = trace.Open(ctx, Version, os.Getenv); err != nil {
			return nil, err
		}
		if a.sender, err = a.metrics.Send(ctx, Version, os.Getenv); err != nil {
			return nil, err
		}
	}
	err := a.openLimits(mode)
	if err != nil {
		return nil, err
	}
	if mode == Server {
		if a.ship, err = shipping.NewShipper(c, a.now); err != nil {
			a.fleet.leaveFleet()
			return nil, err
		}
	}
	defer a.ship.LogKeeper().Close() // where the database is not opened
	migrate := mode != Tool || !databaseExists(c)
	if migrate && mode == Server {
		if migrate, err = shouldMigrate(ctx, c); err != nil {
			a.fleet.leaveFleet()
			return nil, err
		}
	}
	a.DB, err = db.Open(ctx, db.Options{
		Shipped: a.ship != nil, Kept: a.ship.LogKeeper(), URL: c.DatabaseURL, Dir: c.Data, Exclusive: mode == Server,
		Migrate: migrate, Slow: slowLog(c, mode),
		Pooler: c.DatabasePooler == "transaction", Observe: a.gate.Statements,
	})
	if err != nil {
		a.fleet.leaveFleet()
		return nil, err
	}
	a.analyst.analyze = a.DB.Analyze
	if mode == Migrator {
		return a, nil
	}
	if err := a.openServices(ctx, mode); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// lostDatabase refuses to begin anew where a database has been: an empty one
// beside the old keys and files looks like a loss of everything.
func lostDatabase(c *config.Config) error {
	if c.DatabaseURL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.Data, config.MasterKeyName)); err != nil {
		return nil
	}
	path := filepath.Join(c.Data, db.FileName)
	if st, err := os.Stat(path); err == nil && st.Size() > 0 {
		return nil
	}
	return fmt.Errorf("app: %s is missing or empty, but the data directory has been used: put the database back from where it was moved or from a "+
		"backup, or choose another --data to begin anew", path)
}

// databaseExists reports whether a tool finds a database to work on; on a fresh
// embedded directory it makes one, as the server would.
func databaseExists(c *config.Config) bool {
	if c.DatabaseURL != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(c.Data, db.FileName))
	return err == nil
}

func (a *App) openServices(ctx context.Context, mode Mode) error {
	if err := os.MkdirAll(a.Config.Data, 0o700); err != nil {
		return fmt.Errorf("app: data directory: %w", err)
	}
	a.jobs = job.NewRunner(a.DB, a.now, slog.Default())
	a.jobs.Trace = a.tracer
	a.Outbox = event.New(a.now)
	a.announcer = announcer{a.catalog, a.Outbox}
	var err error
	if a.guard, err = installation.NewGuard(ctx, a.DB, outsidePlaces(a.Config), a.now, mode == Server); err != nil {
		return err
	}
	if err := a.openFiles(ctx, mode); err != nil {
		return err
	}
	if err := a.openIdentity(); err != nil {
		return err
	}
	a.Store = store.New(a.DB, a.catalog, a.effectsTable(), a.now)
	a.album = photo.New(a.Store, a.blobs, int64(a.Config.PhotoQuota)<<20, a.Config.Data)
	if err := a.openWebhooks(); err != nil {
		return err
	}
	a.Imports = imports.New(imports.Options{Store: a.Store, Files: a.blobs,
		Quota: imports.Quota{Bytes: int64(a.Config.ImportQuota) << 20}, OnChange: a.dropImported})
	a.Store.OnChange(a.dropChanged)
	a.programme, a.keys = programme.New(a.Store, a.now, a.programmeHooks()), idempotency.New(a.DB, a.now)
	a.backups = newSchedule(a.DB, a.Config, a.ship, a.guard, a.now)
	a.backups.isBrokenHere = findBrokenAudit(a)
	a.jobs.Handle(jobKinds(a)...)
	if mode != Server {
		return a.openBus(ctx, mode)
	}
	if _, err := a.blobs.SweepTemporary(time.Hour); err != nil {
		return err
	}
	if err := a.recoverImports(ctx); err != nil {
		return err
	}
	// From here on, what other processes write is noticed.
	if _, err := a.DB.WrittenByOthers(ctx); err != nil {
		return err
	}
	if err := a.buildHandlers(); err != nil {
		return err
	}
	a.registerMetrics()
	return a.openBus(ctx, mode)
}

// openFiles opens the files of imports and photos, of which the shipped log is told.
func (a *App) openFiles(ctx context.Context, mode Mode) (err error) {
	if a.blobs, err = blob.Open(ctx, a.Config.BlobURL, filepath.Join(a.Config.Data, "files")); err != nil {
		return err
	}
	if a.ship != nil {
		a.blobs, err = a.ship.JoinDatabase(ctx, a.DB, a.guard, a.blobs)
	} else if mode == Server {
		err = shipping.StopShipping(a.Config)
	}
	a.blobs = installation.Files{Store: a.blobs, Guard: a.guard}
	return err
}

// buildHandlers makes what stands between the services and HTTP.
func (a *App) buildHandlers() (err error) {
	a.cache = cache.New(cache.Options{})
	a.table = functions.Table(functions.Deps{Store: a.Store, Imports: a.Imports, Now: a.now, Programme: a.programme})
	a.functions = api.NewFunctions(a.gate, a.cache, a.keys, a.table)
	master, err := masterKey(a.Config)
	if err != nil {
		return err
	}
	signer, err := secrets.New(master)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	a.collections = api.NewCollections(a.Store, a.keys, signer.Sum)
	a.verbs = verb.NewTable(a.Store,
		slices.Concat(warehouse.Watch{LowStock: a.announcer.lowStock}.Verbs(), register.Verbs()))
	a.platform = api.NewPlatform(a.gate, a.clearTenant)
	a.document = &api.Document{Source: openapi.Source{URL: a.Config.PublicURL, Version: route.Contract, Catalog: a.catalog,
		Functions: a.table, Verbs: a.verbs.All()}}
	a.desk = report.New(a.Store, a.album)
	if a.reports, err = page.NewReports(a.gate, a.desk, a.album); err != nil {
		return err
	}
	a.evidence = evidence.New(a.Store, a.blobs, a.album)
	a.printer = sheets.NewPrinter(a.Store, a.blobs, a.album, a.evidence)
	a.links = share.New(a.Store, a.printer, shareIdentity(a.Identity))
	if a.shared, err = page.NewShared(a.gate, a.links); err != nil {
		return err
	}
	a.screens = share.NewScreens(a.Store)
	if a.wall, err = page.NewWall(); err != nil {
		return err
	}
	a.reference = reference.Handler()
	if a.console, err = console.New(built.Dist(), consoleSettings(a.Config)); err != nil {
		return err
	}
	if a.description, err = api.Description(a.catalog); err != nil {
		return err
	}
	a.document.Routes = routeTable{a}.allRoutes()
	a.face, err = route.Handler(&route.Authenticator{Gate: a.gate, Identity: a.Identity, SSO: a.SSO,
		Windows: route.WindowsOf(a.gate)}, a.document.Routes)
	return err
}

// knownTenant refuses an id that no tenant has.
func (a *App) knownTenant(ctx context.Context, id string) error {
	err := a.DB.Read(ctx, db.Scope{Tenant: id}, func(tx *db.Tx) error {
		return tx.Last().One("SELECT 1 FROM tenants WHERE id = $1", []any{id}, func(*db.Row) error { return nil })
	})
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "", "there is no tenant %s", id).At("tenant_id", "unknown")
	}
	return err
}

// openWebhooks makes the reader of the outbox and what it feeds.
func (a *App) openWebhooks() error {
	key, err := masterKey(a.Config)
	if err != nil {
		return err
	}
	a.Webhooks, err = webhook.New(webhook.Options{Store: a.Store, Key: key, AllowPrivate: a.Config.WebhookPrivate,
		AllowLoopback: a.Config.Demo && a.Config.Loopback(), Now: a.now,
		Product: a.Config.ProductName, Notify: a.mailDisabledWebhook, Held: a.guard.IsHeld})
	if err != nil {
		return err
	}
	a.notifier = event.NewNotifier(a.DB, a.Outbox, a.Webhooks.Publish)
	return nil
}

// mailDisabledWebhook tells a tenant's administrators.
func (a *App) mailDisabledWebhook(ctx context.Context, n webhook.Notice) error {
	text := a.Config.ProductName + " no longer sends events to\n\n  " + n.URL + "\n\nbecause " + n.Reason +
		". Put the receiver right, then make the webhook active again: what was missed can be replayed for 30 days.\n"
	var errs []error
	for _, to := range n.Emails {
		errs = append(errs, a.mail.Send(ctx, mail.Message{To: to, Subject: "A webhook was disabled", Text: text,
			Kind: "webhook_disabled"}))
	}
	return errors.Join(errs...)
}

// dropImported is changed for bulk writes: all that is kept of the tenant goes,
// also what single writes leave alone, and the planner learns of them too.
func (a *App) dropImported(tenant string, collections []string) {
	a.clearTenant(tenant)
	a.analyst.queueTables(collections)
}

func (a *App) openIdentity() error {
	c := a.Config
	key, err := masterKey(c)
	if err != nil {
		return err
	}
	mailer, err := a.newMailer()
	if err != nil {
		return err
	}
	mailer = installation.Mail{Sender: mailer, Guard: a.guard}
	a.mail = mailer
	settings, err := a.signInConfig(key)
	if err != nil {
		return err
	}
	if settings.SMS != nil {
		settings.SMS = heldTexts{settings.SMS, a.guard}
	}
	if a.Identity, err = identity.New(settings, a.DB, mailer, a.now); err != nil {
		return err
	}
	a.SSO, err = sso.New(sso.Config{PublicURL: c.PublicURL, SAML: c.SAML, AllowPrivate: c.SSOAllowPrivate,
		RequestTTL: c.ProviderTTL, MasterKey: key, Log: slog.Default()}, a.DB, a.Identity, a.now)
	return err
}

// newMailer sends by SMTP when that is configured; a development server keeps
// mails to be read; otherwise a mail is an error that the log names.
func (a *App) newMailer() (mail.Sender, error) {
	if a.Config.SMTPURL != "" {
		return mail.NewSMTP(a.Config.SMTPURL, a.Config.MailFrom)
	}
	if a.Config.Dev {
		a.sink = &mail.Sink{}
		return a.sink, nil
	}
	return noMail{}, nil
}

type noMail struct{}

func (noMail) Send(context.Context, mail.Message) error {
	return errors.New("no mail server is configured: set HOLDFAST_SMTP_URL")
}

// masterKey reads the key that seals stored secrets, or makes one beside the
// data. A fleet must be given one, so that every node has the same.
func masterKey(c *config.Config) ([]byte, error) {
	key, err := c.ReadMasterKey()
	if errors.Is(err, os.ErrNotExist) {
		return makeKey(c.MasterKeyPath())
	}
	return key, err
}

func (a *App) authenticateRequest(r *http.Request) (actor.Actor, error) {
	return a.Identity.Authenticator.Authenticate(r.Context(), route.Credential(r))
}

// Close ends the services and the database.
func (a *App) Close() {
	a.sender.Close() // some of its numbers are read from what is closed below
	if a.cache != nil {
		a.cache.Close()
	}
	a.fleet.leaveFleet()
	if a.Identity != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := a.Identity.Close(ctx); err != nil {
			slog.Warn("not all that waited in memory was sent or written before stopping", "error", err)
		}
	}
	if a.Imports != nil {
		a.Imports.Close()
	}
	if a.blobs != nil {
		a.blobs.Close()
	}
	a.analyst.stopWork()
	if err := a.DB.Close(); err != nil {
		slog.Error("close database", "error", err)
	}
	a.ship.NoteClosed()
	a.tracer.Close()
}

// Verbs returns the table of verbs.
func (a *App) Verbs() []verb.Verb { return a.verbs.All() }

// Functions returns the function table.
func (a *App) Functions() []functions.Function { return a.table }
