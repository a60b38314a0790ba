package app

import (
	"context"
	"log/slog"
	"math"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/job"
	"holdfast/internal/metrics"
)

// scrapeTime bounds what a scrape reads from the database.
const scrapeTime = 3 * time.Second

// queues is what waits in the database to be told or sent.
type queues struct {
	unpublished, due int64
	oldest, overdue  time.Duration
	jobs             map[string]job.Counts
}

// registerMetrics adds what the services know of themselves to the metrics.
func (a *App) registerMetrics() {
	gauge := func(name, help string, read func() float64) metrics.Value {
		return metrics.Value{Name: "holdfast_" + name, Help: help, Read: read}
	}
	counter := func(name, help string, read func() float64) metrics.Value {
		return metrics.Value{Name: "holdfast_" + name, Help: help, Read: read, Counter: true}
	}
	queue := cacheBriefly(a.readQueues)
	if a.tracer != nil {
		a.metrics.Watch(
			counter("trace_spans_total", "Spans of traces that ended.", func() float64 {
				n, _ := a.tracer.Counts()
				return float64(n)
			}),
			counter("trace_spans_sent_total", "Of these, those that the collector took; the others wait or are lost.",
				func() float64 {
					_, n := a.tracer.Counts()
					return float64(n)
				}))
	}
	a.metrics.Watch(a.backups.metricValues()...)
	a.metrics.Watch(a.ship.MetricValues()...)
	a.metrics.Watch(heldMetric(a.guard))
	a.metrics.Watch(stateMetrics(a)...)
	a.metrics.WatchVectors(jobMetrics(a, func() map[string]job.Counts { return queue().jobs })...)
	a.metrics.Watch(
		counter("cache_hits_total", "Kept answers given.", func() float64 { return float64(a.cache.Stats().Hits) }),
		counter("cache_misses_total", "Answers that were made.", func() float64 { return float64(a.cache.Stats().Misses) }),
		counter("cache_shared_total", "Of these, those that waited for another caller's making.", func() float64 {
			return float64(a.cache.Stats().Shared)
		}),
		gauge("cache_entries", "Answers kept.", func() float64 { return float64(a.cache.Stats().Entries) }),
		gauge("cache_bytes", "Bytes charged to kept answers.", func() float64 { return float64(a.cache.Stats().Bytes) }),
		gauge("db_connections_max", "Connections of the pool; readers on SQLite.", func() float64 {
			return float64(a.DB.Pool().Max)
		}),
		gauge("db_connections_in_use", "Connections in use.", func() float64 { return float64(a.DB.Pool().InUse) }),
		gauge("db_writes_queued", "Writes that wait for SQLite's writer.", func() float64 {
			return float64(a.DB.Pool().Queued)
		}),
		counter("db_waits_total", "Times a caller waited for a connection.", func() float64 {
			return float64(a.DB.Pool().Waits)
		}),
		counter("db_waited_seconds_total", "How long callers waited for connections.", func() float64 {
			return a.DB.Pool().Waited.Seconds()
		}),
		gauge("outbox_unpublished", "Events written and not yet published, 10,000 at most; -1 = the database does not answer.", func() float64 {
			return float64(queue().unpublished)
		}),
		gauge("outbox_lag_seconds", "Age of the oldest of them.", func() float64 { return queue().oldest.Seconds() }),
		gauge("webhook_due", "Webhooks that have deliveries due; -1 = the database does not answer.", func() float64 {
			return float64(queue().due)
		}),
		gauge("webhook_lag_seconds", "How long the longest of them has been due.", func() float64 {
			return queue().overdue.Seconds()
		}),
		gauge("limit_redis_away", "1 while each node counts for itself because Redis is away.", func() float64 {
			return boolValue(a.fleet.degradedReason() != "")
		}),
		gauge("nodes", "Servers on this database.", func() float64 { return float64(a.fleet.countNodes()) }),
	)
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// cacheBriefly reads the queues once for the several numbers of one scrape.
func cacheBriefly(read func(context.Context) (queues, error)) func() queues {
	var mu = make(chan struct{}, 1)
	var kept queues
	var at time.Time
	return func() queues {
		mu <- struct{}{}
		defer func() { <-mu }()
		if time.Since(at) < time.Second {
			return kept
		}
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
		defer cancel()
		var err error
		if kept, err = read(ctx); err != nil {
			slog.Warn("metrics: the queues cannot be read", "error", err)
			kept = queues{unpublished: -1, due: -1}
		}
		at = time.Now()
		return kept
	}
}

// readQueues looks at the ends of two indexes that hold only what waits.
func (a *App) readQueues(ctx context.Context) (q queues, err error) {
	now := a.now()
	since := func(r *db.Row, i int) time.Duration {
		if r.Null(i) {
			return 0
		}
		return time.Duration(math.Max(0, float64(now.Sub(r.Time(i)))))
	}
	err = a.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue(`
			SELECT COUNT(*)
			FROM (SELECT id FROM outbox WHERE seq IS NULL LIMIT 10000) AS waiting`, nil,
			func(r *db.Row) error {
				q.unpublished = r.Int(0)
				return nil
			})
		tx.Queue("SELECT at FROM outbox WHERE seq IS NULL ORDER BY id LIMIT 1", nil, func(r *db.Row) error {
			q.oldest = since(r, 0)
			return nil
		})
		tx.Queue(`
			SELECT COUNT(*), MIN(next_at)
			FROM webhook_lanes
			WHERE active
				AND next_at <= $1`, []any{now},
			func(r *db.Row) error {
				q.due, q.overdue = r.Int(0), since(r, 1)
				return nil
			})
		return tx.Flush()
	})
	if err == nil {
		q.jobs, err = job.Count(ctx, a.DB, now)
	}
	return q, err
}
