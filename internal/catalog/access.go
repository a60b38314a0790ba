package catalog

import (
	"slices"

	"holdfast/internal/actor"
)

// Scope is how far a grant reaches.
type Scope uint8

// Scopes of a grant.
const (
	None   Scope = iota
	Own          // rows whose Own columns name the caller (user or worker)
	Goods        // rows whose Goods lead to the goods owner of the caller, a client
	Parent       // rows beside a record that the caller may read, one of those that Parents point to
	All          // every row of the tenant
)

// Grant gives roles a scope, optionally on some fields only.
type Grant struct {
	Roles  []actor.Role
	Scope  Scope
	Fields []string // Update: only these; empty = all writable fields
	Also   string   // Own: the column of a closed set by which more rows are reached,
	In     []string // those with one of these words
	Work   *Work    // Own: besides, what nobody has taken and the caller may take
	Beside string   // Own: the reference to a record; besides, the rows of those that the caller may read
}

// Work is rows that stand for work on the floor. Who has the record of a worker who has not
// left may take what nobody has, where it has stops and all of them are at the worker's site,
// or at none, and in the zones of the membership.
type Work struct {
	Taken      string   // the column with the worker who took it
	Status     string   // the column of its state,
	Open       []string // and the states in which it may be taken
	Stops      string   // the resource of its stops,
	StopOf, At string   // their reference to the work, and to the zone where each is
}

// Access says who may do what. A role without a grant is refused; the zero
// Access admits the service key alone.
type Access struct {
	Read, Create, Update, Delete []Grant
}

// Find returns the grant of role r in gs.
func Find(gs []Grant, r actor.Role) (Grant, bool) {
	if r == actor.Service {
		return Grant{Scope: All}, true
	}
	for _, g := range gs {
		for _, x := range g.Roles {
			if x == r {
				return g, true
			}
		}
	}
	return Grant{}, false
}

// Groups of roles as the permission table uses them.
var (
	admins   = []actor.Role{actor.Owner, actor.Admin}
	managers = []actor.Role{actor.Owner, actor.Admin, actor.Manager}
	officers = []actor.Role{actor.Owner, actor.Admin, actor.Safety}
	leaders  = actor.Leaders
	floor    = []actor.Role{actor.Operator, actor.Driver}
	everyone = actor.Members
	nobody   = []actor.Role{actor.Service}
)

// grantAll grants roles every row of the tenant.
func grantAll(roles []actor.Role) Grant { return Grant{Roles: roles, Scope: All} }

// grantOwn grants roles the rows that name them.
func grantOwn(roles ...actor.Role) Grant { return Grant{Roles: roles, Scope: Own} }

// grantBesideReadable grants roles the rows kept with a record that they may read.
func grantBesideReadable(roles []actor.Role) Grant { return Grant{Roles: roles, Scope: Parent} }

// grantClients grants a client the rows about his goods.
func grantClients() Grant { return Grant{Roles: []actor.Role{actor.Client}, Scope: Goods} }

// orWhere widens a grant of own rows to those whose column has one of these words.
func (g Grant) orWhere(column string, words ...string) Grant {
	g.Also, g.In = column, words
	return g
}

// orWork widens a grant of own rows to work that nobody has taken.
func (g Grant) orWork(w Work) Grant {
	g.Work = &w
	return g
}

// orOf widens a grant of own rows to those of records that the caller may read, which a
// reference names.
func (g Grant) orOf(reference string) Grant {
	g.Beside = reference
	return g
}

// onlyFields narrows an update grant to some fields.
func (g Grant) onlyFields(fields ...string) Grant {
	g.Fields = fields
	return g
}

func plusRoles(a []actor.Role, more ...actor.Role) []actor.Role {
	return append(append([]actor.Role{}, a...), more...)
}

// masterAccess is the access of master data: managers keep it, everyone reads it.
func masterAccess() Access {
	m := []Grant{grantAll(managers)}
	return Access{Read: []Grant{grantAll(everyone)}, Create: m, Update: m, Delete: m}
}

// shownToClients is access that shows clients what is about their goods too.
func shownToClients(a Access) Access {
	a.Read = append(append([]Grant{}, a.Read...), grantClients())
	return a
}

// Resources returns the literals of every resource.
func Resources() []Resource {
	var all []Resource
	for _, family := range [][]Resource{
		warehouseResources(), logisticsResources(), peopleResources(), safetyResources(),
		inspectionsResources(), platformResources(), EventResources(), programmeResources(), SSOResources(),
		statutoryResources(), reportingResources(), evidenceResources(), registerResources()} {
		all = append(all, family...)
	}
	nameTargets(all)
	return all
}

// nameTargets makes the resources that files can be imported into the choices
// of an import job's target.
func nameTargets(all []Resource) {
	var names []string
	for i := range all {
		if all[i].Import != nil {
			names = append(names, all[i].Name)
		}
	}
	slices.Sort(names)
	for i := range all {
		for j := range all[i].Fields {
			if all[i].Name == "import_jobs" && all[i].Fields[j].Name == "target" {
				all[i].Fields[j].OneOf = names
			}
		}
	}
}
