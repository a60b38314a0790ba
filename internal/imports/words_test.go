package imports_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// names are those of options and fields, which are the interface's words: a
// clerk is told in his own.
var names = regexp.MustCompile(`options\.|mapping\.|[a-z]_[a-z]`)

// What a job says and what is wrong with its rows is said in plain words.
func TestPlainWords(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.add("items", store.Row{"sku": "P-1", "name": "One"})
		k.add("workers", store.Row{"employee_no": "E-1", "name": "Same"})
		k.add("workers", store.Row{"employee_no": "E-2", "name": "Same"})
		k.add("zones", store.Row{"code": "A-1", "name": "One"})
		for _, c := range []struct{ target, mapping, options, file, says string }{
			{"lots", "", "", "item,lot,expiry\nP-1,L1,03/04/2025\n",
				`"expiry": is 03/04/2025 3 April 2025 or 4 March 2025? Say which is meant (date order: dmy, the day first; mdy, the month first)`},
			{"lots", "", "", "item,lot,expiry\nP-1,L1,31/01/2025\nP-1,L2,01/31/2025\n",
				"in different orders of day, month and year"},
			{"items", "", "", "sku,name,unit cost\nP-9,Nine,\"1,234\"\n", "is 1,234 a thousand or a fraction?"},
			{"items", "", "", "sku,name,unit cost\nP-8,Eight,\"1,5\"\nP-9,Nine,1.5\n",
				"fractions behind a point and fractions behind a comma"},
			{"items", "", "", "Kennung,Wo\nP-9,Nine\n", "say on which line it is"},
			{"zones", `{"code":1,"name":2}`, "", "Kennung,Wo\nZ-1,One\n",
				"is line 1 (Kennung, Wo) the header, or data already?"},
			{"zones", "", "", "Z-1,One\ncode,name\nZ-2,Two\n",
				"line 2 (code, name) reads like the header, but line 1 (Z-1, One) above it may be data"},
			{"zones", "", `{"header_row":7}`, "code,name\nZ-2,Two\n", "say on which line its header begins"},
			{"zones", "", `{"header":false}`, "Z-2,Two\n", "say by its number which column is which"},
			{"zones", `{"code":"code","name":2}`, `{"header":false}`, "Z-2,Two\n",
				`give the column of "Code" by its number, not as "code"`},
			{"zones", `{"code":1,"pick_sequence":5}`, `{"header":false}`, "Z-2,Two\n",
				`"Pick sequence" is said to be in column 5, but the file has 2 columns`},
			{"items", "", "", "sku,SKU,name\na,b,c\n", `columns 1 and 2 both read as "SKU"`},
			{"items", "", "", "sku\nP-9\n", "give one value for all rows"},
			{"stock_movements", "", `{"mode":"update"}`, "sku,location,qty\nP-1,A-1,10\n",
				"stock movements are never changed, only added"},
			{"items", "", `{"decimal_mark":"x"}`, "sku,name\nP-9,Nine\n", "the decimal mark must be"},
			{"stock_movements", "", "", "sku,qty,type\nP-1,1,ship\nP-1,1,receipt\n",
				`a movement of the type "ship" needs the zone it comes from; a movement of the type "receipt" needs the zone it goes to`},
			{"stock_movements", "", "", "sku,from zone,to zone,qty,type\nP-1,A-1,A-1,1,ship\nP-1,A-1,A-1,1,receipt\n",
				`a movement of the type "ship" goes to no zone; a movement of the type "receipt" comes from no zone`},
			{"shifts", "", "", "worker,start\nSame,2025-01-31 10:00\n", `2 workers are called "Same"`},
			{"items", "", "", "sku,name,unit cost\n,Nine,\n", `"SKU" is required`},
			{"items", "", `{"mode":"update"}`, "sku,name\n,Nine\n", `"SKU" is required to find the record`},
			{"incidents", "", "", "title,date\nFell,2025-01-31\n",
				`the file has no column for "Kind", which incidents need. Say in the mapping which of its columns is meant`},
			{"incidents", "", "", "title,what,date\nFell,x,2025-01-31\n", "or give one value for all rows"},
			{"incidents", "", "", "title,date of injury\nFell,2025-01-31\n",
				`No column gives "Kind": it is injury in every row.`},
			{"incidents", "", "", "title,date,kind\nFell,2025-01-31,accident at work\n",
				`is not one of injury, illness, near miss, hazard, property damage`},
			{"incidents", "", "", "title,kind,date\n,injury,2025-01-31\n", `"Title" is required`},
			{"incidents", "", "", "title,kind,date\nFell,injury,\n", `"Occurred at" is required`},
			{"items", "", "", "sku,name,unit cost\nP-9,Nine,x\n",
				"0 of 1 row is ready to be applied; 1 has errors and will be left out."},
			{"shifts", "", "", "worker,start\nNobody,2025-01-31 10:00\n", `there is no worker "Nobody"`},
		} {
			job := k.upload(c.target, "", c.mapping, "f.csv", []byte(c.file))
			if c.options != "" {
				k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(c.options)})
			}
			var says []string
			if p, err := k.m.Process(ctx, k.as, job.ID); err == nil {
				for _, e := range p.Errors {
					says = append(says, e.Message)
				}
				says = append(says, p.Message)
			} else {
				says = append(says, k.find("import_jobs", "id", job.ID)["message"].(string))
			}
			if all := strings.Join(says, "; "); !strings.Contains(all, c.says) || names.MatchString(all) {
				k.Errorf("%s of %q: %s", c.target, c.file, all)
			}
		}
		job := k.upload("zones", `{"dry_run":true}`, "", "z.csv", []byte(shelves))
		k.process(job)
		if _, err := k.m.Apply(ctx, k.as, job.ID); err == nil || names.MatchString(fault.As(err).Msg) {
			k.Error(err)
		}
	})
}
