package jurisdiction

import (
	"slices"
	"strings"
)

// americanCountries are the United States and the places where the OSH Act applies
// (section 4(a), 29 U.S.C. 653(a)) that have country codes of their own.
var americanCountries = []string{unitedStates, "AS", "GU", "MP", "PR", "UM", "VI"}

// countrySQL is where a row of sites named site is, in SQL: in its own country, else in
// that of its tenant, a row of tenants named tenant. It is null where neither names one.
const countrySQL = `coalesce(site.country, tenant.country)`

// fill puts what decides about the law of the United States into statements.
var fill = strings.NewReplacer(
	"{country}", countrySQL,
	"{is american}", countrySQL+` IN `+americanSQL(),
	"{may be american}", `coalesce(`+countrySQL+` IN `+americanSQL()+`, TRUE)`,
)

func americanSQL() string { return "('" + strings.Join(americanCountries, "', '") + "')" }

// FillStatement puts into a statement over rows of sites and tenants, named site and
// tenant: for {country} where the site is; for {is american} whether it is under the law
// of the United States, null where no country is on record; for {may be american} the
// same, true where none is, for duties in force are then not left unjudged. Without a
// site, as after an outer join, the tenant's country decides.
func FillStatement(text string) string { return fill.Replace(text) }

// LawOf is the country whose law holds in a country: that of the United States in its
// territories, else its own.
func LawOf(country string) string {
	if slices.Contains(americanCountries, country) {
		return unitedStates
	}
	return country
}
