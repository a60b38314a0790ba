package page

func germanTexts() texts {
	return texts{
		Lang: "de", Title: "Etwas Unsicheres melden",
		Lead:      "Es dauert eine Minute. Sie brauchen kein Konto und müssen keinen Namen nennen.",
		Emergency: "Ist jemand verletzt oder jetzt in Gefahr? Holen Sie zuerst Hilfe.",
		Kind:      "Was ist geschehen?",
		Kinds: []choice{
			{"near_miss", "Fast passiert", "Niemand verletzt, nichts kaputt, aber knapp."},
			{"hazard", "Etwas ist unsicher", "Es könnte jemanden verletzen, wenn es niemand behebt."},
			{"injury", "Jemand ist verletzt", "Auch wenn es nur ein Kratzer ist."},
			{"property_damage", "Etwas ist beschädigt", "Ein Regal, ein Stapler, Ware oder das Gebäude."},
			{"environmental", "Etwas ist ausgelaufen", "Öl, eine Chemikalie, Gas oder Staub."},
		},
		Severity: "Wie schlimm hätte es sein können?", SeverityOfInjury: "Wie schlimm ist es?",
		SeverityEither: "Wenn jemand verletzt ist: Wie schlimm ist es?",
		Levels: []choice{
			{"low", "Ein Schreck oder ein Kratzer", ""}, {"medium", "Jemand braucht einen Arzt", ""},
			{"high", "Jemand fällt tagelang aus", ""}, {"critical", "Jemand könnte sterben", ""},
		},
		Where: "Wo war es?", WherePlace: "Platz",
		WhereHelp: "Der Code auf dem Schild des Platzes, oder ein paar Worte. Leer lassen, wenn Sie es nicht wissen.",
		WhereSaid: "Wo",
		Last:      "Was sollten wir wissen?", What: "Was geschehen ist, in Ihren Worten",
		WhatHelp: "Bitte keine Namen von Kolleginnen und Kollegen.",
		When:     "Wann?", WhenHelp: "Leer lassen, wenn es gerade eben war.",
		NotNow: "Es war nicht gerade eben, oder ich möchte meinen Namen nennen",
		Photo:  "Foto", PhotoHelp: "Nur wenn es gefahrlos geht. Ort und Gerät werden daraus entfernt.",
		YourPhoto: "Ihr Foto", NoPhoto: "Ohne Foto",
		Name: "Ihr Name", NameHelp: "Nur wenn wir Sie dazu fragen dürfen.",
		Trap: "Dieses Feld leer lassen", Send: "Meldung senden", Sending: "Die Meldung wird gesendet.",
		Step: "Schritt {n} von {m}", Next: "Weiter", Back: "Zurück",
		Thanks: "Danke. Ihre Meldung ist angekommen.", Reference: "Nummer der Meldung",
		Keep: "Mit der Nummer können Sie nachfragen, was daraus geworden ist.", Another: "Etwas anderes melden",
		Code: "Ihr Code", CodeHelp: "Zwanzig Buchstaben und Ziffern, von der Seite, die Danke sagte.",
		CodeKept: "Er wird nur jetzt gezeigt. Mit ihm sehen Sie, was aus der Meldung wird, und können sie ohne Namen " +
			"ergänzen.",
		HaveCode: "Ich habe den Code einer früheren Meldung", Follow: "Sehen, was daraus wird",
		FollowTitle: "Was aus einer Meldung wurde",
		NoReport:    "Keine Meldung hat diesen Code. Codes gelten bis 90 Tage nach dem Abschluss.",
		TooManyTries: "Von hier kamen gerade zu viele Anfragen. Warten Sie eine Minute und senden Sie dann noch " +
			"einmal; was Sie geschrieben haben, bleibt im Formular.",
		Handled: "Sie wird mit einer früheren Meldung behandelt.",
		Open:    "Noch zu tun", Done: "Erledigt", Add: "Etwas ergänzen",
		AddHelp: "Es lesen alle, die die Meldung lesen.",
		AddSend: "Ergänzen", Added: "Danke. Es steht bei Ihrer Meldung.", ToReport: "Etwas melden",
		States: map[string]string{
			"reported": "Sie ist angekommen und noch nicht angesehen.", "triaged": "Sie ist angesehen.",
			"investigating": "Sie wird untersucht.", "action_pending": "Es steht fest, was zu tun ist.",
			"closed": "Sie ist abgeschlossen.", "void": "Sie wird nicht weiter verfolgt."},
		Gone: "Diese Meldeseite gibt es nicht, oder sie ist abgeschaltet. Sagen Sie Ihrer Führungskraft Bescheid.",
		TooOften: "Von hier kamen gerade zu viele Meldungen. Bitte warten Sie eine Minute und senden Sie dann noch " +
			"einmal.",
		PhotoLarge:  "Das Foto ist zu groß. Senden Sie die Meldung ohne Foto, oder nehmen Sie es kleiner auf.",
		PhotoKind:   "Diese Datei ist kein Foto. Wählen Sie ein Bild im Format JPEG, PNG oder WebP.",
		PhotoBroken: "Das Foto lässt sich nicht lesen. Wählen Sie ein anderes, oder senden Sie die Meldung ohne Foto.",
		Incomplete:  "Es fehlt noch etwas. Bitte sehen Sie die markierten Felder an.",
		Failed: "Die Meldung konnte nicht gespeichert werden. Bitte senden Sie noch einmal, oder sagen Sie Ihrer " +
			"Führungskraft Bescheid.",
		Trapped: "Die Meldung sieht aus, als hätte sie eine Maschine ausgefüllt. Leeren Sie das letzte Feld und senden " +
			"Sie noch einmal.",
		Wrong: map[string]string{"once": "Bitte senden Sie noch einmal.", "kind": "Bitte eines wählen.",
			"severity": "Bitte eines wählen.", "where": "Höchstens 200 Zeichen.",
			"what":  "Sagen Sie, was passiert ist, mit höchstens 5.000 Zeichen.",
			"words": "Schreiben Sie etwas, höchstens 2.000 Zeichen und 20 Mal.",
			"when":  "Kein Zeitpunkt des vergangenen Jahres.", "name": "Höchstens 100 Zeichen.",
			"photo": "Wählen Sie ein anderes Foto oder keines."},
	}
}
