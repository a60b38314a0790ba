// Package peers is what stands beside Holdfast in the published comparison:
// which programs, where they are had, what they are asked for, and the page that
// tells what came of it. Begin at Rows.
package peers

// Peer is a program of others.
type Peer struct {
	Name    string
	Version string   // pinned here and nowhere else
	Module  string   // Go package that it is built from, or
	NPM     []string // packages that bring it, its own first
}

// The peers. Nothing of theirs is linked into Holdfast or kept in its repository.
var (
	PocketBase = Peer{Name: "PocketBase", Version: "v0.39.11", Module: "github.com/pocketbase/pocketbase/examples/base"}
	Deno       = Peer{Name: "Deno", Version: "2.9.6", NPM: []string{"deno", "postgres@3.4.7"}}
)

// All are the peers in the order they are told.
var All = []Peer{PocketBase, Deno}

// Row is a line of the comparison: what a peer does, and Holdfast on an engine.
type Row struct {
	Peer   string `json:"peer"`
	Engine string `json:"engine,omitempty"` // of Holdfast and of the limit
	Title  string `json:"title"`
	Unit   string `json:"unit,omitempty"` // of what is less when it is better; empty = requests per CPU-second
}

// The titles of rows.
const (
	List      = "list of 50 orders, 10 columns"
	Open      = "the same, its tenants not kept apart"
	Deep      = "the same, a later page"
	Read      = "one order by its id"
	Insert1   = "insert of one order, 1 client"
	Insert32  = "insert of one order, 32 clients"
	Many      = "1,000 orders in a request"
	SignIn    = "sign-in with a password"
	Hit       = "cached snapshot, an object that is kept"
	HitText   = "cached snapshot, its text that is kept"
	Miss      = "snapshot made anew, from counters"
	Counted   = "snapshot made anew, counted there"
	Size      = "size of the program"
	Start     = "start on an empty directory"
	AtRest    = "memory at rest"
	sqlite    = "sqlite"
	postgres  = "postgresql"
	seconds   = "s"
	megabytes = "MB"
)

// Rows are the lines, told in this order, each of them in every run: what was not
// measured says why.
var Rows = []Row{
	{Peer: PocketBase.Name, Engine: sqlite, Title: List},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Open},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Deep},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Read},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Insert1},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Insert32},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Many},
	{Peer: PocketBase.Name, Engine: sqlite, Title: SignIn},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Size, Unit: megabytes},
	{Peer: PocketBase.Name, Engine: sqlite, Title: Start, Unit: seconds},
	{Peer: PocketBase.Name, Engine: sqlite, Title: AtRest, Unit: megabytes},

	{Peer: Deno.Name, Engine: postgres, Title: Hit},
	{Peer: Deno.Name, Engine: postgres, Title: HitText},
	{Peer: Deno.Name, Engine: postgres, Title: Miss},
	{Peer: Deno.Name, Engine: postgres, Title: Counted},
}

// Of are the rows of a peer.
func (p Peer) Of() (list []Row) {
	for _, r := range Rows {
		if r.Peer == p.Name {
			list = append(list, r)
		}
	}
	return list
}
