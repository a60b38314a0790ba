package jobtitle_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"holdfast/internal/jobtitle"
)

const operator, driver = "forklift operator", "driver"

func TestTitlesMeanJobs(t *testing.T) {
	for title, want := range map[string]string{
		"Forklift operator": operator, "FORKLIFT  OPERATOR": operator, "fork-lift driver": operator,
		"Forklift driver":                  operator,
		"Senior forklift operator, nights": operator, "Lift Truck Operator": operator,
		"Gabelstaplerfahrer": operator, "Staplerfahrer/in (m/w/d)": operator, "Staplerfahrer:innen": operator,
		"Flurfoerderzeugfuehrer": operator, "FLURFÖRDERZEUGFÜHRER": operator, "Flurfo\u0308rderzeugfu\u0308hrer": operator,
		"Cariste H/F": operator, "conducteur de chariot e\u0301le\u0301vateur": operator,
		"Operator wózka widłowego": operator,
		"Driver":                   driver, "LKW-Fahrer": driver, "Berufskraftfahrer*in": driver, "Chauffeur routier": driver,
		"truck driver": driver,

		// jobs of their own
		"": "", "Picker": "picker", "  Fork lift technician ": "fork lift technician", "Quality Manager": "quality manager",
		"Screwdriver assembler": "screwdriver assembler", "Lagerist": "lagerist", "50x% of it": "50x of it", "叉车司机": "叉车司机",
	} {
		if got := jobtitle.Of(title); got != want {
			t.Errorf("%q means %q, want %q", title, got, want)
		}
	}
}

// Every title of the catalogue leads to its role, whichever way it is written, and
// to one role only.
func TestCatalogueIsItself(t *testing.T) {
	raw, err := os.ReadFile("roles.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Source string
		AsOf   string `json:"as_of"`
		Roles  []jobtitle.Role
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Source == "" || file.AsOf == "" || len(file.Roles) == 0 {
		t.Fatalf("the catalogue has source %q of %q and %d roles: %v", file.Source, file.AsOf, len(file.Roles), err)
	}
	for _, r := range file.Roles {
		for language, titles := range r.Titles {
			for _, title := range titles {
				if got := jobtitle.Of(title); got != jobtitle.Fold(r.Name) {
					t.Errorf("%s %q means %q, want %s", language, title, got, r.Name)
				}
			}
		}
	}
}

func TestWordsAskOfPeople(t *testing.T) {
	words := []string{"Forklift operator", "Crane"}
	for _, c := range []struct {
		word, title string
		want        bool
	}{
		{"Forklift operator", "Cariste", true}, {"Forklift operator", "Senior forklift driver", true},
		{"Forklift operator", "Picker", false}, {"Forklift operator", "", false}, {"", "", false},
		{"Driver", "ADR driver", true}, {"ADR driver", "adr-Driver", true},
		{"ADR driver", "Driver", false}, {"Forklift driver instructor", "Forklift driver", false},
	} {
		if got := jobtitle.IsNamed([]string{"Crane", c.word}, c.title); got != c.want {
			t.Errorf("%q names a %q: %v", c.word, c.title, got)
		}
	}
	for kind, want := range map[string]bool{"forklift": true, "Reach_Truck": true, "crane": true, "conveyor": false,
		"": false} {
		if got := jobtitle.AsksOf(words, kind); got != want {
			t.Errorf("the words ask of the driver of a %s: %v", kind, got)
		}
	}
	if !slices.Contains(jobtitle.EquipmentOf(operator), "forklift") || jobtitle.EquipmentOf("picker") != nil {
		t.Error("EquipmentOf goes by another job")
	}
}

func FuzzOf(f *testing.F) {
	f.Add("Staplerfahrer/in")
	f.Fuzz(func(t *testing.T, title string) {
		if job := jobtitle.Of(title); jobtitle.Of(job) != job {
			t.Errorf("%q means %q, which means %q", title, job, jobtitle.Of(job))
		}
	})
}
