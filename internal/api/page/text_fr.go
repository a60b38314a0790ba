package page

func frenchTexts() texts {
	return texts{
		Lang: "fr", Title: "Signaler un danger",
		Lead:      "Cela prend une minute. Sans compte, et sans donner votre nom si vous le souhaitez.",
		Emergency: "Quelqu’un est-il blessé ou en danger ? Cherchez d’abord du secours.",
		Kind:      "Que s’est-il passé ?",
		Kinds: []choice{
			{"near_miss", "Il s’en est fallu de peu", "Personne de blessé, rien de cassé, mais de justesse."},
			{"hazard", "Quelque chose est dangereux", "Cela pourrait blesser quelqu’un si personne n’y remédie."},
			{"injury", "Quelqu’un est blessé", "Même si ce n’est qu’une égratignure."},
			{"property_damage", "Quelque chose est abîmé", "Un rayonnage, un chariot, des marchandises ou le bâtiment."},
			{"environmental", "Quelque chose a fui ou s’est répandu", "Huile, produit chimique, gaz ou poussière."},
		},
		Severity: "Quelle gravité cela aurait-il pu avoir ?", SeverityOfInjury: "Est-ce grave ?",
		SeverityEither: "Si quelqu’un est blessé : est-ce grave ?",
		Levels: []choice{
			{"low", "Une frayeur ou une égratignure", ""}, {"medium", "Quelqu’un a besoin d’un médecin", ""},
			{"high", "Quelqu’un s’arrête plusieurs jours", ""}, {"critical", "Quelqu’un pourrait mourir", ""},
		},
		Where: "Où était-ce ?", WherePlace: "Emplacement",
		WhereHelp: "Le code sur le panneau de l’emplacement, ou quelques mots. Laissez vide si vous ne savez pas.",
		WhereSaid: "Où",
		Last:      "Que devons-nous savoir ?", What: "Ce qui s’est passé, avec vos mots",
		WhatHelp: "Ne nommez pas vos collègues.",
		When:     "Quand ?", WhenHelp: "Laissez vide si c’était à l’instant.",
		NotNow: "Ce n’était pas à l’instant, ou je veux donner mon nom",
		Photo:  "Photo", PhotoHelp: "Seulement si c’est sans danger. Le lieu et l’appareil en sont retirés.",
		YourPhoto: "Votre photo", NoPhoto: "Sans photo",
		Name: "Votre nom", NameHelp: "Seulement si nous pouvons vous poser des questions.",
		Trap: "Laissez ce champ vide", Send: "Envoyer le signalement", Sending: "Le signalement part.",
		Step: "Étape {n} sur {m}", Next: "Suivant", Back: "Retour",
		Thanks: "Merci. Votre signalement est arrivé.", Reference: "Numéro du signalement",
		Keep: "Avec ce numéro, vous pouvez demander ce qu’il en est advenu.", Another: "Signaler autre chose",
		Code: "Votre code", CodeHelp: "Vingt lettres et chiffres, de la page qui disait merci.",
		CodeKept: "Il n’est montré que cette fois. Avec lui, vous voyez la suite de votre signalement et pouvez le " +
			"compléter, sans nom.",
		HaveCode: "J’ai le code d’un signalement", Follow: "Voir la suite", FollowTitle: "La suite d’un signalement",
		NoReport: "Aucun signalement n’a ce code. Les codes valent jusqu’à 90 jours après la clôture.",
		TooManyTries: "Trop de demandes viennent d’arriver d’ici. Attendez une minute, puis envoyez de nouveau ; " +
			"ce que vous avez écrit reste dans le formulaire.",
		Handled: "Il est traité avec un signalement antérieur.",
		Open:    "Reste à faire", Done: "Fait", Add: "Ajouter quelque chose",
		AddHelp: "Ceux qui lisent le signalement le lisent.",
		AddSend: "Ajouter", Added: "Merci. C’est joint à votre signalement.", ToReport: "Signaler quelque chose",
		States: map[string]string{
			"reported": "Il est arrivé et n’a pas encore été lu.", "triaged": "Il a été lu.",
			"investigating": "Une enquête est en cours.", "action_pending": "On sait ce qui est à faire.",
			"closed": "Il est clos.", "void": "Il n’a pas de suite."},
		Gone: "Cette page de signalement n’existe pas ou est désactivée. Prévenez votre responsable.",
		TooOften: "Trop de signalements viennent d’arriver d’ici. Attendez une minute, puis envoyez-le de " +
			"nouveau.",
		PhotoLarge:  "La photo est trop grande. Envoyez le signalement sans elle, ou prenez-la en plus petit.",
		PhotoKind:   "Ce fichier n’est pas une photo. Choisissez une image JPEG, PNG ou WebP.",
		PhotoBroken: "La photo est illisible. Choisissez-en une autre, ou envoyez le signalement sans elle.",
		Incomplete:  "Il manque quelque chose. Regardez les champs marqués.",
		Failed: "Le signalement n’a pas pu être enregistré. Envoyez-le de nouveau, ou prévenez votre " +
			"responsable.",
		Trapped: "Ce signalement semble rempli par une machine. Videz le dernier champ, puis envoyez-le de nouveau.",
		Wrong: map[string]string{"once": "Envoyez-le encore une fois.", "kind": "Choisissez une réponse.",
			"severity": "Choisissez une réponse.", "where": "200 caractères au plus.",
			"what":  "Dites ce qui s’est passé, en 5 000 caractères au plus.",
			"words": "Écrivez quelque chose, 2 000 caractères et 20 fois au plus.",
			"when":  "Ce n’est pas un moment de l’année passée.", "name": "100 caractères au plus.",
			"photo": "Choisissez une autre photo, ou aucune."},
	}
}
