package verify

import "holdfast/internal/db"

// splitPlatesSQL selects license plates of which goods lie in several places, and how many those
// are. Files that are imported may say so. $1 tenant.
const splitPlatesSQL = `
	SELECT lpn, COUNT(DISTINCT zone_id)
	FROM stock_levels
	WHERE tenant_id = $1
		AND lpn IS NOT NULL
		AND quantity > 0
		AND lpn NOT IN (
			SELECT lpn
			FROM stock_movements
			WHERE tenant_id = $1
				AND lpn IS NOT NULL
				AND type IN ('opening', 'import')
		)
	GROUP BY lpn
	HAVING COUNT(DISTINCT zone_id) > 1`

// recountPlates finds license plates that are not in one place.
func (r *recount) recountPlates() {
	r.queueQuery(splitPlatesSQL, func(row *db.Row) {
		r.addPair("places of plate "+row.Text(0), row.Int(1), 1)
	})
}
