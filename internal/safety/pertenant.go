package safety

import "holdfast/internal/store"

// PerTenant runs an effect once for each tenant whose rows were inserted or
// updated, with the actor in that tenant.
func PerTenant(f store.Effect) store.Effect { return perTenant(f) }
