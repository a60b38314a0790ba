package demo

import "holdfast/internal/actor"

// Size is how much of a warehouse the demonstration shows.
type Size uint8

const (
	// Whole is a warehouse that fills its people's days: what a visitor sees.
	Whole Size = iota
	// Sample has the same stories with a twentieth of the goods: for tests, which
	// copy it a thousand times.
	Sample
)

func (s Size) profilesOf() []profile {
	n, t := northProfile(), southProfile()
	if s == Whole {
		wholeNorth(&n)
		wholeSouth(&t)
	}
	return []profile{n, t}
}

// ordersSince is how many days ago the whole warehouses began to take orders
// here: what lies before has come as opening stock and as a book of hours.
const ordersSince = 18

func wholeNorth(p *profile) {
	for i := range p.buildings[0].areas {
		switch a := &p.buildings[0].areas[i]; a.code {
		case "PCK":
			a.aisles, a.racks, a.bins = 4, 5, 5
		case "BLK":
			a.aisles = 2
			a.x = 46
		}
	}
	p.makers = []string{"Kronwerk", "Kronwerk Pro", "Stahlfix", "Stahlfix Pro", "NordTec", "NordTec industry", "Brandis",
		"Brandis Plus", "Elbmark", "Elbmark Eco",
		"Hanseat", "Hanseat Pro", "Wolters", "Wolters Basic", "Tidewerk", "Tidewerk Pro", "Alsterline", "Alsterline Plus",
		"Marsch & Sohn",
		"Deichkraft", "Deichkraft Pro"}
	p.posts = []post{{"Forklift operator", inboundTeam, false}, {"Goods receiver", inboundTeam, false},
		{"Packer", outTeam, false}, {"Picker", pickTeam, false},
		{"Packer", outTeam, false}, {"Dispatcher", outTeam, false}, {"Picker", pickTeam, false},
		{"Goods receiver", inboundTeam, false}, {"Picker", pickTeam, false},
		{"Loader", outTeam, false}, {"Shift lead", inboundTeam, true}, {"Inventory controller", inboundTeam, false},
		{"Customer service", outTeam, true},
		{"Quality inspector", inboundTeam, true}, {"Maintenance technician", inboundTeam, true},
		{"Purchaser", inboundTeam, true},
		{"Customer service", outTeam, true},
		{"Returns clerk", inboundTeam, true}, {"Cleaner", inboundTeam, true}, {"Dispatcher", transportTeam, true},
		{"Payroll clerk", outTeam, true}}
	p.ordersPerDay, p.lines, p.least, p.today, p.perTruck = 44, 13, 41, 52, 8
	p.fast, p.slow, p.dead, p.fresh, p.late = 420, 900, 340, 110, 60
	p.makeWhole()
	p.listDays = 8
	p.reportsBefore, p.earlier = 110, []int{-180}
}

func wholeSouth(p *profile) {
	p.makers = []string{"Bravado", "Bravado Pro", "Lone Mesa", "Prairie Star", "Rio Works"}
	p.posts = []post{{"Forklift operator", inboundTeam, false}, {"Picker", pickTeam, false},
		{"Shift lead", pickTeam, true}, {"Packer", outTeam, false},
		{"Loader", outTeam, false}, {"Goods receiver", inboundTeam, false}, {"Maintenance technician", inboundTeam, true},
		{"Goods receiver", inboundTeam, false}}
	p.ordersPerDay, p.lines, p.least, p.today, p.perTruck = 24, 13, 20, 26, 8
	p.fast, p.slow, p.dead, p.fresh, p.late = 50, 90, 35, 15, 8
	p.reportsBefore = 40
	p.makeWhole()
	p.listDays = 8
}

func (p *profile) makeWhole() {
	p.opened, p.hoursDays, p.knowing, p.crew = ordersSince, 365, true, true
}

// crew are the accounts of those on the floor and on the road who are not shown
// at the door: half of the workers sign in.
var crew = []struct {
	tenant string
	role   actor.Role
	no     string // of the worker
	name   string
	local  string // of the address
}{
	{North, actor.Operator, "N-1001", "Anke Petersen", "anke.petersen"},
	{North, actor.Operator, "N-1002", "Björn Hartwig", "bjoern.hartwig"},
	{North, actor.Operator, "N-1003", "Cem Aydın", "cem.aydin"},
	{North, actor.Operator, "N-1005", "Dorota Wiśniewska", "dorota.wisniewska"},
	{North, actor.Operator, "N-1006", "Erik Sandström", "erik.sandstroem"},
	{North, actor.Operator, "N-1007", "Fatima Rahimi", "fatima.rahimi"},
	{North, actor.Operator, "N-1008", "Goran Petrović", "goran.petrovic"},
	{North, actor.Operator, "N-1010", "Ivan Dragomirov", "ivan.dragomirov"},
	{North, actor.Manager, "N-1011", "Julia Brandt", "julia.brandt"},
	{North, actor.Operator, "N-1012", "Karim Benali", "karim.benali"},
	{North, actor.Viewer, "N-1013", "Lena Hoffmann", "lena.hoffmann"},
	{North, actor.Safety, "N-1014", "Mateusz Kowal", "mateusz.kowal"},
	{North, actor.Driver, "N-1102", "Stefan Kruse", "stefan.kruse"},
	{North, actor.Driver, "N-1103", "Agnieszka Zielińska", "agnieszka.zielinska"},
	{North, actor.Driver, "N-1104", "Dieter Mohr", "dieter.mohr"},
	{South, actor.Operator, "S-1001", "Ashley Bennett", "ashley.bennett"},
	{South, actor.Operator, "S-1004", "Carlos Mendoza", "carlos.mendoza"},
	{South, actor.Operator, "S-1005", "Dwayne Porter", "dwayne.porter"},
	{South, actor.Driver, "S-1101", "Hector Salinas", "hector.salinas"},
	{South, actor.Driver, "S-1102", "Jolene Parker", "jolene.parker"},
}

// Accounts are everybody's who has one: those that Users names first.
func (s Size) Accounts() []User {
	out := Users()
	if s == Sample {
		return out
	}
	domain := map[string]string{North: "@north.example", South: "@south.example"}
	for i, c := range crew {
		out = append(out, User{ID: userID(32 + i), Email: c.local + domain[c.tenant], Name: c.name, WorkerEmployeeNo: c.no,
			Memberships: map[string]actor.Role{c.tenant: c.role}})
	}
	return out
}
