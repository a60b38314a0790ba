package staged

import (
	"github.com/google/uuid"

	"holdfast/internal/store"
)

// Outcome is what applying a row did, and to which record.
type Outcome struct {
	did byte // an action's first letter
	id  uuid.UUID
}

const outcomeBytes = 1 + len(uuid.UUID{})

// actions are the words of Difference.
var actions = map[byte]string{'i': "insert", 'u': "update", 's': "unchanged"}

// OutcomeOf is that of a change as it was written.
func OutcomeOf(c store.Change) Outcome {
	out := Outcome{did: 'i'}
	if c.Before != nil {
		if out.did = 'u'; c.After["version"] == c.Before["version"] {
			out.did = 's'
		}
	}
	id, _ := c.After["id"].(string)
	out.id, _ = uuid.Parse(id) // the zero one of a record without id
	return out
}

// PackOutcomes packs what the rows of a chunk became.
func PackOutcomes(list []Outcome) []byte {
	data := make([]byte, 0, len(list)*outcomeBytes)
	for _, o := range list {
		data = append(append(data, o.did), o.id[:]...)
	}
	return data
}

// OutcomeIn tells what a chunk's row of this index became, and which record it
// is, "" of one that has no id; ok is false where the chunk says nothing of it.
func OutcomeIn(data []byte, at int) (action, id string, ok bool) {
	from := at * outcomeBytes
	if from+outcomeBytes > len(data) {
		return "", "", false
	}
	o := data[from : from+outcomeBytes]
	if u := uuid.UUID(o[1:]); u != uuid.Nil {
		id = u.String()
	}
	return actions[o[0]], id, true
}
