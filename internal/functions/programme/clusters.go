package programme

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/functions/output"
	"holdfast/internal/query"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// ClustersIn asks for clusters.
type ClustersIn struct {
	EntityType string  `query:"entity_type" oneof:"zone driver worker equipment" doc:"Type of entity; all when absent."`
	MinScore   float64 `query:"min_score" default:"0" min:"0" max:"100" doc:"Least score. Above 0 leaves people out for managers, who may not know their scores."`
	MaxScore   float64 `query:"max_score" default:"100" min:"0" max:"100" doc:"Greatest score. Below 100 leaves people out for managers."`
}

// entityKinds are the entity types that are grouped, as of TrainingIn.
func (in *ClustersIn) entityKinds(a actor.Actor) []string {
	return kindsWithin(a, in.EntityType, in.MinScore > 0 || in.MaxScore < 100)
}

// ClusterOut is a cluster of entities with like scores.
type ClusterOut struct {
	ID          string  `json:"id" format:"uuid" doc:"The cluster."`
	Name        string  `json:"cluster_name" enum:"Critical,High,Medium,Low,Unclear" doc:"Its name."`
	Severity    int     `json:"severity" doc:"4 for Critical to 1 for Low; 0 for Unclear."`
	Description string  `json:"description" doc:"Its bounds and what to do."`
	Count       int     `json:"entity_count" doc:"Entities in it; for managers without people."`
	Low         float64 `json:"low" unit:"score, 0 to 100" doc:"Scores from here on."`
	High        float64 `json:"high" unit:"score, 0 to 100" doc:"Scores below this; of Critical up to 100."`
	people      int     // of Count
}

// ClustersOut is the answer of assign-risk-clusters.
type ClustersOut struct {
	Success  bool         `json:"success" doc:"true."`
	Tenant   string       `json:"tenant_id" format:"uuid" doc:"The tenant."`
	Created  int          `json:"clusters_created" doc:"Clusters that hold an entity."`
	Assigned int          `json:"entities_assigned" doc:"Entities in them."`
	Clusters []ClusterOut `json:"clusters" doc:"The clusters, worst first."`
}

// Clusters groups entities into bands by their newest official scores and
// answers assign-risk-clusters. It replaces what its filter names and leaves
// other entities where they are; the same scores give the same set again.
func (p *Programme) Clusters(ctx context.Context, a actor.Actor, in *ClustersIn) (*ClustersOut, error) {
	return inTurn(ctx, p, a, "", func() (*ClustersOut, error) { return p.assignClusters(ctx, a, in) })
}

func (p *Programme) assignClusters(ctx context.Context, a actor.Actor, in *ClustersIn) (*ClustersOut, error) {
	if in.MinScore > in.MaxScore {
		return nil, fault.New(fault.Invalid, "", "parameter %q must not be above %q", "min_score", "max_score").At("min_score", "must not be above max_score")
	}
	kinds := in.entityKinds(a)
	if len(kinds) == 0 {
		return nil, fault.New(fault.Forbidden, "42501", "role %q may not group people by score", a.Role).At("entity_type", "is about people")
	}
	out := &ClustersOut{Success: true, Tenant: a.TenantID, Clusters: []ClusterOut{}}
	err := p.write(ctx, a, func(tx *db.Tx) error {
		out.Clusters, out.Assigned = []ClusterOut{}, 0
		lockTenant(tx, a.TenantID)
		st := queueSettings(tx, a.TenantID)
		if err := tx.Flush(); err != nil {
			return err
		}
		st.repairSettings()
		list, err := readLatest(tx, a.TenantID, st.keepScored(kinds), "", 0)
		if err != nil {
			return err
		}
		m := newMembership(kinds, list, in)
		kept, err := p.readClusters(tx, a, m)
		if err != nil {
			return err
		}
		rows, err := out.makeClusters(list, st, in, m, query.FormatTime(p.now()))
		if err != nil {
			return err
		}
		return p.replaceClusters(tx, a, rows, kept, m, st.cuts)
	})
	if err != nil {
		return nil, err
	}
	if !seesPeople(a.Role) {
		out.hidePeople()
	}
	out.Created = len(out.Clusters)
	return out, nil
}

// hidePeople leaves people out of the counts, and clusters of people only out of
// the answer: how many there are tells a single person's score where who is
// scored can be chosen.
func (o *ClustersOut) hidePeople() {
	o.Assigned = 0
	for i := range o.Clusters {
		c := &o.Clusters[i]
		c.Count -= c.people
		o.Assigned += c.Count
	}
	o.Clusters = slices.DeleteFunc(o.Clusters, func(c ClusterOut) bool { return c.Count == 0 })
}

// makeClusters makes the records of the bands that hold an entity.
func (o *ClustersOut) makeClusters(
	list []latest, st *settings, in *ClustersIn, m *membership, now string,
) ([]store.Row, error) {
	standings := make([]score.Standing, len(list))
	for i := range list {
		standings[i] = list[i].standing
	}
	clusters, err := score.Assign(standings, st.cuts, score.Range{Min: in.MinScore, Max: in.MaxScore})
	if err != nil {
		return nil, err
	}
	var rows []store.Row
	for _, c := range clusters {
		x := ClusterOut{db.NewID(), c.Name, c.Severity, clusterText(c), len(c.Members), c.Low, c.High, 0}
		for _, i := range c.Members {
			if isPersonal(list[i].kind) {
				x.people++
			}
		}
		o.Clusters = append(o.Clusters, x)
		o.Assigned += x.Count
		inside, err := m.encodeMembers(c, list)
		if err != nil {
			return nil, err
		}
		row := store.Row{"id": x.ID, "cluster_name": x.Name, "severity": int64(x.Severity), "description": x.Description, "entity_count": int64(x.Count),
			"about": about(x.people, x.Count), "min_score": decimal.FromFloat(in.MinScore), "max_score": decimal.FromFloat(in.MaxScore),
			"members": inside, "assigned_at": now}
		if in.EntityType != "" {
			row["entity_type"] = in.EntityType
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// about says what is in a cluster.
func about(people, count int) string {
	switch people {
	case 0:
		return "places"
	case count:
		return "people"
	}
	return "both"
}

// membership is what one assignment decides: which entities it puts into
// clusters, and which it leaves where they are.
type membership struct {
	kinds  []string           // types that the filter names
	placed []latest           // entities that the filter names, by their newest score
	beside map[uuid.UUID]bool // entities of these types whose newest score is outside the filter

	was map[uuid.UUID]clusterMember // where each entity stood at the last assignment
	in  map[uuid.UUID]string        // the name of the cluster of each of them
}

func newMembership(kinds []string, list []latest, in *ClustersIn) *membership {
	m := &membership{
		kinds: kinds, beside: map[uuid.UUID]bool{},
		was: map[uuid.UUID]clusterMember{}, in: map[uuid.UUID]string{},
	}
	for _, x := range list {
		if x.score < in.MinScore || x.score > in.MaxScore {
			m.beside[x.entity] = true
			continue
		}
		m.placed = append(m.placed, x)
	}
	return m
}

// stays reports whether an entity keeps its place in a cluster. One of the
// filter's types that has no score any more leaves it.
func (m *membership) stays(x clusterMember) bool {
	return !slices.Contains(m.kinds, x.Type) || m.beside[x.ID]
}

var clusterAdvice = map[string]string{
	"Critical": "stop and put right before work goes on",
	"High":     "or a critical incident in the period; act within days and check that it helped",
	"Medium":   "plan measures and watch the trend",
	"Low":      "keep up what works",
}

func clusterText(c score.Cluster) string {
	if c.Name == score.Unclear.Name {
		return fmt.Sprintf("Not enough to tell: confidence below %g; record hours and reports before judging.",
			score.LeastConfidence)
	}
	high := "below " + strconv.FormatFloat(c.High, 'f', -1, 64)
	if c.Severity == 4 {
		high = "to 100"
	}
	return fmt.Sprintf("%s risk: score %s %s; %s.", c.Name, strconv.FormatFloat(c.Low, 'f', -1, 64), high, clusterAdvice[c.Name])
}

// clusterMember is an entity in a cluster, as the cluster's record keeps it.
type clusterMember struct {
	Type     string    `json:"entity_type"`
	ID       uuid.UUID `json:"entity_id"`
	Score    float64   `json:"score"`
	Previous string    `json:"previous,omitempty"` // name of the cluster before this one; "" while it never moved
}

// encodeMembers makes the record of the members of a new cluster.
func (m *membership) encodeMembers(c score.Cluster, list []latest) (json.RawMessage, error) {
	out := make([]clusterMember, len(c.Members))
	for k, i := range c.Members {
		x := &list[i]
		out[k] = clusterMember{x.kind, x.entity, x.score, m.previousOf(x.entity, c.Name)}
	}
	return output.Encode(out)
}

// previousOf returns the name of the cluster that an entity stood in before the
// one that it is put into now.
func (m *membership) previousOf(entity uuid.UUID, now string) string {
	if before := m.in[entity]; before != now {
		return before
	}
	return m.was[entity].Previous
}

// keptCluster is a cluster of the last assignment, with its members.
type keptCluster struct {
	row     store.Row
	members []clusterMember
}

// readClusters reads the tenant's clusters and notes in m where each entity stands.
func (p *Programme) readClusters(tx *db.Tx, a actor.Actor, m *membership) ([]keptCluster, error) {
	rows, err := p.store.In(tx, a).Rows("risk_clusters", "1 = 1 ORDER BY id")
	if err != nil {
		return nil, err
	}
	kept := make([]keptCluster, len(rows))
	for i, row := range rows {
		kept[i].row = row
		raw, _ := row["members"].(json.RawMessage)
		if err := json.Unmarshal(raw, &kept[i].members); err != nil {
			return nil, fmt.Errorf("programme: members of cluster %s: %w", row.Text("id"), err)
		}
		for _, x := range kept[i].members {
			m.was[x.ID], m.in[x.ID] = x, row.Text("cluster_name")
		}
	}
	return kept, nil
}

// replaceClusters puts new clusters beside what stays of the tenant's, and
// notifies of the entities that moved from one cluster into another.
func (p *Programme) replaceClusters(
	tx *db.Tx, a actor.Actor, rows []store.Row, kept []keptCluster, m *membership, cuts score.Cuts,
) error {
	var replaced []string
	for _, c := range kept {
		rest, changed, err := m.shrinkCluster(c)
		if err != nil {
			return err
		}
		if changed {
			replaced = append(replaced, c.row.Text("id"))
		}
		if rest != nil {
			rows = append(rows, rest)
		}
	}
	if err := p.store.In(tx, a).DeleteRows("risk_clusters", replaced); err != nil {
		return err
	}
	if _, err := p.insertRows(tx, a, "risk_clusters", rows); err != nil {
		return err
	}
	return p.notifyMoves(tx, a, m, cuts)
}

// shrinkCluster takes those out of a cluster that leave it: changed is true where
// some do, and rest is the record with those that stay, nil when none does.
func (m *membership) shrinkCluster(c keptCluster) (rest store.Row, changed bool, err error) {
	var stay []clusterMember
	people := 0
	for _, x := range c.members {
		if !m.stays(x) {
			continue
		}
		stay = append(stay, x)
		if isPersonal(x.Type) {
			people++
		}
	}
	if len(stay) == len(c.members) {
		return nil, false, nil
	}
	if len(stay) == 0 {
		return nil, true, nil
	}

	inside, err := output.Encode(stay)
	if err != nil {
		return nil, false, err
	}
	rest = store.Row{
		"entity_count": int64(len(stay)), "about": about(people, len(stay)), "members": json.RawMessage(inside),
	}
	for _, f := range []string{
		"id", "cluster_name", "severity", "description", "entity_type", "min_score", "max_score", "assigned_at",
	} {
		rest[f] = c.row[f]
	}
	return rest, true, nil
}

func (p *Programme) notifyMoves(tx *db.Tx, a actor.Actor, placement *membership, cuts score.Cuts) error {
	var moves []Move
	for i := range placement.placed {
		x := &placement.placed[i]
		from, is := placement.in[x.entity], nameBand(cuts, x.standing)
		if from == "" || from == is {
			continue
		}
		m := Move{x.id.String(), x.kind, x.entity.String(), "", from, is}
		if x.user != uuid.Nil {
			m.UserID = x.user.String()
		}
		moves = append(moves, m)
	}
	if len(moves) == 0 {
		return nil
	}
	return p.hooks.Moved(tx, a.TenantID, moves)
}
