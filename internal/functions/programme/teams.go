package programme

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/score"
)

// TeamMean is the mean score of a team's people.
type TeamMean struct {
	EntityType string  `json:"entity_type" enum:"driver,worker" doc:"Type of the people."`
	TeamID     string  `json:"team_id" format:"uuid" doc:"The team."`
	N          int64   `json:"n" doc:"People scored in it."`
	Score      float64 `json:"score" unit:"0 to 100" doc:"Their mean."`
}

// teamSum adds up the scores of a team's people.
type teamSum struct {
	id    uuid.UUID
	n     int64
	total float64
}

// teamMeans are the mean scores of people by team, for teams with enough of
// them that no single score can be told from the mean, and how many teams are
// left out.
func teamMeans(st *settings, list []*scored) (means []TeamMean, suppressed int) {
	means = []TeamMean{}
	for _, s := range list {
		if !isPersonal(s.kind) {
			continue
		}
		teams, others := s.sumTeams()
		sizes := make([]int64, len(teams))
		for i := range teams {
			sizes[i] = teams[i].n
		}
		shown, hidden := st.minGroup.Choose(sizes, others)
		suppressed += hidden
		for i, t := range teams {
			if shown[i] {
				means = append(means, TeamMean{s.kind, t.id.String(), t.n, score.Round(t.total/float64(t.n), 1)})
			}
		}
	}
	slices.SortFunc(means, func(x, y TeamMean) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.TeamID, y.TeamID))
	})
	return means, suppressed
}

// sumTeams adds up the scores by team, in the order of the teams' ids, and counts
// the people of no team.
func (s *scored) sumTeams() (teams []teamSum, others int64) {
	byID := map[uuid.UUID]*teamSum{}
	for i := range s.list {
		id := s.list[i].team
		if id == uuid.Nil {
			others++
			continue
		}
		if byID[id] == nil {
			byID[id] = &teamSum{id: id}
		}
		byID[id].n++
		byID[id].total += s.est[i].Score
	}
	for _, t := range byID {
		teams = append(teams, *t)
	}
	slices.SortFunc(teams, func(x, y teamSum) int { return bytes.Compare(x.id[:], y.id[:]) })
	return teams, others
}
