package identity

import (
	"context"

	"holdfast/internal/db"
)

// EndAll ends every session of everybody, and with it every token that
// was given out, and writes an audit row with the action and details. It returns
// how many sessions ended.
func (s *Sessions) EndAll(ctx context.Context, action string, details map[string]any) (n int64, err error) {
	err = s.write(ctx, func(tx *db.Tx) error {
		if n, err = tx.Exec("DELETE FROM sessions"); err != nil {
			return err
		}
		s.record(tx, event{action: action, details: details})
		return nil
	})
	return n, err
}
