// German, by the English text. What is missing is shown in English.
export const de: Record<string, string> = {
  'Copy': 'Kopieren',
  'That was a scan, and nothing here takes one. Close this first.': 'Das war ein Scan, und nichts hier nimmt einen. Schließe das hier zuerst.',
  'Your session has ended: somebody ended it, or it was too old. Sign in again; what you typed in this tab is kept.': 'Deine Sitzung ist zu Ende: jemand hat sie beendet, oder sie war zu alt. Melde dich wieder an; was du in diesem Tab getippt hast, ist noch da.',
  // frame
  'Overview': 'Übersicht', 'Warehouse': 'Lager', 'Warehouse map': 'Lagerplan', 'Items': 'Artikel', 'Orders': 'Aufträge', 'Pick lists': 'Picklisten', 'Shipments': 'Sendungen', 'Safety': 'Sicherheit', 'Incidents': 'Vorfälle',
  'Actions': 'Maßnahmen', 'Risk': 'Risiko', 'Compliance': 'Vorgaben', 'Inspections': 'Prüfungen', 'Training': 'Unterweisung', 'Organisation': 'Organisation', 'People': 'Personen', 'Imports': 'Importe', 'All records': 'Alle Datensätze', 'Administration': 'Verwaltung', 'By family': 'Nach Bereich',
  'Search or scan': 'Suchen oder scannen', 'Keyboard shortcuts': 'Tastenkürzel', 'Live': 'Live', 'Connecting': 'Verbindet', 'Skip to the content': 'Zum Inhalt', 'Navigation': 'Navigation', 'Close the navigation': 'Navigation schließen',
  'Changes appear by themselves': 'Änderungen erscheinen von selbst', 'Connecting; what you see may be old': 'Verbindet; was du siehst, kann alt sein', 'Demonstration with made-up data.': 'Vorführung mit erfundenen Daten.', 'Notices': 'Hinweise', 'Main': 'Hauptmenü',
  'The server does not answer. It is tried again by itself; nothing you typed is lost.': 'Der Server antwortet nicht. Es wird von selbst neu versucht; nichts Eingegebenes geht verloren.', 'Your account': 'Dein Konto', 'Theme': 'Aussehen', 'Language': 'Sprache',
  'As the system': 'Wie das System', 'Light': 'Hell', 'Dark': 'Dunkel', 'Sign out': 'Abmelden', 'Sign out everywhere': 'Überall abmelden', 'Organisations': 'Organisationen', 'Leave': 'Verlassen', 'Leave {name}': '{name} verlassen', 'Leave {name}?': '{name} verlassen?',
  'You see nothing of it any more. What you recorded stays there. Only an invitation brings you back.': 'Du siehst nichts mehr davon. Was du erfasst hast, bleibt dort. Zurück führt nur eine Einladung.',
  'Loading': 'Lädt', 'Close': 'Schließen', 'Cancel': 'Abbrechen', 'More': 'Mehr', 'Where you are': 'Wo du bist',
  'There is no such page': 'Diese Seite gibt es nicht', 'Go to the start': 'Zum Anfang', 'The address may be mistyped, or the page is for another role.': 'Die Adresse ist vielleicht vertippt, oder die Seite gehört zu einer anderen Rolle.',
  'Search or go to': 'Suchen oder öffnen', 'A number, a name, a scanned code, or a page': 'Eine Nummer, ein Name, ein gescannter Code oder eine Seite', 'Nothing found': 'Nichts gefunden', 'Results': 'Treffer', 'Go to': 'Öffnen', 'Records': 'Datensätze', 'Create': 'Anlegen', 'New: {what}': 'Neu: {what}',
  // sign-in
  'Sign in': 'Anmelden', 'E-mail address': 'E-Mail-Adresse', 'Password': 'Passwort', 'Forgot the password?': 'Passwort vergessen?', 'Make an account': 'Konto anlegen', 'Make the account': 'Konto anlegen', 'or': 'oder', 'Use a passkey': 'Mit Passkey', 'Mail me a code': 'Code per Mail',
  'Single sign-on': 'Anmeldung der Organisation', 'Sign in with a code': 'Mit Code anmelden', 'Enter the code': 'Code eingeben', 'Sign in with your organisation': 'Mit der Organisation anmelden', 'Choose a new password': 'Neues Passwort wählen', 'Look into your mail': 'Sieh in deine Mails',
  'Code': 'Code', 'Send a code': 'Code schicken', 'Send the link': 'Link schicken', 'Go on': 'Weiter', 'Back to the password': 'Zurück zum Passwort', 'We mail you a link with which you choose a new one.': 'Wir schicken dir einen Link, mit dem du ein neues wählst.',
  'We sent a code to {email}, if it has an account here.': 'Wir haben einen Code an {email} geschickt, falls es hier ein Konto gibt.', 'If {email} can be used here, a mail is on its way. It may take a minute.': 'Wenn {email} hier gilt, ist eine Mail unterwegs. Es kann eine Minute dauern.',
  'Your address, or your organisation’s domain': 'Deine Adresse oder die Domain deiner Organisation', 'Go on with {name}': 'Weiter mit {name}', 'This is a demonstration.': 'Dies ist eine Vorführung.', 'Be one of these people:': 'Sei eine dieser Personen:', 'Sign in as': 'Anmelden als', 'One moment': 'Einen Moment', 'Demonstration': 'Vorführung',
  'Stock, orders and the safety of people in one place.': 'Bestand, Aufträge und die Sicherheit der Menschen an einem Ort.', 'See the floor as it is, know what is late, and find out what could hurt somebody before it does.': 'Sieh die Halle, wie sie ist, wisse, was spät ist, und finde, was jemanden verletzen könnte, bevor es geschieht.',
  'One more step': 'Noch ein Schritt', 'Enter the six digits that your authenticator app shows.': 'Gib die sechs Ziffern ein, die deine App zeigt.', 'Enter one of the recovery codes that you kept.': 'Gib einen deiner aufbewahrten Codes ein.', 'Recovery code': 'Wiederherstellungscode', 'I lost my app': 'Ich habe die App nicht mehr', 'Use the app': 'Mit der App', 'New password': 'Neues Passwort', 'Save': 'Speichern',
  'You are invited': 'Du bist eingeladen', 'Where do you want to work?': 'Wo willst du arbeiten?', 'You belong to no organisation yet': 'Du gehörst noch zu keiner Organisation', 'invites you as': 'lädt dich ein als', 'Accept': 'Annehmen', 'Decline': 'Ablehnen', 'Look again': 'Noch einmal sehen', 'Ask an administrator for an invitation. It appears here by itself.': 'Bitte eine Verwalterin um eine Einladung. Sie erscheint hier von selbst.',
  // overview
  'Hello, {name}': 'Hallo, {name}', 'What needs somebody today, and how the site is doing.': 'Was heute jemanden braucht, und wie es dem Standort geht.', 'As of {when}': 'Stand: {when}', 'just now': 'gerade eben', 'Refresh': 'Aktualisieren', 'Low stock': 'Wenig Bestand', 'of {n} items': 'von {n} Artikeln', 'Pick lists under way': 'Offene Picklisten', 'released or being picked': 'frei oder in Arbeit',
  'Shipments under way': 'Laufende Sendungen', '{n} on the road, {m} done today': '{n} unterwegs, {m} heute fertig', 'Stock value': 'Bestandswert', 'health {n} of 100': 'Zustand {n} von 100', 'Open incidents': 'Offene Vorfälle', '{n} reports in 30 days': '{n} Meldungen in 30 Tagen', 'Critical incidents': 'Kritische Vorfälle', 'in 30 days': 'in 30 Tagen', 'Overdue actions': 'Überfällige Maßnahmen', 'of {n} open': 'von {n} offenen', 'Inspections done in time': 'Prüfungen rechtzeitig',
  'Late orders': 'Späte Aufträge', 'All late orders': 'Alle späten Aufträge', 'No order is late': 'Kein Auftrag ist spät', 'Recent incidents': 'Letzte Vorfälle', 'All incidents': 'Alle Vorfälle', 'Fullest places': 'Vollste Plätze', 'All above 85 %': 'Alle über 85 %', 'Filled: {code}': 'Belegt: {code}', 'Filled': 'Belegt', 'Reports by kind, 30 days': 'Meldungen nach Art, 30 Tage',
  'Report something unsafe': 'Etwas Unsicheres melden', 'To pick': 'Zu picken', '{n} list': '{n} Liste', '{n} lists': '{n} Listen', 'Nothing to pick': 'Nichts zu picken', 'To drive': 'Zu fahren', 'No trip is planned': 'Keine Fahrt geplant', 'Safety actions': 'Maßnahmen', 'Nothing is left to do': 'Nichts mehr zu tun', 'Your safety points': 'Deine Sicherheitspunkte', 'for reports, talks and checks': 'für Meldungen, Gespräche und Prüfungen', 'Priority {n}': 'Priorität {n}',
  // lists and records
  'Yes': 'Ja', 'No': 'Nein',
  'Copied': 'Kopiert', 'Try again': 'Noch einmal', 'Copy request number {id}': 'Anfragenummer {id} kopieren', 'Try again in {n} seconds.': 'In {n} Sekunden noch einmal.',
  // showing again that it is you, and what came later
  'Set up a second factor': 'Zweiten Faktor einrichten',
  // what a test found without words
  'This organisation is suspended: records can be read, not changed.': 'Diese Organisation ist gesperrt: Datensätze sind zu lesen, nicht zu ändern.',
  'Administrators here need a second factor from {when} on ({left}). Without one this organisation is closed to you then.': 'Wer hier verwaltet, braucht ab {when} einen zweiten Faktor ({left}). Ohne ihn ist dir diese Organisation dann verschlossen.',
  '{n} row': '{n} Zeile', '{n} rows': '{n} Zeilen',
  // Columns, states and collections, as the catalog of the server names them.
  'Load the record again, then make your change once more.': 'Lade den Datensatz neu und ändere ihn dann noch einmal.',
  'Load the page again: it shows what can be done now.': 'Lade die Seite neu: sie zeigt, was jetzt möglich ist.',
  'Enter a smaller quantity, or choose another place or lot.': 'Gib eine kleinere Menge ein, oder wähle einen anderen Platz oder eine andere Charge.',
  'Choose a later date, or book first what came in before it.': 'Wähle ein späteres Datum, oder buche zuerst, was davor hereinkam.',
  'Release what still uses the record, then try once more.': 'Löse, was den Datensatz noch benutzt, und versuche es dann noch einmal.',
  'Make somebody else an owner first.': 'Mach zuerst jemand anderen zum Eigentümer.',
  'Choose another value: this one is taken.': 'Wähle einen anderen Wert: dieser ist vergeben.',
  'Ask an administrator of your organisation for this right.': 'Bitte einen Administrator deiner Organisation um dieses Recht.',
  'Correct what the message names, then send it again.': 'Berichtige, was die Meldung nennt, und sende es noch einmal.',
  // answers that are lost, and lists
  'What you sent before was done after all. What you changed since was not sent: look at what is there now, then send it if it is still right.': 'Was du zuvor gesendet hast, wurde doch ausgeführt. Was du seither geändert hast, wurde nicht gesendet: sieh nach, was jetzt da ist, und sende es, wenn es noch stimmt.',
  'It is not known whether this was done. Press again: it is done once, however often you press.': 'Ob das ausgeführt wurde, ist nicht bekannt. Drücke noch einmal: es wird einmal ausgeführt, so oft du auch drückst.',
  'It is not known whether this was done. Look before you do it again.': 'Ob das ausgeführt wurde, ist nicht bekannt. Sieh nach, bevor du es noch einmal tust.',
  'No answer came from the server.': 'Vom Server kam keine Antwort.',
  // words that the frame chooses by a name
  'is': 'ist', 'Orders and transport': 'Aufträge und Transport', 'Engagement': 'Beteiligung', 'Floor work': 'Arbeit in der Halle', 'on': 'an', 'Planning': 'Planung', 'Routes': 'Touren', 'ETA': 'Voraussichtliche Ankunft', 'GTIN': 'GTIN', 'Plate': 'Kennzeichen', 'SKU': 'Artikelnr.', 'SSCC': 'SSCC', 'URL': 'URL', 'Unit': 'Einheit', 'Empirical Bayes': 'Empirischer Bayes',
  'invites {email} as {role}. Sign in with this address, or make an account with it.': 'lädt {email} als {role} ein. Melde dich mit dieser Adresse an oder lege damit ein Konto an.',
  'No administrator exists yet.': 'Es gibt noch keine Verwaltung.',
  'Open the set-up link that the server printed when it started. A new one is printed on the server’s machine by:': 'Öffne den Einrichtungslink, den der Server beim Start ausgegeben hat. Einen neuen gibt auf dem Rechner des Servers aus:',
};
