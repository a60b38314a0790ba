package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/load"
	"holdfast/bench/peers"
)

// besides is a run of the product beside programs of others.
type besides struct {
	*measurement
	keep    string            // folder of the peers' programs
	only    []string          // peers that are asked for; none = all
	program map[string]string // of peers that are there
	run     *peers.Run
}

// Where the comparison is told, below the folder that it is run in.
const (
	peersFigures = "bench/figures/peers.json"
	peersPage    = "docs/performance.md"
	peersPicture = "docs/images/speed-peers.svg"
)

const peersUsage = `Usage: bench peers [flags], in the project's root, after make build

Gets programs of others from their registries, lets each of them and Holdfast and the
hand-written limit do the same work in turns, and writes what came of it into
` + peersFigures + `, ` + peersPage + ` and ` + peersPicture + `.
A peer that cannot be had here is named there, with the reason.

It needs Go and npm to get the peers (the first run builds for some minutes) and, for
PostgreSQL, the server's programs. All servers listen on 127.0.0.1.

`

// comparePeers is the part "peers".
func comparePeers(args []string) error {
	b := &besides{measurement: &measurement{}, program: map[string]string{}}
	var only string
	var draw bool
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), peersUsage)
		f.PrintDefaults()
	}
	f.IntVar(&b.rounds, "rounds", 5, "rounds of each row; the median counts")
	f.Float64Var(&b.seconds, "seconds", 0.8, "length of a turn")
	f.Float64Var(&b.scale, "scale", 0.2, "size of a tenant; 1 = 134,000 records")
	f.IntVar(&b.tenants, "tenants", 3, "tenants in each database")
	f.StringVar(&b.server, "server", "bin/holdfast", "the server's binary")
	f.StringVar(&b.dir, "dir", os.TempDir(), "where databases are made (and removed)")
	f.StringVar(&b.keep, "keep", "bin/peers", "where the peers' programs are built and found again")
	f.StringVar(&only, "only", "", "comma separated: peers to measure; nothing is written then")
	f.BoolVar(&draw, "draw", false, "write the page and the picture from "+peersFigures+" and measure nothing")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if draw {
		return publishPeers()
	}
	if only != "" {
		b.only = strings.Split(only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return b.all(ctx)
}

// all measures every row and publishes, or says why not.
func (b *besides) all(ctx context.Context) (err error) {
	if _, err := os.Stat(b.server); err != nil {
		return fmt.Errorf("%w; build it with make build", err)
	}
	if _, err := os.Stat(peersPage); err != nil && b.only == nil {
		return fmt.Errorf("%w; run it in the project's root", err)
	}
	if b.rounds < 1 || b.tenants < 1 || b.seconds <= 0 || b.scale < 0.04 {
		return errors.New("at least a round, a tenant, a moment and a scale of 0.04 (two pages of 50) are needed")
	}
	b.get(ctx)
	if b.table, err = newTable(""); err != nil {
		return err
	}
	of := data.Standard(1, b.scale)
	b.run.At, b.run.Processors, b.run.Rounds, b.run.Seconds = time.Now(), runtime.NumCPU(), b.rounds, b.seconds
	b.run.Tenants, b.run.Records, b.run.Orders, b.run.Load[0] = b.tenants, of.Rows(), of.Orders, machineLoad()
	if err := b.pocketRest(ctx); err != nil {
		return err
	}
	for _, engine := range []string{"sqlite", "postgresql"} {
		if err := b.allOn(ctx, engine); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
	}
	b.run.Load[1] = machineLoad()
	for _, row := range peers.Rows {
		if f := b.run.Find(row); f.Why != "" {
			fmt.Printf("left out: %s, %s: %s\n", row.Peer, row.Title, f.Why)
		}
	}
	if b.only != nil {
		return nil
	}
	if err := b.run.Save(peersFigures); err != nil {
		return err
	}
	return publishPeers()
}

// get gets every peer that is asked for. What cannot be had is left out, with all
// of its rows.
func (b *besides) get(ctx context.Context) {
	b.run = &peers.Run{Versions: map[string]string{}}
	for _, p := range peers.All {
		if b.only != nil && !slices.Contains(b.only, p.Name) {
			b.leave(p, "not asked for")
			continue
		}
		fmt.Fprintf(os.Stderr, "getting %s %s\n", p.Name, p.Version)
		at, err := p.Get(ctx, b.keep)
		if err != nil {
			fmt.Fprintf(os.Stderr, "  left out: %v\n", err)
			b.leave(p, fmt.Sprintf("%s is not to be had: %v", p.Version, err))
			continue
		}
		b.program[p.Name], b.run.Versions[p.Name] = at, p.Version
	}
}

// leave leaves out the rows of a peer that have no figures.
func (b *besides) leave(p peers.Peer, why string) {
	for _, row := range p.Of() {
		if len(b.run.Find(row).Holdfast) == 0 {
			b.run.Add(peers.Figure{Row: row, Why: why})
		}
	}
}

// publishPeers writes the page and the picture from the figures.
func publishPeers() error {
	run, err := peers.Load(peersFigures)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(peersPage)
	if err != nil {
		return err
	}
	if page, err = peers.Publish(page, run); err != nil {
		return fmt.Errorf("%s: %w", peersPage, err)
	}
	return errors.Join(os.WriteFile(peersPage, page, 0o644), os.WriteFile(peersPicture, drawPeers(run), 0o644))
}

// drawPeers draws what the limit has too: of Holdfast and of each peer a bar.
func drawPeers(run *peers.Run) []byte {
	list := []series{{label: "Holdfast"}}
	for _, p := range peers.All {
		s := series{label: p.Name}
		for _, row := range p.Of() {
			f := run.Find(row)
			ours, ok := peers.Ratio(f.Holdfast, f.ByHand)
			theirs, known := peers.Ratio(f.Other, f.ByHand)
			if ok && known {
				list[0].results = append(list[0].results, result{Case: row.Title, Engine: row.Engine, Value: ours.Median,
					Low: ours.Low, High: ours.High})
				s.results = append(s.results, result{Case: row.Title, Engine: row.Engine, Value: theirs.Median, Low: theirs.Low,
					High: theirs.High})
			}
		}
		if s.results != nil {
			list = append(list, s)
		}
	}
	return draw("Requests per CPU-second beside other servers, of the same statements by hand", list)
}

// machineLoad is the machine's load of the last minute.
func machineLoad() (l float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(text), &l); err != nil {
		return 0
	}
	return l
}

// work is a row as three requests.
type work struct {
	title              string
	conns              int
	ours, theirs, hand load.Request // hand may be empty
	seeds              seeds
}

// seeds are the first values of {carry}.
type seeds struct{ ours, theirs, hand []string }

// longestTurn is when a server that does not answer is given up.
const longestTurn = 2 * time.Minute

// measureRow lets Holdfast, the peer and the limit work in turns. A peer that fails
// is left out; that Holdfast fails is an error.
func (b *besides) measureRow(ctx context.Context, s *stage, other *process, row peers.Row, w work) error {
	f := peers.Figure{Row: row}
	var ours, theirs []load.Report
	for i := range b.rounds {
		from := w.seeds
		turn := func(p *process, r load.Request, from []string) (load.Report, error) {
			plan := b.plan(s.site, p, w.conns, r, i)
			if from != nil {
				plan.Seeds = from
			}
			ctx, cancel := context.WithTimeout(ctx, longestTurn)
			defer cancel()
			return measure(ctx, plan)
		}
		a, err := turn(s.server, w.ours, from.ours)
		if err != nil {
			return err
		}
		c, err := turn(other, w.theirs, from.theirs)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n%s\n", row.Peer, row.Title, err, other.said())
			b.run.Add(peers.Figure{Row: row, Why: "it failed: " + peers.Reason(err.Error())})
			return ctx.Err()
		}
		ours, theirs = append(ours, a), append(theirs, c)
		if w.hand.Method == "" {
			continue
		}
		h, err := turn(s.limit, w.hand, from.hand)
		if err != nil {
			return err
		}
		f.ByHand = append(f.ByHand, h.PerCPU)
	}
	f.Holdfast, f.Other = each(ours, perCPU), each(theirs, perCPU)
	b.run.Add(f)
	return b.add(compare(row.Peer+": "+row.Title, row.Engine, ours, theirs))
}

// works measures the rows of a peer that are work.
func (b *besides) works(ctx context.Context, s *stage, p peers.Peer, other *process, list []work) error {
	for _, row := range p.Of() {
		i := slices.IndexFunc(list, func(w work) bool { return w.title == row.Title })
		if row.Unit != "" || i < 0 {
			continue
		}
		if err := b.measureRow(ctx, s, other, row, list[i]); err != nil {
			return fmt.Errorf("%s: %w", row.Title, err)
		}
	}
	return nil
}

// preparations fill and start a peer beside a stage, and say what it is asked for.
func (b *besides) preparations() map[string]func(context.Context, *stage, string) (*process, []work, error) {
	return map[string]func(context.Context, *stage, string) (*process, []work, error){
		peers.PocketBase.Name: b.pocket, peers.Deno.Name: b.deno}
}

// allOn measures the peers that stand beside Holdfast on an engine, all on one
// stage.
func (b *besides) allOn(ctx context.Context, engine string) (err error) {
	var here []peers.Peer
	for _, p := range peers.All {
		if b.program[p.Name] != "" && p.Of()[0].Engine == engine {
			here = append(here, p)
		}
	}
	if here == nil {
		return nil
	}
	s, err := b.stage(ctx, engine)
	if err != nil && engine == "postgresql" && ctx.Err() == nil { // the reader may have none
		fmt.Fprintf(os.Stderr, "nothing is measured on PostgreSQL: %v\n", err)
		for _, p := range here {
			b.leave(p, "it is measured on PostgreSQL, which does not run: "+peers.Reason(err.Error()))
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, p := range here {
		if err := b.beside(ctx, s, p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// beside measures the rows of one peer. One that does not run is left out.
func (b *besides) beside(ctx context.Context, s *stage, p peers.Peer) (err error) {
	other, list, err := b.preparations()[p.Name](ctx, s, b.program[p.Name])
	defer func() { err = errors.Join(err, other.stop()) }()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s does not run: %v\n", p.Name, err)
		b.leave(p, fmt.Sprintf("%s is there, but does not run: %s", p.Version, peers.Reason(err.Error())))
		return ctx.Err()
	}
	return b.works(ctx, s, p, other, list)
}

// stage is a filled site that Holdfast and the limit serve.
type stage struct {
	*site
	token string // of the first tenant's owner
	size  int    // the page of the cached snapshot
}

// stage fills a database for the comparison, with an owner for each tenant.
func (b *besides) stage(ctx context.Context, engine string) (s *stage, err error) {
	empty, err := newSite(ctx, b.options, engine)
	if err != nil {
		return nil, err
	}
	s = &stage{site: empty}
	if err := b.prepare(ctx, s); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (b *besides) prepare(ctx context.Context, s *stage) error {
	var tenants []data.Tenant
	for n := range b.tenants {
		tenants = append(tenants, data.Standard(n+1, b.scale))
	}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.owner(ctx, t.ID); err != nil {
			return err
		}
	}
	err := s.start(ctx)
	if err != nil {
		return err
	}
	if s.token, err = s.site.token(ctx, tenants[0].ID); err != nil {
		return err
	}
	var body []byte
	if s.size, body, err = b.page(ctx, s.site, s.token); err != nil {
		return err
	}
	return s.startLimit(ctx, tenants[0].ID, body)
}
