package catalog

// What files may write into the records that people keep in lists elsewhere.
// The words are headers of files in English, German, French,
// Spanish, Italian, Dutch and Portuguese, without regard to case and accents.
var (
	itemWords = []string{"sku", "product code", "productcode", "item code", "item number", "item no", "stock code", "stockcode", "article", "article number",
		"artikelnummer", "artikel", "code article", "reference article", "articulo", "codigo de articulo", "codice articolo", "artikelcode", "codigo do artigo",
		"item"}
	quantityWords = []string{"qty", "quantity ordered", "physical qoh", "quantity on hand", "qoh", "counted", "menge", "bestand", "anzahl", "quantite",
		"cantidad", "quantita", "aantal", "hoeveelheid", "quantidade"}
	zoneWords = []string{"bin location", "location", "zone", "zone code", "bin", "bin code", "lagerplatz", "platz", "zone de stockage", "emplacement",
		"ubicacion", "ubicazione", "locatie", "localizacao"}
	lotWords    = []string{"lot", "lot number", "lot no", "batch", "batch number", "charge", "chargennummer", "numero de lot", "lote", "lotto", "partij"}
	workerWords = []string{"employee no", "employee number", "employee id", "staff number", "personnel number", "badge", "personalnummer", "mitarbeiternummer",
		"matricule", "numero de empleado", "matricola", "personeelsnummer", "numero de funcionario", "worker", "employee", "mitarbeiter"}
	nameWords   = []string{"full name", "bezeichnung", "name", "nom", "nombre", "nome", "naam"}
	siteWords   = []string{"site", "site code", "establishment", "standort", "etablissement", "site", "sede", "vestiging", "centro"}
	statusWords = []string{"state", "zustand", "statut", "etat", "estado", "stato", "toestand"}
	kindWords   = []string{"type", "kind", "art", "typ", "genre", "tipo", "soort"}
	titleWords  = []string{"subject", "summary", "titel", "titre", "titulo", "titolo", "betreff"}
	detailWords = []string{"details", "notes", "comment", "comments", "beschreibung", "bemerkung", "descripcion", "descrizione", "omschrijving", "descricao",
		"remarques"}
	dueWords = []string{"due", "due date", "deadline", "faellig am", "fallig am", "faelligkeit", "frist", "echeance", "date limite", "vencimiento",
		"scadenza", "vervaldatum", "prazo"}
	codeWords = []string{"number", "no", "nr", "kuerzel", "kurzel", "codigo", "codice", "reference"}
)

// joinWords joins lists of words.
func joinWords(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func importOrders() *Import {
	return &Import{
		Key: []string{"order_no"}, Lines: "order_lines",
		Fields: []string{"order_no", "type", "priority", "party_name", "party_code", "party_gln", "site_id", "requested_at", "promised_at", "carrier", "service",
			"source", "external_ref", "notes", "tags"},
		Synonyms: map[string][]string{
			"order_no": {"order number", "order id", "order", "sales order", "invoice no", "invoiceno", "invoice number", "auftragsnummer", "bestellnummer",
				"auftrag", "numero de commande", "commande", "numero de pedido", "pedido", "numero ordine", "ordine", "ordernummer", "encomenda"},
			"type":       {"order type", "auftragsart", "type de commande"},
			"priority":   {"prio", "prioritaet", "prioritat", "priorite", "prioridad", "priorita", "prioriteit", "prioridade"},
			"party_name": {"customer", "customer name", "client", "buyer", "supplier", "kunde", "kundenname", "nom du client", "cliente", "klant", "ship to name"},
			"party_code": {"customer id", "customerid", "customer code", "customer number", "kundennummer", "code client", "codigo de cliente", "codice cliente",
				"klantnummer"},
			"party_gln": {"gln", "ship to gln"},
			"site_id":   joinWords(siteWords, []string{"warehouse", "lager", "entrepot", "almacen", "magazzino", "magazijn", "armazem"}),
			"requested_at": {"order date", "invoice date", "invoicedate", "date", "ordered at", "requested", "auftragsdatum", "bestelldatum", "date de commande",
				"fecha de pedido", "data ordine", "besteldatum", "data do pedido"},
			"promised_at": {"delivery date", "promised", "promised date", "ship date", "ship by", "liefertermin", "lieferdatum", "date de livraison",
				"fecha de entrega", "data di consegna", "leverdatum", "data de entrega"},
			"carrier":      {"shipping carrier", "spediteur", "transporteur", "transportista", "corriere", "vervoerder", "transportadora"},
			"service":      {"shipping method", "versandart", "mode de livraison"},
			"external_ref": {"external reference", "customer reference", "po number", "purchase order", "kundenreferenz", "reference client", "referencia externa"},
			"notes":        detailWords,
			"tags":         {"labels"},
		},
	}
}

func importOrderLines() *Import {
	return &Import{
		Key:    []string{"order_id", "line_no"},
		Fields: []string{"order_id", "line_no", "item_id", "uom", "qty_ordered", "unit_price", "lot_id", "min_expiry", "disposition"},
		Synonyms: map[string][]string{
			"order_id": {"order number", "order no", "order", "auftragsnummer", "bestellnummer", "numero de commande", "numero de pedido", "numero ordine",
				"ordernummer"},
			"line_no":     {"line", "line number", "position", "pos", "zeile", "ligne", "linea", "riga", "regel", "linha"},
			"item_id":     itemWords,
			"uom":         {"unit of measure", "unit", "einheit", "unite", "unidad", "unita", "eenheid", "unidade"},
			"qty_ordered": joinWords([]string{"quantity", "ordered", "bestellmenge"}, quantityWords),
			"unit_price":  {"unit price", "unitprice", "price", "price each", "preis", "einzelpreis", "prix", "prix unitaire", "precio", "prezzo", "prijs", "preco"},
			"lot_id":      lotWords,
			"min_expiry":  {"minimum expiry", "shelf life until", "mindesthaltbarkeit"},
			"disposition": {"return disposition"},
		},
	}
}

func importStockLevels() *Import {
	return &Import{
		Key:    []string{"zone_id", "item_id", "lot_id", "serial", "lpn", "stock_status"},
		Fields: []string{"zone_id", "item_id", "lot_id", "serial", "lpn", "stock_status", "quantity"},
		Synonyms: map[string][]string{
			"zone_id": zoneWords, "item_id": itemWords, "lot_id": lotWords,
			"serial":       {"serial number", "serial no", "seriennummer", "numero de serie", "numero di serie", "serienummer"},
			"lpn":          {"pallet", "licence plate", "sscc", "palette", "pale", "bancale"},
			"stock_status": joinWords([]string{"status", "stock state"}, statusWords),
			"quantity":     quantityWords,
		},
	}
}

func importWorkers() *Import {
	return &Import{
		Key:    []string{"employee_no"},
		Fields: []string{"employee_no", "name", "job_title", "team_id", "site_id", "employment", "hired_on", "left_on", "user_id", "birth_year", "status"},
		Synonyms: map[string][]string{
			"employee_no": workerWords, "name": joinWords([]string{"worker name", "employee name"}, nameWords), "site_id": siteWords, "status": statusWords,
			"job_title":  {"job", "title", "position", "role", "function", "taetigkeit", "tatigkeit", "funktion", "poste", "puesto", "mansione", "functie", "cargo"},
			"team_id":    {"team", "team code", "crew", "department", "abteilung", "gruppe", "equipe", "equipo", "squadra", "ploeg"},
			"employment": {"employment type", "contract", "contract type", "vertragsart", "type de contrat", "tipo de contrato", "contratto"},
			"hired_on": {"hire date", "hired", "start date", "date of hire", "eintritt", "eintrittsdatum", "date d embauche", "fecha de alta", "data di assunzione",
				"in dienst"},
			"left_on":    {"leave date", "end date", "left", "termination date", "austritt", "austrittsdatum", "date de depart", "fecha de baja", "uit dienst"},
			"user_id":    {"user", "email", "e-mail", "mail", "user email", "courriel", "correo"},
			"birth_year": {"year of birth", "geburtsjahr", "annee de naissance"},
		},
	}
}

func importDrivers() *Import {
	return &Import{
		Key:    []string{"worker_id"},
		Fields: []string{"worker_id", "licence_no", "licence_class", "licence_expires_on", "vehicle_id", "phone", "status"},
		Synonyms: map[string][]string{
			"worker_id": joinWords(workerWords, []string{"driver", "driver number", "fahrer", "chauffeur", "conductor", "autista", "motorista"}),
			"status":    statusWords,
			"licence_no": {"license no", "licence number", "license number", "driving licence", "fuehrerscheinnummer", "fuhrerscheinnummer",
				"numero de permis", "numero de licencia", "numero patente", "rijbewijsnummer", "carta de conducao"},
			"licence_class": {"license class", "licence category", "category", "fuehrerscheinklasse", "fuhrerscheinklasse", "categorie de permis", "clase",
				"categoria patente", "rijbewijs"},
			"licence_expires_on": {"license expires", "licence expiry", "license expiry", "licence valid until", "fuehrerschein gueltig bis", "gueltig bis",
				"gultig bis", "permis valable jusqu au", "caducidad", "scadenza patente", "geldig tot", "validade"},
			"vehicle_id": {"vehicle", "truck", "plate", "kennzeichen", "fahrzeug", "vehicule", "immatriculation", "vehiculo", "matricula", "veicolo", "targa",
				"voertuig", "kenteken"},
			"phone": {"telephone", "mobile", "telefon", "handy", "telefono", "telefoon", "telefone"},
		},
	}
}

func importVehicles() *Import {
	return &Import{
		Key:    []string{"plate"},
		Fields: []string{"plate", "vin", "kind", "payload_kg", "volume_m3", "odometer_km", "inspection_due_on", "site_id", "status"},
		Synonyms: map[string][]string{
			"plate": {"licence plate", "license plate", "registration", "number plate", "kennzeichen", "immatriculation", "matricula", "targa", "kenteken"},
			"vin":   {"vehicle identification number", "chassis number", "fahrgestellnummer", "numero de chassis", "telaio", "chassisnummer"},
			"kind":  joinWords(kindWords, []string{"vehicle type", "fahrzeugart"}), "site_id": siteWords, "status": statusWords,
			"payload_kg":  {"payload", "max load", "nutzlast", "charge utile", "carga util", "portata", "laadvermogen"},
			"volume_m3":   {"volume", "volumen", "ladevolumen", "volumen de carga", "laadvolume"},
			"odometer_km": {"odometer", "mileage", "km", "kilometerstand", "kilometrage", "kilometraje", "chilometri"},
			"inspection_due_on": {"inspection due", "next inspection", "hauptuntersuchung", "tuev", "tuv", "hu faellig", "controle technique", "itv", "revisione",
				"apk"},
		},
	}
}

func importEquipment() *Import {
	return &Import{
		Key:    []string{"asset_no"},
		Fields: []string{"asset_no", "name", "kind", "serial_no", "zone_id", "hours_meter", "service_due_on", "required_course_id", "status"},
		Synonyms: map[string][]string{
			"asset_no": {"asset", "asset id", "asset tag", "equipment number", "equipment id", "inventarnummer", "geraetenummer", "geratenummer",
				"numero d inventaire", "numero de activo", "cespite", "inventarisnummer"},
			"name": nameWords, "kind": joinWords(kindWords, []string{"equipment type", "geraeteart"}), "zone_id": zoneWords, "status": statusWords,
			"serial_no":   {"serial number", "serial", "seriennummer", "numero de serie", "numero di serie", "serienummer"},
			"hours_meter": {"hours", "operating hours", "betriebsstunden", "heures", "horas", "ore", "uren"},
			"service_due_on": {"service due", "next service", "naechste wartung", "wartung", "prochain entretien",
				"proximo servicio", "manutenzione", "onderhoud"},
			"required_course_id": {"required course", "course", "schulung", "formation", "curso", "corso"},
		},
	}
}

func importShifts() *Import {
	return &Import{
		Key: []string{"worker_id", "started_at"},
		Fields: []string{"worker_id", "started_at", "ended_at", "break_minutes", "hours", "units_done", "zone_id", "team_id", "vehicle_id", "equipment_id",
			"source", "status"},
		Synonyms: map[string][]string{
			"worker_id": workerWords, "zone_id": zoneWords, "status": statusWords,
			"started_at":    {"start", "start time", "clock in", "from", "beginn", "kommen", "von", "debut", "inicio", "entrada", "inizio", "aanvang"},
			"ended_at":      {"end", "end time", "clock out", "to", "until", "ende", "gehen", "bis", "fin", "salida", "fine", "einde", "fim"},
			"break_minutes": {"break", "breaks", "pause", "pause minuten", "pausa", "descanso", "pauze"},
			"hours":         {"hours worked", "worked hours", "stunden", "arbeitsstunden", "heures", "horas", "ore", "uren"},
			"units_done":    {"units", "picks", "pieces", "einheiten", "stueck", "stuck", "unites", "unidades", "pezzi", "stuks"},
			"team_id":       {"team", "crew", "gruppe", "equipe", "equipo", "squadra", "ploeg"},
			"vehicle_id":    {"vehicle", "plate", "fahrzeug", "vehicule", "vehiculo", "veicolo", "voertuig"},
			"equipment_id":  {"equipment", "asset", "asset no", "geraet", "gerat", "equipement", "equipo asignado", "attrezzatura"},
		},
	}
}

func importActions() *Import {
	return &Import{
		Key: []string{"action_no"},
		Fields: []string{"action_no", "title", "description", "type", "source", "incident_id", "control_level", "priority", "assignee_user_id", "due_on",
			"review_on", "status"},
		Synonyms: map[string][]string{
			"action_no":   {"action number", "action id", "number", "massnahmennummer", "numero d action", "numero de accion", "numero azione", "actienummer"},
			"title":       joinWords([]string{"action", "task", "measure", "massnahme", "mesure", "medida", "azione", "actie", "acao"}, titleWords),
			"description": detailWords, "due_on": dueWords, "status": statusWords,
			"type":          {"action type", "massnahmenart", "type d action"},
			"incident_id":   {"incident", "incident no", "incident number", "unfall", "ereignis", "incidente", "incident lie"},
			"control_level": {"hierarchy of controls", "control"},
			"priority":      {"prio", "urgency", "prioritaet", "prioritat", "priorite", "prioridad", "priorita", "prioriteit"},
			"assignee_user_id": {"assignee", "assigned to", "owner", "responsible", "verantwortlich", "zustaendig", "zustandig", "responsable", "responsabile",
				"verantwoordelijke", "responsavel"},
			"review_on": {"review date", "review", "wirksamkeitspruefung", "revision"},
		},
	}
}

func importCourses() *Import {
	return &Import{
		Key: []string{"code"},
		Fields: []string{"code", "title", "kind", "minutes", "validity_months", "risk_threshold", "entity_types", "categories", "jurisdictions", "pass_mark",
			"required_for", "status"},
		Synonyms: map[string][]string{
			"code": joinWords([]string{"course code", "course id", "kursnummer", "code du cours"}, codeWords),
			"title": joinWords([]string{"course", "course name", "kurs",
				"schulung", "formation", "curso", "corso", "cursus"}, titleWords, nameWords),
			"kind": joinWords(kindWords, []string{"course type", "delivery"}), "status": statusWords,
			"minutes": {"duration", "duration minutes", "length", "dauer", "duree", "duracion", "durata", "duur", "duracao"},
			"validity_months": {"validity", "valid months", "valid for", "gueltigkeit", "gultigkeit", "gueltig monate",
				"validite", "validez", "validita", "geldigheid"},
			"risk_threshold": {"threshold"},
			"pass_mark":      {"pass score", "bestehensgrenze", "note de passage", "nota minima"},
			"required_for":   {"required by", "pflicht fuer", "obligatoire pour", "obligatorio para"},
			"categories":     {"category", "kategorie", "categorie", "categoria"},
			"jurisdictions":  {"jurisdiction"},
		},
	}
}

func importTraining() *Import {
	return &Import{
		Key: []string{"user_id", "course_id", "completed_at"},
		Fields: []string{"user_id", "course_id", "assignment_type", "assignment_reason", "due_on", "completed_at", "result", "expires_on", "certificate_no",
			"status"},
		Synonyms: map[string][]string{
			"user_id": joinWords([]string{"user", "email", "e-mail", "trainee", "participant", "person", "teilnehmer", "stagiaire", "participante", "partecipante",
				"deelnemer"}, workerWords),
			"course_id": {"course", "course code", "training", "kurs", "schulung", "unterweisung", "formation", "cours", "curso", "corso", "cursus", "formacao"},
			"due_on":    dueWords, "status": statusWords,
			"assignment_type":   {"type", "reason type"},
			"assignment_reason": {"reason", "grund", "motif", "motivo", "reden"},
			"completed_at": {"completed", "completed on", "completion date", "date completed", "passed on", "abgeschlossen am", "absolviert am", "date de fin",
				"terminee le", "completado", "completato il", "voltooid op", "concluido em"},
			"result": {"score", "mark", "grade", "ergebnis", "resultat", "note", "resultado", "risultato", "resultaat"},
			"expires_on": {"expires", "expiry", "expiry date", "valid until", "gueltig bis", "gultig bis", "valable jusqu au", "expire le", "caduca",
				"valido fino", "geldig tot", "valido ate"},
			"certificate_no": {"certificate", "certificate number", "zertifikat", "zertifikatsnummer", "certificat", "numero de certificat", "certificado",
				"certificato", "certificaat"},
		},
	}
}

func importRegulations() *Import {
	return &Import{
		Key:    []string{"code"},
		Fields: []string{"code", "title", "jurisdiction", "citation", "url", "category", "rule", "severity", "owner_user_id", "review_on", "status"},
		Synonyms: map[string][]string{
			"code": joinWords([]string{"regulation code", "regulation", "vorschrift", "reglement", "norma", "voorschrift"}, codeWords), "title": joinWords(titleWords,
				nameWords), "status": statusWords,
			"jurisdiction":  {"region", "geltungsbereich", "juridiction", "jurisdiccion", "giurisdizione"},
			"citation":      {"source", "legal reference", "fundstelle", "reference legale", "cita"},
			"url":           {"link"},
			"category":      {"topic", "kategorie", "categorie", "categoria"},
			"severity":      {"level", "schwere", "gravite", "gravedad", "gravita"},
			"owner_user_id": {"owner", "responsible", "verantwortlich", "responsable", "responsabile"},
			"review_on":     {"review date", "next review", "wiedervorlage", "prochaine revue"},
		},
	}
}
