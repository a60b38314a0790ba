package sheets

// germanTexts are what sheets alone say; what the console says too stands in its texts.
var germanTexts = map[string]string{
	"Page {n} of {m}": "Seite {n} von {m}",
	"Record {id}":     "Datensatz {id}",
	"Actions of others are not shown to this reader.": "Maßnahmen anderer werden hier nicht gezeigt.",
	"Holder":                              "Inhaber",
	"Completed on":                        "Abgeschlossen am",
	"Valid until":                         "Gültig bis",
	"{who} has passed the course {what}.": "{who} hat den Kurs {what} bestanden.",
	"This page names what {law} asks of a certification.": "Diese Seite nennt, was {law} von einem Nachweis verlangt.",
	"Issued by {who}; this page says what is on record.":  "Ausgestellt von {who}; diese Seite zeigt, was erfasst ist.",
	"As of":                            "Stand",
	"No action is like that.":          "Keine Maßnahme ist so.",
	"Not answered":                     "Nicht beantwortet",
	"Other photos":                     "Weitere Fotos",
	"What failed":                      "Was nicht bestanden wurde",
	"{who} said":                       "{who} schrieb",
	"{who} said, and it is struck out": "{who} schrieb, inzwischen durchgestrichen",
	"Picture {n}":                      "Bild {n}",
	"The picture is not to be had.":    "Das Bild ist nicht zu bekommen.",
	"Of each kind the latest {n} entries are told.": "Von jeder Art stehen hier die letzten {n} Einträge.",
}

// frenchTexts are as germanTexts.
var frenchTexts = map[string]string{
	"Page {n} of {m}": "Page {n} sur {m}",
	"Record {id}":     "Enregistrement {id}",
	"Actions of others are not shown to this reader.": "Les actions des autres ne sont pas montrées ici.",
	"Holder":                              "Titulaire",
	"Completed on":                        "Achevé le",
	"Valid until":                         "Valable jusqu’au",
	"{who} has passed the course {what}.": "{who} a réussi le cours {what}.",
	"This page names what {law} asks of a certification.": "Cette page indique ce que {law} exige d’une attestation.",
	"Issued by {who}; this page says what is on record.":  "Émis par {who} ; cette page reprend ce qui est consigné.",
	"As of":                            "En date du",
	"No action is like that.":          "Aucune action ne correspond.",
	"Not answered":                     "Sans réponse",
	"Other photos":                     "Autres photos",
	"What failed":                      "Ce qui n’est pas conforme",
	"{who} said":                       "{who} a écrit",
	"{who} said, and it is struck out": "{who} a écrit, barré depuis",
	"Picture {n}":                      "Image {n}",
	"The picture is not to be had.":    "L’image n’est pas disponible.",
	"Of each kind the latest {n} entries are told.": "De chaque sorte figurent les {n} dernières entrées.",
}
