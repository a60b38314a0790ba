package admin

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/chain"
	"holdfast/internal/identity/tenants"
)

// SealAudit links the audit rows written since into their tenants' chains, see
// package chain. Run it every few seconds; several nodes may.
func (s *Administration) SealAudit(ctx context.Context) error {
	_, err := s.chain().Seal(ctx)
	return err
}

// KeepAuditHeads writes where the tenants' chains end into the platform's own, once an hour
// however often it is run.
func (s *Administration) KeepAuditHeads(ctx context.Context) error { return s.chain().KeepHeads(ctx) }

// VerifyAudit recomputes the chain of a tenant (id or slug), or of all, that
// of rows without a tenant included, for "". It compares each with the heads of it that the
// platform's chain keeps, and with those that the caller kept.
func (s *Administration) VerifyAudit(ctx context.Context, tenant string, heads ...chain.KeptHead) (
	[]chain.Report, error) {
	c := s.chain()
	var err error
	list := []string{tenant}
	switch tenant {
	case "":
		list, err = c.Tenants(ctx)
	case db.NoTenant:
	default:
		err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
			t, err := tenants.TenantBy(tx, tenant)
			list[0] = t.ID
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	only := ""
	if tenant != "" {
		only = list[0]
	}
	kept, err := c.ReadKept(ctx, only)
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		kept[h.TenantID] = append(kept[h.TenantID], h)
	}
	out := make([]chain.Report, len(list))
	for i, t := range list {
		if out[i], err = c.Verify(ctx, t, kept[t]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Administration) chain() *chain.Chain {
	return &chain.Chain{DB: s.DB, Keys: s.Secrets, Now: s.Now}
}
