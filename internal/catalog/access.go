package catalog

import (
	"slices"

	"holdfast/internal/actor"
)

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

// to grants roles every row of the tenant.
func to(roles []actor.Role) Grant { return Grant{Roles: roles, Scope: All} }

// own grants roles the rows that name them.
func own(roles ...actor.Role) Grant { return Grant{Roles: roles, Scope: Own} }

// clients grants a client the rows about his goods.
func clients() Grant { return Grant{Roles: []actor.Role{actor.Client}, Scope: Goods} }

// or widens a grant of own rows to those whose column has one of these words.
func (g Grant) or(column string, words ...string) Grant {
	g.Also, g.In = column, words
	return g
}

// only narrows an update grant to some fields.
func (g Grant) only(fields ...string) Grant {
	g.Fields = fields
	return g
}

func plus(a []actor.Role, more ...actor.Role) []actor.Role {
	return append(append([]actor.Role{}, a...), more...)
}

// master is the access of master data: managers keep it, everyone reads it.
func master() Access {
	m := []Grant{to(managers)}
	return Access{Read: []Grant{to(everyone)}, Create: m, Update: m, Delete: m}
}

// shown is access that shows clients what is about their goods too.
func shown(a Access) Access {
	a.Read = append(append([]Grant{}, a.Read...), clients())
	return a
}

// Resources returns the literals of every resource.
func Resources() []Resource {
	var all []Resource
	for _, family := range [][]Resource{warehouse(), logistics(), people(), safety(), inspections(), platform(), EventResources(), programme(), SSOResources(),
		statutory(), reporting()} {
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
