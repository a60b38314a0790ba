package app

import (
	"context"
	"time"

	"holdfast/internal/functions/programme"
	"holdfast/internal/job"
	"holdfast/internal/metrics"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/arrivals"
)

// jobKinds are the jobs of a server: what is done outside requests, by one node
// of a fleet at a time. What each node does for itself is upkeep.
func jobKinds(a *App) []job.Kind {
	noMail := func() bool { return !a.canSendMail() }
	hourly := func(name, doc string, sweep func(context.Context) error) job.Kind {
		return job.Kind{Name: name, Doc: doc, Every: time.Hour, Run: func(ctx context.Context, _ job.Job) error {
			return sweep(ctx)
		}}
	}
	return []job.Kind{
		{Name: "safety-programme", Doc: "inspections that are owed, nightly work and morning digests of every tenant",
			Every: 5 * time.Minute, Claim: 10 * time.Minute,
			Run: func(ctx context.Context, _ job.Job) error { return a.runProgramme(ctx) }},
		programme.Mails(a.mail, noMail),
		a.programme.ClockMails(noMail),
		a.Identity.Invitations.Mails(noMail),
		{Name: "backup", Doc: "make the backup that backup_to asks for, when the last is old enough", Every: backupEvery,
			First: time.Second, Claim: 10 * time.Minute,
			Retries: []time.Duration{backupRetry}, Run: func(ctx context.Context, _ job.Job) error {
				return a.backups.backupIfDue(ctx)
			}},
		lookKind(a),
		drillKind(a),
		hourly("expire-lots", "mark lots expired after the last day of their use", func(ctx context.Context) error {
			return warehouse.ExpireLots(ctx, a.Store)
		}),
		{Name: arrivals.Job,
			Doc:  "promise goods that have come to the orders that wait for them, the most urgent first",
			Keep: time.Hour, Run: func(ctx context.Context, j job.Job) error {
				return warehouse.Watch{LowStock: a.announcer.lowStock}.AllocateArrived(ctx, a.Store, j.Tenant)
			}},
		hourly("allocate-waiting", "promise goods that allocate-open missed to the orders that wait for them",
			func(ctx context.Context) error {
				return warehouse.Watch{LowStock: a.announcer.lowStock}.AllocateWaiting(ctx, a.Store)
			}),
		{Name: "release-reservations", Doc: "give back stock that was promised until a time that is past",
			Every: 5 * time.Minute,
			Run:   func(ctx context.Context, _ job.Job) error { return warehouse.ReleaseReservations(ctx, a.Store) }},
		{Name: "replenish", Doc: "open the tasks of pick zones that hold less than their rules ask for",
			Every: warehouse.ReplenishEvery,
			Run:   func(ctx context.Context, _ job.Job) error { return warehouse.Replenish(ctx, a.Store) }},
		hourly("sweep-import-files", "remove files of imports past their time, and those nobody owns", a.sweepFiles),
		hourly("sweep-sessions", "forget sessions and codes that have run out", a.Identity.Sweep),
		hourly("sweep-sso", "forget single sign-ons that have run out", a.SSO.Sweep),
		hourly("sweep-events", "forget events past their time", a.notifier.Sweep),
		hourly("sweep-webhooks", "forget deliveries past their time", a.Webhooks.Sweep),
		hourly("sweep-idempotency-keys", "forget answers kept for repeats", a.keys.Sweep),
		hourly("sweep-jobs", "forget jobs that were done or given up a month ago", func(ctx context.Context) error {
			return a.jobs.Sweep(ctx)
		}),
	}
}

// JobDocs says what each kind of job does.
func JobDocs(a *App) map[string]string {
	docs := map[string]string{}
	for _, k := range jobKinds(a) {
		docs[k.Name] = k.Doc
	}
	return docs
}

// jobMetrics are how many jobs of each kind wait or were given up, and for how
// long the oldest of those that wait has been due.
func jobMetrics(a *App, counts func() map[string]job.Counts) []metrics.Vector {
	read := func(value func(job.Counts) float64) func() map[string]float64 {
		return func() map[string]float64 {
			now, out := counts(), map[string]float64{}
			for name := range a.jobs.Kinds() {
				out[name] = value(now[name])
			}
			return out
		}
	}
	late := func(c job.Counts) float64 {
		if c.DueSince == nil {
			return 0
		}
		return a.now().Sub(*c.DueSince).Seconds()
	}
	return []metrics.Vector{
		{Name: "holdfast_jobs_pending", Help: "Jobs that wait, by kind.", Label: "kind",
			Read: read(func(c job.Counts) float64 { return float64(c.Pending) })},
		{Name: "holdfast_jobs_failed", Help: "Jobs that were given up, by kind.", Label: "kind",
			Read: read(func(c job.Counts) float64 { return float64(c.Failed) })},
		{Name: "holdfast_jobs_late_seconds", Help: "How long the oldest waiting job has been due, by kind.", Label: "kind",
			Read: read(late)},
	}
}

// RunJobs makes the jobs of a kind due and does them.
func RunJobs(ctx context.Context, a *App, kind string) (done int, err error) {
	if kind == drillJob {
		if err := a.backups.askForDrill(ctx); err != nil {
			return 0, err
		}
	}
	if _, err := job.Hurry(ctx, a.DB, a.now(), job.Filter{Kind: kind}); err != nil {
		return 0, err
	}
	return a.jobs.Round(ctx, kind)
}
