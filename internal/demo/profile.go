package demo

// goLive is how many days ago the tenants began to use Holdfast.
const goLive = 212

// profile is what makes one tenant different from the other.
type profile struct {
	id, slug, name             string
	timezone, country          string
	currency                   string
	jurisdictions              []string
	gs1                        string // company prefix
	seed                       uint64
	employee                   string // prefix of employee numbers
	buildings                  []building
	categories                 []category
	customers                  [][3]string       // name, city, postal code
	abroad                     map[string]string // country of the customers' towns that lie in another one
	makers                     []string          // each variant is sold by each of them; none = one article
	carriers                   []string
	names                      []string // people besides the users
	plates                     []string
	ordersPerDay               float64
	today                      int     // orders that today brings at least
	knowing                    bool    // customers see what is in stock
	least                      int     // orders that a working day brings at least
	lines                      float64 // of an order, beyond the first, on average
	opened                     int     // days ago that orders began to be taken here
	hoursDays                  int     // days of shifts
	perTruck                   int     // orders that share one
	reportsBefore              int     // of incidents, from the year before the stories
	earlier                    []int   // days of lost-time injuries before the stories
	crew                       bool    // half of the workers sign in
	posts                      []post  // who does what, by place in names; none = jobs in turn
	fast, slow, dead, fresh    int     // items of each kind; the rest sell steadily
	late                       int     // items whose supplier is late
	incidents                  int
	checklistsPerDay, listDays int
	leak                       bool // the story of dock 3
}

func northProfile() profile {
	return profile{
		id: North, slug: "north", name: "North Distribution", timezone: "Europe/Berlin", country: "DE", currency: "EUR",
		jurisdictions: []string{"EU", "Global"}, gs1: "4012345", seed: 16, employee: "N",
		buildings: []building{
			{code: "HAM1", name: "Hamburg distribution centre", city: "Hamburg", zip: "21129", country: "DE",
				address: "Am Altenwerder Kirchtal 12", gln: "401234500001", areas: []area{
					{code: "RCV", name: "Receiving", kind: "area", x: 10, y: 4, lanes: 3, docks: 4, firstDock: 1},
					{code: "PCK", name: "Pick hall", kind: "area", x: 10, y: 20, aisles: 3, racks: 4, bins: 4},
					{code: "BLK", name: "Bulk racking", kind: "area", x: 40, y: 20, aisles: 1, racks: 3, bins: 4,
						tags: []string{"powered_truck", "fall_height"}},
					{code: "CLD", name: "Cool room", kind: "area", class: "cool", x: 60, y: 8, bins: 6,
						tags: []string{"cold", "slip"}},
					{code: "HAZ", name: "Hazardous goods store", kind: "area", class: "hazmat", x: 70, y: 8, bins: 5,
						tags: []string{"chemical", "fire"}},
					{code: "SEC", name: "Secure cage", kind: "area", class: "secure", x: 70, y: 24, bins: 4},
					{code: "QUA", name: "Quarantine", kind: "quarantine", x: 6, y: 14},
					{code: "SHP", name: "Shipping", kind: "area", x: 10, y: 60, lanes: 3, docks: 4, firstDock: 5},
				}},
			{code: "BER1", name: "Berlin cross-dock", city: "Berlin", zip: "12529", country: "DE", address: "Mittelstraße 5",
				gln: "401234500002", areas: []area{{code: "BER-X", name: "Cross-dock floor", kind: "area", x: 5, y: 5, bins: 6}}},
			{code: "MUC1", name: "Munich returns hub", city: "München", zip: "81829", country: "DE",
				address: "Werner-Eckert-Straße 8", gln: "401234500003",
				areas: []area{{code: "MUC-R", name: "Returns floor", kind: "area", x: 5, y: 5, bins: 4}}},
		},
		categories: northCategories, customers: northCustomers,
		carriers: []string{"OWN", "OWN", "OWN", "HANSEPARCEL", "ALPENFRACHT"},
		abroad:   map[string]string{"Aalborg": "DK", "Groningen": "NL", "Szczecin": "PL", "Malmö": "SE"},
		names: []string{"Anke Petersen", "Björn Hartwig", "Cem Aydın", "Jana Nowak", "Dorota Wiśniewska", "Erik Sandström",
			"Fatima Rahimi", "Goran Petrović", "Hanna Vogt", "Ivan Dragomirov",
			"Julia Brandt", "Karim Benali", "Lena Hoffmann", "Mateusz Kowal", "Nadia Ferreira", "Oskar Lindner", "Paula Richter",
			"Quentin Moreau", "Rosa Albrecht", "Samir Haddad", "Tanja Weiß"},
		plates:       []string{"HH-ND 101", "HH-ND 102", "HH-ND 103", "HH-ND 207", "HH-ND 208", "B-ND 311"},
		ordersPerDay: 3.8, lines: 2.4, opened: history, hoursDays: history, perTruck: 3, today: 12,
		fast: 26, slow: 42, dead: 18, fresh: 10, late: 9, incidents: 58, checklistsPerDay: 3, listDays: 15, leak: true,
	}
}

func southProfile() profile {
	return profile{
		id: South, slug: "south", name: "South Logistics", timezone: "America/Chicago", country: "US", currency: "USD",
		jurisdictions: []string{"US", "Global"}, gs1: "0860012", seed: 22, employee: "S",
		buildings: []building{
			{code: "DFW1", name: "Dallas fulfillment center", city: "Dallas", state: "TX", zip: "75236", country: "US",
				address: "4400 Mountain Creek Pkwy", gln: "086001200001",
				areas: []area{
					{code: "RCV", name: "Receiving", kind: "area", x: 8, y: 4, lanes: 2, docks: 2, firstDock: 1},
					{code: "PCK", name: "Pick module", kind: "area", x: 8, y: 18, aisles: 2, racks: 2, bins: 4},
					{code: "HAZ", name: "Hazmat room", kind: "area", class: "hazmat", x: 40, y: 8, bins: 2,
						tags: []string{"chemical", "fire"}},
					{code: "QUA", name: "Quarantine", kind: "quarantine", x: 4, y: 12},
					{code: "SHP", name: "Shipping", kind: "area", x: 8, y: 40, lanes: 2, docks: 2, firstDock: 3},
				}},
		},
		categories: southCategories, customers: southCustomers, carriers: []string{"OWN", "OWN", "LONESTAR", "PRAIRIE"},
		names: []string{"Ashley Bennett", "Marcus Reyes", "Ingrid Castellano", "Carlos Mendoza", "Dwayne Porter",
			"Elena Garza", "Frank Nguyen", "Gloria Jackson"},
		plates:       []string{"TX-48K-2201", "TX-48K-2202"},
		ordersPerDay: 1.5, lines: 2.4, opened: history, hoursDays: history, perTruck: 3, today: 5,
		fast: 9, slow: 14, dead: 6, fresh: 3, late: 3, incidents: 22, checklistsPerDay: 1, listDays: 12,
	}
}

var northCustomers = [][3]string{
	{"Hansen Maschinenbau GmbH", "Kiel", "24103"}, {"Alster Facility Service", "Hamburg", "20095"},
	{"Weserwerft Bremen", "Bremen", "28195"}, {"Brandt Elektrotechnik", "Lübeck", "23552"},
	{"Spree Montagebau", "Berlin", "10179"}, {"Havel Anlagenbau AG", "Potsdam", "14467"},
	{"Elbtal Pumpen", "Dresden", "01067"}, {"Ostsee Windservice", "Rostock", "18055"},
	{"Lüneburger Holzwerke", "Lüneburg", "21335"}, {"Harz Fördertechnik", "Goslar", "38640"}, {"Ruhr Stahlhandel", "Essen",
		"45127"}, {"Main Klimatechnik", "Frankfurt am Main", "60311"},
	{"Isar Medizinbau", "München", "80331"}, {"Neckar Präzision", "Stuttgart", "70173"},
	{"Nordfriesische Molkerei", "Husum", "25813"}, {"Schwerin Hausverwaltung", "Schwerin", "19053"},
	{"Aalborg Industri A/S", "Aalborg", "9000"}, {"Groningen Techniek BV", "Groningen", "9711"},
	{"Szczecin Serwis Sp. z o.o.", "Szczecin", "70-001"}, {"Malmö Verkstad AB", "Malmö", "211 20"},
}

var southCustomers = [][3]string{
	{"Trinity Auto Care", "Fort Worth", "76102"}, {"Bluebonnet Pet Supply", "Plano", "75074"},
	{"Red River Outfitters", "Denison", "75020"}, {"Hill Country Hardware", "Austin", "78701"},
	{"Gulf Coast Marine", "Houston", "77002"}, {"Panhandle Farm Store", "Amarillo", "79101"},
	{"Ozark Home Goods", "Fayetteville, AR", "72701"}, {"Tulsa Fleet Parts", "Tulsa, OK", "74103"},
}

// towns are latitudes and longitudes of the towns that shipments go to.
var towns = map[string][2]float64{
	"Kiel": {54.32, 10.14}, "Hamburg": {53.55, 9.99}, "Bremen": {53.08, 8.80}, "Lübeck": {53.87, 10.69},
	"Berlin": {52.52, 13.40}, "Potsdam": {52.39, 13.06},
	"Dresden": {51.05, 13.74}, "Rostock": {54.09, 12.10}, "Lüneburg": {53.25, 10.41}, "Goslar": {51.91, 10.43},
	"Essen": {51.46, 7.01}, "Frankfurt am Main": {50.11, 8.68},
	"München": {48.14, 11.58}, "Stuttgart": {48.78, 9.18}, "Husum": {54.48, 9.05}, "Schwerin": {53.63, 11.41},
	"Aalborg": {57.05, 9.92}, "Groningen": {53.22, 6.57},
	"Szczecin": {53.43, 14.55}, "Malmö": {55.61, 13.00},
	"Dallas": {32.66, -96.99}, "Fort Worth": {32.76, -97.33}, "Plano": {33.02, -96.70}, "Denison": {33.76, -96.54},
	"Austin": {30.27, -97.74}, "Houston": {29.76, -95.37},
	"Amarillo": {35.20, -101.83}, "Fayetteville, AR": {36.07, -94.17}, "Tulsa, OK": {36.15, -95.99},
}
