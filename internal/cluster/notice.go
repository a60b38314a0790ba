// Package cluster carries short notices between the nodes of a deployment: what
// one of them has changed, so that the others forget what they keep of it.
//
// On the PostgreSQL family a notice is a row, written off the path of requests
// and many at once; every node looks for new rows a few times a second. Redis,
// where there is one, carries the same notices at once by its channels; the
// rows remain, so that nothing depends on a Redis that may be away. The
// embedded database has one node, which tells nobody. A notice is heard at least
// once: a row whose writing was not answered in time is written again.
//
// Layer: catalog and access. Begin at [Open].
package cluster

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Kind is what a notice is about.
type Kind string

// Kinds of notices.
const (
	Changed Kind = "changed" // collections, in Names, of a tenant were written
	Cleared Kind = "cleared" // a tenant's kept answers shall be forgotten
	Members Kind = "members" // memberships, plan or status of a tenant
	User    Kind = "user"    // accounts, sessions or memberships of the users in Names
	Keys    Kind = "keys"    // signing keys or API keys of the deployment
	Joined  Kind = "joined"  // a node has come or gone: count them
	All     Kind = "all"     // anything: notices were lost
)

// A Notice says what its receivers shall forget.
type Notice struct {
	Kind   Kind     `json:"kind"`
	Tenant string   `json:"tenant,omitempty"`
	Names  []string `json:"names,omitempty"`
}

// most is how many subjects a batch names; beyond them it says All.
const most = 2000

// A batch gathers notices until they are sent. Its zero value is empty.
type batch struct {
	names map[subject]map[string]bool
	all   bool
}

type subject struct {
	kind   Kind
	tenant string
}

func (b *batch) addNotice(n Notice) {
	if b.all || n.Kind == All || len(b.names) >= most {
		*b = batch{all: true}
		return
	}
	if b.names == nil {
		b.names = map[subject]map[string]bool{}
	}
	s := subject{n.Kind, n.Tenant}
	if b.names[s] == nil {
		b.names[s] = map[string]bool{}
	}
	for _, name := range n.Names {
		b.names[s][name] = true
	}
	if len(b.names[s]) > most {
		*b = batch{all: true}
	}
}

func (b *batch) isEmpty() bool { return !b.all && len(b.names) == 0 }

// listNotices lists the batch in one order.
func (b *batch) listNotices() []Notice {
	if b.all {
		return []Notice{{Kind: All}}
	}
	out := make([]Notice, 0, len(b.names))
	for s, names := range b.names {
		out = append(out, Notice{Kind: s.kind, Tenant: s.tenant, Names: slices.Sorted(maps.Keys(names))})
	}
	slices.SortFunc(out, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// parseBody reads a body. One that cannot be read, from a newer Holdfast perhaps,
// means everything.
func parseBody(body string) []Notice {
	var list []Notice
	if json.Unmarshal([]byte(body), &list) != nil || len(list) == 0 {
		return []Notice{{Kind: All}}
	}
	for _, n := range list {
		if !slices.Contains([]Kind{Changed, Cleared, Members, User, Keys, Joined, All}, n.Kind) {
			return []Notice{{Kind: All}}
		}
	}
	return list
}
