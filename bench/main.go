// Bench measures Holdfast against hand-written limits: the same statements
// through the same drivers, with nothing around them. See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"holdfast/bench/limit"
	"holdfast/bench/load"
)

// options are the command line.
type options struct {
	cases   string
	rounds  int
	seconds float64
	scale   float64
	tenants int
	rows    int
	events  int
	orders  int
	each    int
	engine  string
	server  string
	dir     string
	json    string
	profile string
	admin   bool // profiles are served without a folder for them
}

func main() {
	if len(os.Args) > 1 {
		if part := parts[os.Args[1]]; part != nil {
			if err := part(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
				os.Exit(1)
			}
			return
		}
	}
	var o options
	flag.StringVar(&o.cases, "case", "all", "comma separated: "+strings.Join(caseNames(), ", "))
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each case; the median counts")
	flag.Float64Var(&o.seconds, "seconds", 3, "length of a run")
	flag.Float64Var(&o.scale, "scale", 1, "size of a tenant; 1 = 134,000 records")
	flag.IntVar(&o.tenants, "tenants", 20, "tenants in the database")
	flag.IntVar(&o.rows, "rows", 100_000, "rows of the file that is imported")
	flag.IntVar(&o.events, "events", 1_000_000, "incidents of the large tenant of case kpis; 10000000 needs 15 GB of disk")
	flag.IntVar(&o.orders, "orders", 1_000_000,
		"orders of the large tenant of case vast, and as many items; 10000000 needs 30 GB of disk")
	flag.IntVar(&o.each, "each", 1000, "records of each of the 10,000 tenants (times -scale) of case tenants")
	flag.StringVar(&o.engine, "engine", "both", "sqlite, postgresql or both")
	flag.StringVar(&o.server, "server", "bin/holdfast", "the server's binary")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where databases are made (and removed)")
	flag.StringVar(&o.json, "json", "", "file to append one JSON line per result to")
	flag.StringVar(&o.profile, "profile", "", "folder to write a CPU profile of the server to, one for each case")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if failed > 0 {
		fmt.Printf("\n%d goals missed\n", failed)
		os.Exit(2)
	}
}

// parts are the roles this program plays in processes of its own.
var parts = map[string]func(args []string) error{
	"drive": drive, "limit": serveLimit, "read": readCSV, "book": readBook, "take": takeLimits, "without": without,
	"plot":  plot,
	"peers": comparePeers,
}

// drive is the load driver: a plan on standard input, a report on standard
// output. Its parent gives it one core.
func drive([]string) error {
	var p load.Plan
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return err
	}
	r, err := load.Run(p)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// serveLimit is a hand-written server. It ends with its standard input.
func serveLimit(args []string) error {
	var o limit.Options
	var listen string
	f := flag.NewFlagSet("limit", flag.ContinueOnError)
	f.StringVar(&o.URL, "database", "", "PostgreSQL URL")
	f.StringVar(&o.Dir, "data", "", "data directory")
	f.StringVar(&o.Tenant, "tenant", "", "tenant")
	f.StringVar(&o.Body, "body", "", "file that /hit answers")
	f.StringVar(&listen, "listen", "", "address")
	if err := f.Parse(args); err != nil {
		return err
	}
	h, err := limit.Handler(context.Background(), o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		var b [1]byte
		for {
			if _, err := os.Stdin.Read(b[:]); err != nil {
				s.Close()
				return
			}
		}
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// readCSV is the bare reader of the import case.
func readCSV(args []string) error {
	var o limit.Options
	var file string
	var byCopy bool
	f := flag.NewFlagSet("read", flag.ContinueOnError)
	f.StringVar(&o.URL, "database", "", "PostgreSQL URL")
	f.StringVar(&o.Dir, "data", "", "data directory")
	f.StringVar(&o.Tenant, "tenant", "", "tenant")
	f.StringVar(&file, "file", "", "CSV file of items")
	f.BoolVar(&byCopy, "copy", false, "by COPY")
	if err := f.Parse(args); err != nil {
		return err
	}
	took, rows, err := limit.ReadItems(context.Background(), o, file, byCopy)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"seconds": took.Seconds(), "rows": rows})
}
