package demo

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/store"
)

// person is somebody who works for the tenant.
type person struct {
	id, no, name, job string
	team              int
	user              string
	driver            bool
	office            bool
	hired             int // day
}

// driver is a worker who drives shipments.
type driver struct {
	id      string
	person  *person
	vehicle string
	status  string
}

// writeOrganisation writes the tenant, its sites and its teams.
func (w *world) writeOrganisation() {
	made := w.cal.momentAt(-goLive-8, 10)
	w.addRecord(
		"tenants",
		-goLive-8,
		made,
		store.Row{"id": w.profile.id, "name": w.name, "slug": w.slug, "plan": "standard", "status": "active",
			"timezone": w.timezone,
			"country":  w.country, "currency": w.currency, "jurisdictions": rawJSON(w.jurisdictions), "join_policy": "invite",
			"email_domains": rawJSON([]string{w.slug + ".example"}), "gs1_company_prefix": w.gs1, "created_by": w.users[0].ID},
	)
	for _, b := range w.buildings {
		r := w.addRecord("sites", -goLive-7, made.Add(time.Hour),
			store.Row{"code": b.code, "name": b.name, "gln": checkDigit(b.gln), "address": b.address, "city": b.city,
				"state": nullableID(b.state),
				"zip":   b.zip, "country": b.country, "timezone": w.timezone, "company_name": w.name, "naics": "493110",
				"industry_description": "General warehousing and storage",
				"establishment_type":   int64(1), "created_by": w.users[0].ID})
		w.sites = append(w.sites, r["id"].(string))
	}
	for i, t := range teamNames {
		w.addRecord("teams", -goLive-7, made.Add(2*time.Hour),
			store.Row{"code": t[0], "name": t[1], "site_id": w.sites[min(i/3, len(w.sites)-1)],
				"lead_user_id": w.userID("manager"), "created_by": w.users[0].ID})
	}
}

var teamNames = [...][2]string{{"INB", "Inbound"}, {"PICK", "Picking"}, {"OUT", "Outbound"}, {"TRN", "Transport"}}

// The teams by place in teamNames.
const (
	inboundTeam = iota
	pickTeam
	outTeam
	transportTeam
)

var jobs = [...]post{{"Forklift operator", inboundTeam, false}, {"Goods receiver", inboundTeam, false},
	{"Picker", pickTeam, false},
	{"Picker", pickTeam, false}, {"Packer", outTeam, false}, {"Dispatcher", outTeam, false}, {"Picker", pickTeam, false}}

var driverNames = map[string][]string{
	North: {"Emre Yıldız", "Stefan Kruse", "Agnieszka Zielińska", "Dieter Mohr", "Lukas Frank", "Mehmet Öztürk",
		"Piotr Maj", "Sabine Thoma", "Viktor Lang", "Yusuf Demir"},
	South: {"Hector Salinas", "Jolene Parker", "Terrence Wells"},
}

// writeStaff writes workers, vehicles and, at the end, drivers.
func (w *world) writeStaff() {
	for i, name := range w.names {
		does := jobs[i%len(jobs)]
		if len(w.posts) > 0 {
			does = w.posts[i%len(w.posts)]
		}
		w.writeWorker(&person{no: fmt.Sprintf("%s-%d", w.employee, 1001+i), name: name, job: does.title, team: does.team,
			office: does.office}, i)
	}
	w.freight = map[string]string{}
	for _, code := range w.carriers {
		if code == "OWN" || w.freight[code] != "" {
			continue
		}
		name := code[:1] + strings.ToLower(code[1:])
		r := w.addRecord("carriers", -goLive, w.cal.momentAt(-goLive, 8),
			store.Row{"id": derivedID(w.id, "carrier "+code), "code": code, "name": name,
				"services": rawJSON([]string{"standard", "express"})})
		w.freight[code] = r["id"].(string)
	}
	var vehicles []string
	for i, plate := range w.plates {
		status := "in_service"
		if i == len(w.plates)-1 {
			status = "maintenance"
		}
		r := w.addRecord("vehicles", -goLive, w.cal.momentAt(-goLive, 8),
			store.Row{"plate": plate, "vin": fmt.Sprintf("WDB9066%010d", 4711+97*i),
				"kind": []string{"truck 7.5 t", "truck 12 t", "van 3.5 t"}[i%3], "payload_kg": wholeUnits(
					[]int64{2800, 5600, 1100}[i%3],
				), "volume_m3": wholeUnits([]int64{36, 48, 14}[i%3]), "odometer_km": wholeUnits(int64(48_000 + 17_350*i)),
				"inspection_due_on": w.cal.localDate(20 + 45*i), "site_id": w.sites[0], "status": status, "on_trip": false})
		vehicles = append(vehicles, r["id"].(string))
	}
	for i, name := range driverNames[w.profile.id] {
		p := &person{no: fmt.Sprintf("%s-%d", w.employee, 1101+i), name: name, job: "Driver", team: transportTeam,
			driver: true}
		w.writeWorker(p, 40+i)
		d := &driver{id: w.cal.newID(-goLive, w.cal.momentAt(-goLive, 8)), person: p, status: "available"}
		if i < len(vehicles)-1 {
			d.vehicle = vehicles[i]
		}
		w.drivers = append(w.drivers, d)
	}
}

func (w *world) writeWorker(p *person, i int) {
	p.id = w.cal.newID(-goLive-6, w.cal.momentAt(-goLive-6, 9))
	for _, u := range w.users {
		if u.WorkerEmployeeNo == p.no {
			p.user = u.ID
		}
	}
	status := "active"
	if i == 8 {
		status = "on_leave"
	}
	p.hired = -goLive - 60 - 97*(i%29)
	w.people = append(w.people, p)
	w.addRecord("workers", -goLive-6, w.cal.momentAt(-goLive-6, 9),
		store.Row{"id": p.id, "employee_no": p.no, "name": p.name, "job_title": p.job,
			"team_id": w.rows["teams"][p.team]["id"],
			"site_id": w.sites[0], "employment": []string{"employee", "employee", "employee", "agency"}[i%4],
			"hired_on": w.cal.localDate(p.hired), "user_id": nullableID(p.user),
			"birth_year": int64(1963 + (i*7)%40), "status": status})
}

// dialling are the codes of the countries that drivers' phones are called in.
var dialling = map[string]string{"DE": "49", "US": "1"}

// emitDrivers writes drivers once it is known who is on the road.
func (w *world) emitDrivers() {
	n := len(w.drivers)
	for i, d := range w.drivers {
		if n > 4 && i == n-1 && d.status == "available" {
			d.status = "suspended"
		} else if n > 4 && i == n-2 && d.status == "available" {
			d.status = "off_duty"
		}
		r := store.Row{"id": d.id, "worker_id": d.person.id,
			"licence_no":         fmt.Sprintf("%s%08d", w.country, 31_415_926+i*27_182),
			"licence_class":      []string{"C1E", "CE", "B"}[i%3],
			"licence_expires_on": w.cal.localDate([]int{400, 24, 900, 1300, 210}[i%5]), "vehicle_id": nullableID(d.vehicle),
			"phone": fmt.Sprintf("+%s 555 01%02d", dialling[w.country], 10+i), "status": d.status,
			"updated_at": formatMoment(w.cal.momentAt(0, 12)), "version": int64(4)}
		if d.status == "on_trip" {
			r["last_lat"], r["last_lon"], r["last_seen_at"] = 53.4+0.07*float64(i), 9.9+0.11*float64(i),
				formatMoment(w.cal.momentAt(0, 23.2))
		}
		w.addRecord("drivers", -goLive, w.cal.momentAt(-goLive, 8), r)
	}
}

// writeMembers writes who belongs to the tenant.
func (w *world) writeMembers() {
	joined := w.cal.momentAt(-goLive-5, 9)
	for _, u := range w.users {
		r := store.Row{"user_id": u.ID, "email": u.Email, "role": string(u.Memberships[w.profile.id]), "status": "active",
			"zone_ids": rawJSON([]string{}), "joined_at": formatMoment(joined),
			"created_by": w.users[0].ID}
		for _, p := range w.people {
			if p.user == u.ID {
				r["worker_id"] = p.id
			}
		}
		w.addRecord("members", -goLive-5, joined, r)
	}
}

// nextDriver hands out drivers who have a vehicle, in turn.
func (w *world) nextDriver() *driver {
	for {
		d := w.drivers[w.turn%len(w.drivers)]
		w.turn++
		if d.vehicle != "" {
			return d
		}
	}
}
