package plan

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/targets"
)

// plainHeaders are what columns of a plain file are called in seven languages; each
// line gives the same fields of its target.
var plainHeaders = []struct {
	target, fields string
	en, de, fr     string
	es, it, nl, pt string
}{
	{"items", "sku name base_uom unit_cost gtin",
		"Item number;Name;Unit;Unit cost;Barcode", "Artikelnummer;Bezeichnung;Einheit;Einkaufspreis;EAN",
		"Code article;Désignation;Unité;Prix d'achat;Code-barres", "Código de artículo;Nombre;Unidad;Coste;Código de barras",
		"Codice articolo;Nome;Unità;Costo;Codice a barre", "Artikelcode;Naam;Eenheid;Kostprijs;Streepjescode",
		"Código do artigo;Nome;Unidade;Custo;Código de barras"},
	{"zones", "code name max_capacity", "Location;Name;Capacity", "Lagerplatz;Bezeichnung;Kapazität",
		"Emplacement;Nom;Capacité",
		"Ubicación;Nombre;Capacidad", "Ubicazione;Nome;Capacità", "Locatie;Naam;Capaciteit", "Localização;Nome;Capacidade"},
	{"stock_levels", "item_id zone_id quantity lot_id", "Item;Location;Quantity;Lot", "Artikel;Lagerplatz;Bestand;Charge",
		"Article;Emplacement;Quantité;Lot", "Artículo;Ubicación;Cantidad;Lote", "Codice articolo;Ubicazione;Quantità;Lotto",
		"Artikel;Locatie;Aantal;Partij", "Código do artigo;Localização;Quantidade;Lote"},
	{"orders", "order_no requested_at party_name item_id qty_ordered",
		"Order number;Order date;Customer;Item;Quantity", "Auftragsnummer;Auftragsdatum;Kunde;Artikel;Menge",
		"Numéro de commande;Date de commande;Client;Article;Quantité",
		"Número de pedido;Fecha de pedido;Cliente;Artículo;Cantidad",
		"Numero ordine;Data ordine;Cliente;Articolo;Quantità", "Ordernummer;Besteldatum;Klant;Artikel;Aantal",
		"Número do pedido;Data do pedido;Cliente;Artigo;Quantidade"},
	{"workers", "employee_no name job_title hired_on", "Employee number;Name;Job title;Hire date",
		"Personalnummer;Name;Funktion;Eintrittsdatum",
		"Matricule;Nom;Poste;Date d'embauche", "Número de empleado;Nombre;Puesto;Fecha de alta",
		"Matricola;Nome;Mansione;Data di assunzione",
		"Personeelsnummer;Naam;Functie;In dienst", "Número de funcionário;Nome;Cargo;Data de admissão"},
	{"shifts", "worker_id started_at ended_at hours", "Employee;Start;End;Hours worked",
		"Mitarbeiter;Beginn;Ende;Arbeitsstunden",
		"Employé;Début;Fin;Heures", "Empleado;Inicio;Fin;Horas", "Dipendente;Inizio;Fine;Ore", "Medewerker;Begin;Einde;Uren",
		"Funcionário;Início;Fim;Horas"},
	{"incidents", "occurred_at title severity kind", "Date;Title;Severity;Type", "Datum;Titel;Schweregrad;Art",
		"Date;Titre;Gravité;Type",
		"Fecha;Título;Gravedad;Tipo", "Data;Titolo;Gravità;Tipo", "Datum;Titel;Ernst;Soort", "Data;Título;Gravidade;Tipo"},
	{"training_assignments", "user_id course_id completed_at certificate_no",
		"Employee;Course;Completed;Certificate", "Mitarbeiter;Kurs;Abgeschlossen am;Zertifikat",
		"Employé;Formation;Terminé le;Certificat",
		"Empleado;Curso;Completado;Certificado", "Dipendente;Corso;Completato;Certificato",
		"Medewerker;Cursus;Voltooid;Certificaat",
		"Funcionário;Curso;Concluído;Certificado"},
}

// A plain file of each target is known by its headers in each of seven languages.
func TestHeadersInSevenLanguages(t *testing.T) {
	all := targets.Of(catalog.Default())
	for _, c := range plainHeaders {
		for i, header := range []string{c.en, c.de, c.fr, c.es, c.it, c.nl, c.pt} {
			l, err := Arrange(all[c.target], strings.Split(header, ";"), nil, true)
			if err != nil {
				t.Errorf("%s %d: %v", c.target, i, err)
				continue
			}
			var got []string
			for _, x := range l.Cols {
				got = append(got, x.Name)
			}
			if want := strings.Fields(c.fields); !slices.Equal(got, want) {
				t.Errorf("%s: %s gives %v, not %v", c.target, header, got, want)
			}
		}
	}
}

// The exports of programs that many keep their stock in are known by their headers.
func TestHeadersOfPrograms(t *testing.T) {
	all := targets.Of(catalog.Default())
	for program, c := range map[string]struct{ target, header, fields string }{
		"Shopify": {"items", "Variant SKU;Title;Variant Barcode;Variant Price;Cost per item",
			"sku name gtin price unit_cost"},
		"WooCommerce": {"items", "SKU;Name;Regular price;GTIN, UPC, EAN, or ISBN;Low stock amount;Weight (kg)",
			"sku name price gtin reorder_point weight_kg"},
		"Odoo": {"items", "Internal Reference;Name;Barcode;Sales Price;Cost;Unit of Measure",
			"sku name gtin price unit_cost base_uom"},
		"ERPNext": {"items", "Item Code;Item Name;Item Group;Default Unit of Measure;Valuation Rate",
			"sku name category base_uom unit_cost"},
		"SAP": {"stock_levels", "Material;Storage location;Batch;Unrestricted", "item_id zone_id lot_id quantity"},
		"OpenBoxes": {"stock_levels", "Product code;Bin location;Lot number;Quantity on hand",
			"item_id zone_id lot_id quantity"},
		"InvenTree": {"items", "IPN;Name;Description;Category;Units;Minimum stock",
			"sku name description category base_uom reorder_point"},
		"Snipe-IT": {"equipment", "Asset Tag;Asset Name;Serial", "asset_no name serial_no"},
		"OSHA 300": {"incidents", "(A) Case no.;(D) Date of injury;(E) Where;(F) Describe injury or illness",
			"external_ref occurred_at zone_id title"},
	} {
		l, err := Arrange(all[c.target], strings.Split(c.header, ";"), nil, true)
		if err != nil {
			t.Errorf("%s: %v", program, err)
			continue
		}
		var got []string
		for _, x := range l.Cols {
			got = append(got, x.Name)
		}
		if want := strings.Fields(c.fields); !slices.Equal(got, want) {
			t.Errorf("%s gives %v, not %v", program, got, want)
		}
	}
}
