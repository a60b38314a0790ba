package targets

import (
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
)

// plainValues are what members of closed sets are called in English, German, French,
// Spanish, Italian, Dutch and Portuguese, by target, field and member.
var plainValues = []struct{ target, field, member, words string }{
	{"incidents", "severity", "low", "low; gering; faible; baja; bassa; laag; baixa"},
	{"incidents", "severity", "medium", "medium; mittel; moyenne; media; moderata; gemiddeld; média"},
	{"incidents", "severity", "high", "high; hoch; élevée; alta; grave; hoog; alto"},
	{"incidents", "severity", "critical", "critical; kritisch; critique; crítica; critico; kritiek; mortal"},
	{"incidents", "kind", "injury", "injury; Verletzung; blessure; lesión; infortunio; letsel; acidente"},
	{"incidents", "kind", "near_miss", "near miss; Beinaheunfall; presque accident; casi accidente; quasi infortunio; bijna-ongeval; quase acidente"},
	{"incidents", "kind", "illness", "illness; Erkrankung; maladie; enfermedad; malattia; ziekte; doença"},
	{"incidents", "kind", "property_damage",
		"property damage; Sachschaden; dégât matériel; daños materiales; danni materiali; materiële schade; danos materiais"},
	{"actions", "priority", "high", "high; hoch; haute; alta; alto; hoog; alta"},
	{"actions", "status", "open", "open; offen; ouvert; abierto; aperto; geopend; aberto"},
	{"items", "status", "active", "active; aktiv; actif; activo; attivo; actief; ativo"},
	{"items", "status", "discontinued", "discontinued; eingestellt; arrêté; descatalogado; fuori produzione; uitgefaseerd; descontinuado"},
	{"items", "base_uom", "EA", "pcs; Stück; pièce; unidad; pezzo; stuks; unidade"},
	{"items", "base_uom", "KGM", "kg; Kilogramm; kilogramme; kilogramo; chilogrammo; kilogram; quilograma"},
	{"items", "tracking", "lot", "lot; Charge; par lots; lote; lotto; partij; lote"},
	{"items", "tracking", "serial", "serial; Seriennummer; numéro de série; número de serie; numero di serie; serienummer; número de série"},
	{"stock_levels", "stock_status", "available", "available; verfügbar; disponible; disponible; disponibile; beschikbaar; disponível"},
	{"stock_levels", "stock_status", "damaged", "damaged; beschädigt; endommagé; dañado; danneggiato; beschadigd; danificado"},
	{"workers", "employment", "agency", "agency; Leiharbeit; intérim; ETT; interinale; uitzendkracht; temporário"},
}

// Members of closed sets are known by their words in each of seven languages.
func TestValuesInSevenLanguages(t *testing.T) {
	all := Of(catalog.Default())
	for _, c := range plainValues {
		column := all[c.target].Column(c.field)
		if column == nil {
			t.Errorf("no file of %s gives %s", c.target, c.field)
			continue
		}
		words := strings.Split(c.words, "; ")
		if len(words) != 7 {
			t.Errorf("%s.%s.%s has %d words", c.target, c.field, c.member, len(words))
		}
		for _, word := range words {
			got, _ := cell.Choice(word, column.Field.OneOf, column.Values)
			if code, ok := UnitCode(word); ok && c.field == baseUnit {
				got = code
			}
			if got != c.member {
				t.Errorf("%s: %s %q is %q, not %s", c.target, c.field, word, got, c.member)
			}
		}
	}
}

// Yes and no are known in each of seven languages.
func TestTruthInSevenLanguages(t *testing.T) {
	for want, words := range map[bool]string{
		true:  "yes ja oui sí sì true wahr vrai verdadero vero waar verdadeiro sim",
		false: "no nein non nee não false falsch faux falso onwaar",
	} {
		for _, word := range strings.Fields(words) {
			if got, ok := cell.Bool(word); !ok || got != want {
				t.Errorf("%q is %v, %v", word, got, ok)
			}
		}
	}
}
