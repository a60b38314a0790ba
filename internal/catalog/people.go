package catalog

import "holdfast/internal/actor"

func peopleResources() []Resource {
	return []Resource{sitesResource(), teamsResource(), workersResource()}
}

func sitesResource() Resource {
	m := []Grant{grantAll(admins)}
	return Resource{
		Name: "sites", Family: "people", Archives: true,
		Doc: "Establishments: the unit that safety rates and statutory forms are kept for.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "gln", Format: GLN, Label: "GLN"},
			{Name: "address"},
			{Name: "city", Format: Name},
			{Name: "state", Format: Name, MaxLen: 40},
			{Name: "zip", Format: Name, MaxLen: 20, Label: "Postal code"},
			{Name: "country", Format: Country},
			{Name: "timezone", Format: IANA, Label: "Time zone"},
			{Name: "company_name", Format: Name},
			{Name: "ein", Format: Code, MaxLen: 9, Label: "EIN"},
			{Name: "naics", Format: Code, MaxLen: 6, Label: "NAICS"},
			{Name: "industry_description", Format: Name},
			{Name: "nace", Format: Code, MaxLen: 4, Label: "NACE",
				Doc: "Economic activity in Europe: class of NACE Rev. 2, four digits without a point."},
			{Name: "nuts", Format: Code, MaxLen: 5, Label: "NUTS",
				Doc: "Region of the European Union's statistics, such as DE600."},
			{Name: "establishment_type", Type: Int, Min: "1", Max: "3"},
		},
		Unique: [][]string{{"code"}},
		Access: Access{Read: []Grant{grantAll(everyone)}, Create: m, Update: m, Delete: m},
	}
}

func teamsResource() Resource {
	return Resource{
		Name: "teams", Family: "people", Archives: true,
		Doc: "People who work together.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "lead_user_id", Type: UUID, Names: "members"},
			{Name: "site_id", Type: UUID, Ref: "sites"},
		},
		Unique: [][]string{{"code"}},
		Access: masterAccess(),
	}
}

func workersResource() Resource {
	return Resource{
		Name: "workers", Family: "people", Archives: true,
		Doc: "People who work here, whether or not they sign in.",
		Fields: []Field{
			{Name: "employee_no", Format: Name, MaxLen: 40, Required: true, Label: "Employee number"},
			{Name: "name", Format: Name, Required: true, Readers: plusRoles(leaders, actor.Driver, actor.Operator)},
			{Name: "job_title", Format: Name},
			{Name: "isco", Format: Code, MaxLen: 4, Label: "ISCO-08",
				Doc: "Occupation in the international classification, for European statistics; its first two digits suffice."},
			{Name: "team_id", Type: UUID, Ref: "teams"},
			{Name: "site_id", Type: UUID, Ref: "sites"},
			{Name: "employment", Required: true, Default: "employee", OneOf: []string{"employee", "agency", "contractor"}},
			{Name: "supervised", Type: Bool, Required: true, Default: "false",
				Doc: "Of a contractor: supervised day to day by this organisation, so that OSHA's records have them too " +
					"(29 CFR 1904.31). Employees and agency workers always are."},
			{Name: "hired_on", Type: Date, Readers: leaders},
			{Name: "left_on", Type: Date, Readers: leaders},
			{Name: "user_id", Type: UUID, Names: "members", Doc: "The user who signs in as this worker."},
			{Name: "birth_year", Type: Int, Min: "1900", Max: "2100", Readers: officers},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"active", "on_leave", "left"}},
		},
		Import:  importWorkers(),
		Unique:  [][]string{{"employee_no"}},
		Indexes: [][]string{{"user_id"}},
		Own:     []string{"user_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver)},
			Create: []Grant{grantAll(managers)}, Update: []Grant{grantAll(leaders)}, Delete: []Grant{grantAll(managers)},
		},
		Counters: []Counter{{Name: "workers", By: []string{"status"}}},
		States: &States{Field: "status", Initial: []string{"active", "on_leave", "left"}, Moves: []Move{
			{From: []string{"active"}, To: "on_leave", Roles: leaders},
			{From: []string{"on_leave", "left"}, To: "active", Roles: leaders},
			{From: []string{"active", "on_leave"}, To: "left", Roles: leaders},
		}},
	}
}
