// Package docs holds the pages that the server shows at /docs: for people at work, integrators
// and operators, as they stand in this folder.
package docs

import "embed"

// Pages are Markdown files by path.
//
//go:embed api.md formulas.md operating.md permissions.md rules.md webhooks.md guides/*.md operating/*.md use/*.md
var Pages embed.FS
