package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/identity/chain"
)

// verifyAudit checks the audit log of a tenant, or of all, against itself and against the
// heads in a file, "" = none, to which it adds those that it found.
func verifyAudit(cmd *cobra.Command, a *app.App, tenant, file string) error {
	kept, err := readHeads(file)
	if err != nil {
		return err
	}
	reports, err := a.Identity.Admin.VerifyAudit(cmd.Context(), tenant, kept...)
	if err != nil {
		return err
	}
	broken := 0
	for _, r := range reports {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d rows sealed, %d waiting, head %s\n",
			r.TenantID, r.Rows, r.Waiting, r.Head)
		for _, b := range r.Breaks {
			fmt.Fprintf(cmd.OutOrStdout(), "  %+v\n", b)
		}
		if !r.Whole() {
			broken++
		}
	}
	if broken > 0 {
		return fmt.Errorf("the audit log of %d tenants was changed after it was sealed", broken)
	}
	return addHeads(file, reports)
}

// readHeads reads the heads that earlier checks kept, a JSON object a line.
func readHeads(file string) (heads []chain.KeptHead, err error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var h chain.KeptHead
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.TenantID == "" || h.SealNo <= 0 || h.Hash == "" {
			return nil, fmt.Errorf("line %d of %s is no head of an audit log: %s", n, file, lines.Text())
		}
		heads = append(heads, h)
	}
	return heads, lines.Err()
}

// addHeads adds the heads of whole logs to a file, and returns once they are on its disk.
func addHeads(file string, reports []chain.Report) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	lines, now := json.NewEncoder(f), time.Now().UTC()
	for _, r := range reports {
		if r.HeadNo > 0 {
			err = errors.Join(err, lines.Encode(chain.KeptHead{TenantID: r.TenantID, SealNo: r.HeadNo, Hash: r.Head,
				KeptAt: now}))
		}
	}
	return errors.Join(err, f.Sync(), f.Close())
}
