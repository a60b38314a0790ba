package imports

import "context"

// ClaimAsked is what a request does first that begins a step: it looks whether
// the claim still holds.
func (m *Importer) ClaimAsked(ctx context.Context) any { return m.claims.of(ctx, m.db) }
