package page

// texts are the words of the report page in one language.
type texts struct {
	Lang, Title, Lead, Kind, NearMiss, NearMissHelp, Hazard, HazardHelp             string
	Severity, Low, Medium, High, Critical                                           string
	What, WhatHelp, When, WhenHelp, Photo, PhotoHelp, Name, NameHelp, Trap, Send    string
	Emergency, Thanks, Reference, Keep, Another                                     string
	Gone, TooOften, PhotoLarge, PhotoKind, PhotoBroken, Incomplete, Failed, Trapped string
	Wrong                                                                           map[string]string
}

func englishTexts() texts {
	return texts{
		Lang: "en", Title: "Report a near miss or hazard",
		Lead: "It takes a minute. You need no account and need not give your name.",
		Kind: "What is it?", NearMiss: "Near miss", NearMissHelp: "Something almost went wrong", Hazard: "Hazard",
		HazardHelp: "Something is unsafe",
		Severity:   "How bad could it have been?", Low: "A scratch or small damage", Medium: "Somebody sees a doctor",
		High: "Somebody is badly hurt", Critical: "Somebody could die",
		What: "What happened, or what is wrong?", WhatHelp: "In your own words. Do not name colleagues.", When: "When?",
		WhenHelp: "Leave it if it was just now.",
		Photo:    "Photo", PhotoHelp: "If it is safe to take one. Place and device are removed from it.", Name: "Your name",
		NameHelp: "Only if you want to be asked about it.",
		Trap:     "Leave this field empty", Send: "Send report",
		Emergency: "Is somebody hurt or in danger now? Get help first.", Thanks: "Thank you. Your report has arrived.",
		Reference: "Reference number",
		Keep:      "Keep the number if you want to ask what became of it.", Another: "Report something else",
		Gone:        "This report page does not exist or is switched off. Tell your supervisor.",
		TooOften:    "Too many reports came from here just now. Wait a " + "minute, then send it again.",
		PhotoLarge:  "The photo is too large. Send the report without it, or take it with a lower resolution.",
		PhotoKind:   "This file is not a photo. Choose a " + "JPEG, PNG or WebP picture.",
		PhotoBroken: "The photo cannot be read. Choose another, or send the report without it.",
		Incomplete:  "Something is missing. Please look at the marked fields.",
		Failed:      "The report could not be saved. Please send it again, or tell " + "your supervisor.",
		Trapped:     "The report looks as if a machine had filled it in. Empty the last field, then send it again.",
		Wrong: map[string]string{"once": "Please send it once more.", "kind": "Choose one.", "severity": "Choose one.",
			"what": "Say what happened, in at most 5,000 characters.",
			"when": "Not a date and time of the past year.", "name": "At most 100 characters.",
			"photo": "Choose another photo or none."},
	}
}

func germanTexts() texts {
	return texts{
		Lang: "de", Title: "Beinaheunfall oder Gefahr melden",
		Lead: "Es dauert eine Minute. Sie brauchen kein Konto und müssen keinen Namen nennen.",
		Kind: "Worum geht es?", NearMiss: "Beinaheunfall", NearMissHelp: "Fast wäre etwas passiert", Hazard: "Gefahr",
		HazardHelp: "Etwas ist nicht sicher",
		Severity:   "Wie schlimm hätte es werden können?", Low: "Ein Kratzer oder kleiner Schaden",
		Medium: "Jemand muss zum Arzt",
		High:   "Jemand wird schwer verletzt", Critical: "Jemand könnte sterben",
		What:     "Was ist passiert, oder was stimmt nicht?",
		WhatHelp: "In eigenen Worten. Bitte keine Namen von Kolleginnen und Kollegen.", When: "Wann?",
		WhenHelp: "Leer lassen, wenn es gerade eben war.",
		Photo:    "Foto", PhotoHelp: "Nur wenn es gefahrlos geht. Ort und Gerät werden daraus entfernt.", Name: "Ihr Name",
		NameHelp: "Nur wenn wir Sie dazu fragen dürfen.",
		Trap:     "Dieses Feld leer lassen", Send: "Meldung absenden",
		Emergency: "Ist jemand verletzt oder jetzt in Gefahr? Holen Sie zuerst Hilfe.",
		Thanks:    "Danke. Ihre Meldung ist angekommen.",
		Reference: "Nummer der Meldung",
		Keep:      "Mit der Nummer können Sie nachfragen, was daraus geworden ist.", Another: "Noch etwas melden",
		Gone: "Diese Meldeseite gibt es nicht, oder sie ist abgeschaltet. Sagen Sie Ihrer Führungskraft Bescheid.",
		TooOften: "Von hier kamen gerade zu viele " +
			"Meldungen. Bitte warten Sie eine Minute und senden Sie dann noch einmal.",
		PhotoLarge:  "Das Foto ist zu groß. Senden Sie die Meldung ohne Foto, oder nehmen Sie es kleiner auf.",
		PhotoKind:   "Diese Datei ist kein Foto. Wählen Sie " + "ein Bild im Format JPEG, PNG oder WebP.",
		PhotoBroken: "Das Foto lässt sich nicht lesen. Wählen Sie ein anderes, oder senden Sie die Meldung ohne Foto.",
		Incomplete:  "Es fehlt noch etwas. Bitte sehen Sie die markierten Felder an.",
		Failed: "Die Meldung konnte nicht gespeichert werden. Bitte senden " +
			"Sie noch einmal, oder sagen Sie Ihrer Führungskraft Bescheid.",
		Trapped: "Die Meldung sieht aus, als hätte sie eine Maschine ausgefüllt. Leeren Sie das letzte Feld und senden Sie noch einmal.",
		Wrong: map[string]string{"once": "Bitte senden Sie noch einmal.", "kind": "Bitte eines wählen.",
			"severity": "Bitte eines wählen.", "what": "Sagen Sie, was passiert ist, mit höchstens 5.000 Zeichen.",
			"when": "Kein Zeitpunkt des vergangenen Jahres.", "name": "Höchstens 100 Zeichen.",
			"photo": "Wählen Sie ein anderes Foto oder keines."},
	}
}
