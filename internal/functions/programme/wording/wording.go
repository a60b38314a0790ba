// Package wording is the words and the form of the safety programme's mails, in
// the language of the tenant: English, German or French.
//
// Layer: functions. Begin at [QueueWords].
package wording

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"holdfast/internal/db"
	"holdfast/internal/mail"
	"holdfast/internal/store"
)

//go:embed digest.txt digest.html
var mailFiles embed.FS

var (
	plainDigest = template.Must(template.ParseFS(mailFiles, "digest.txt"))
	richDigest  = htmltemplate.Must(htmltemplate.ParseFS(mailFiles, "digest.html"))
)

// Topic is a heading of a digest, in the order in which they are shown.
type Topic int

// Topics of a digest.
const (
	LawClocks Topic = iota
	EscalatedActions
	OverdueActions
	ActionsToday
	ToVerify
	ToReview
	MissedRuns
	OverdueTraining
	Expiring
	Service
	topics int = iota
)

// Line is one thing to do: what, and its day.
type Line struct{ What, On string }

// LinesShown is how many lines of one kind a mail lists; it counts the rest.
const LinesShown = 10

// Alarm is a critical incident as a mail describes it: what and where, without people;
// health data stay in the record.
type Alarm struct {
	No    string `json:"no"`
	Title string `json:"title"`
	At    string `json:"at"`
}

// Alarms are what a mail lists: the first LinesShown, and how many in all.
type Alarms struct {
	Shown []Alarm `json:"shown"`
	N     int     `json:"n"`
}

// AddAlarm adds an incident that is not among those shown.
func (l *Alarms) AddAlarm(x Alarm) {
	if slices.Contains(l.Shown, x) {
		return
	}
	l.N++
	if len(l.Shown) < LinesShown {
		l.Shown = append(l.Shown, x)
	}
}

// Letterhead is whose mails they are: what they call the product, and the
// address that they lead to.
type Letterhead struct{ Product, Site string }

// Wording is the words of mails in one language.
type Wording struct {
	Lang     string
	subject  func(n int) string
	lead     string
	more     func(n int) string
	topics   [topics]string
	open     string // %s: the product
	tail     string
	urgent   string // subject of a critical incident: its number
	urgents  func(n int) string
	reported string
	since    string

	mentioned string // subject of a mail about a comment: the record
	named     string

	deadlines func(n int) string // subject of a mail about legal clocks
	byLaw     string
	statuses  [statuses]string
	until     string // a clock: incident, citation, end
}

var english = Wording{
	Lang: "en",
	subject: func(n int) string {
		if n == 1 {
			return "Safety: 1 thing waits for you"
		}
		return fmt.Sprintf("Safety: %d things wait for you", n)
	},
	lead: "This is overdue, or soon will be.",
	more: func(n int) string { return fmt.Sprintf("and %d more", n) },
	topics: [topics]string{
		LawClocks:        "Legal deadlines of accidents",
		EscalatedActions: "Long overdue actions",
		OverdueActions:   "Overdue actions",
		ActionsToday:     "Actions due today",
		ToVerify:         "Actions waiting to be verified",
		ToReview:         "Actions whose effect is to be judged",
		MissedRuns:       "Missed inspections",
		OverdueTraining:  "Overdue training",
		Expiring:         "Certificates running out",
		Service:          "Service and inspection due",
	},
	open:     "Open %s",
	tail:     "You get this because you are a member of the tenant. An administrator can switch these mails off.",
	urgent:   "Critical incident %s",
	reported: "A critical incident was reported. Act now; the clock for reports to the authority may be running.",
	urgents:  func(n int) string { return fmt.Sprintf("%d critical incidents", n) },
	since:    "Reported since the last mail",

	mentioned: "You are mentioned: %s",
	named:     "A comment on %s mentions you. It is shown with the record.",

	deadlines: func(n int) string {
		if n == 1 {
			return "Legal deadline of an accident"
		}
		return fmt.Sprintf("%d legal deadlines of accidents", n)
	},
	byLaw: "After an accident the law wants somebody told in time. The clock of the incident says who, and there you " +
		"say that it is done or does not apply.",
	statuses: [statuses]string{
		WithoutDelay: "Without delay", TimeOver: "The time is over", HalfPassed: "Half of the time has passed",
		JustStarted: "The time has begun",
	},
	until: "%s: %s (until %s)",
}

var german = Wording{
	Lang: "de",
	subject: func(n int) string {
		if n == 1 {
			return "Arbeitssicherheit: 1 Punkt wartet auf Sie"
		}
		return fmt.Sprintf("Arbeitssicherheit: %d Punkte warten auf Sie", n)
	},
	lead: "Dies ist überfällig oder wird es bald.",
	more: func(n int) string { return fmt.Sprintf("und %d weitere", n) },
	topics: [topics]string{
		LawClocks:        "Gesetzliche Fristen von Unfällen",
		EscalatedActions: "Seit Langem überfällige Maßnahmen",
		OverdueActions:   "Überfällige Maßnahmen",
		ActionsToday:     "Heute fällige Maßnahmen",
		ToVerify:         "Maßnahmen, die zu prüfen sind",
		ToReview:         "Maßnahmen, deren Wirkung zu beurteilen ist",
		MissedRuns:       "Versäumte Prüfungen",
		OverdueTraining:  "Überfällige Schulungen",
		Expiring:         "Ablaufende Nachweise",
		Service:          "Fällige Wartungen und Untersuchungen",
	},
	open:   "%s öffnen",
	tail:   "Sie erhalten dies als Mitglied des Mandanten. Ein Administrator kann diese Mails abschalten.",
	urgent: "Kritisches Ereignis %s",
	reported: "Ein kritisches Ereignis wurde gemeldet. Handeln Sie jetzt; die Frist für Meldungen an die Behörde " +
		"läuft womöglich.",
	urgents: func(n int) string { return fmt.Sprintf("%d kritische Ereignisse", n) },
	since:   "Seit der letzten Mail gemeldet",

	mentioned: "Sie werden genannt: %s",
	named:     "Ein Kommentar zu %s nennt Sie. Er steht beim Datensatz.",

	deadlines: func(n int) string {
		if n == 1 {
			return "Gesetzliche Frist eines Unfalls"
		}
		return fmt.Sprintf("%d gesetzliche Fristen von Unfällen", n)
	},
	byLaw: "Nach einem Unfall ist nach dem Gesetz rechtzeitig Meldung zu machen. Die Frist beim Ereignis sagt, bei wem; " +
		"dort geben Sie an, dass es getan ist oder nicht zutrifft.",
	statuses: [statuses]string{
		WithoutDelay: "Unverzüglich", TimeOver: "Die Frist ist abgelaufen", HalfPassed: "Die Hälfte der Frist ist um",
		JustStarted: "Die Frist hat begonnen",
	},
	until: "%s: %s (bis %s)",
}

var french = Wording{
	Lang: "fr",
	subject: func(n int) string {
		if n == 1 {
			return "Sécurité : 1 point vous attend"
		}
		return fmt.Sprintf("Sécurité : %d points vous attendent", n)
	},
	lead: "Voici ce qui est en retard ou le sera bientôt.",
	more: func(n int) string { return fmt.Sprintf("et %d de plus", n) },
	topics: [topics]string{
		LawClocks:        "Délais légaux des accidents",
		EscalatedActions: "Actions en retard depuis longtemps",
		OverdueActions:   "Actions en retard",
		ActionsToday:     "Actions à terminer aujourd’hui",
		ToVerify:         "Actions à vérifier",
		ToReview:         "Actions dont l’effet est à évaluer",
		MissedRuns:       "Inspections manquées",
		OverdueTraining:  "Formations en retard",
		Expiring:         "Certificats qui arrivent à échéance",
		Service:          "Entretiens et contrôles à faire",
	},
	open:   "Ouvrir %s",
	tail:   "Vous recevez ce message comme membre de l’organisation. Un administrateur peut désactiver ces messages.",
	urgent: "Événement critique %s",
	reported: "Un événement critique a été signalé. Agissez maintenant ; le délai de déclaration à l’autorité court " +
		"peut-être.",
	urgents: func(n int) string { return fmt.Sprintf("%d événements critiques", n) },
	since:   "Signalés depuis le dernier message",

	mentioned: "Vous êtes mentionné : %s",
	named:     "Un commentaire sur %s vous mentionne. Il figure avec l’enregistrement.",

	deadlines: func(n int) string {
		if n == 1 {
			return "Délai légal d’un accident"
		}
		return fmt.Sprintf("%d délais légaux d’accidents", n)
	},
	byLaw: "Après un accident, la loi fixe un délai de déclaration. Le délai affiché avec l’événement dit à qui " +
		"déclarer ; indiquez-y que c’est fait ou que cela ne s’applique pas.",
	statuses: [statuses]string{
		WithoutDelay: "Sans délai", TimeOver: "Le délai est dépassé", HalfPassed: "La moitié du délai est passée",
		JustStarted: "Le délai a commencé",
	},
	until: "%s : %s (jusqu’au %s)",
}

// wordingIn is the words of a language tag such as de-AT (RFC 5646); English where there
// are none.
func wordingIn(tag string) Wording {
	for _, w := range [...]Wording{german, french} {
		if w.Lang == store.LanguageOf(tag) {
			return w
		}
	}
	return english
}

// QueueWords asks for the language of a tenant's mails; English where it is
// not said. It is there after the next flush.
func QueueWords(tx *db.Tx, tenant string) *Wording {
	w := english
	store.QueueLocale(tx, tenant, func(tag string) { w = wordingIn(tag) })
	return &w
}

// ClockStatus is how much of a legal clock's time has passed, in the order in which a mail
// shows them.
type ClockStatus int

// Statuses of a clock.
const (
	TimeOver ClockStatus = iota
	WithoutDelay
	HalfPassed
	JustStarted
	statuses int = iota
)

// ClockLine is a legal clock as a mail describes it: no code and no words of the incident,
// which may say how somebody was hurt.
type ClockLine struct {
	No, Citation string
	Status       ClockStatus
	Due          string
}

// part is one heading of a mail and what stands under it.
type part struct {
	Title string
	Lines []string
	More  string
}

// mailBody is what the templates show.
type mailBody struct {
	Lang, Subject, Lead, Open, Site, Tail string
	Parts                                 []part
}

// DigestMail words a member's digest.
func (w Wording) DigestMail(lines map[Topic][]Line, l Letterhead) (mail.Message, error) {
	x := mailBody{
		Lang: w.Lang, Lead: w.lead, Open: fmt.Sprintf(w.open, l.Product), Site: l.Site, Tail: w.tail,
	}
	n := 0
	for t := range Topic(topics) {
		list := lines[t]
		if len(list) == 0 {
			continue
		}
		n += len(list)
		p := part{Title: w.topics[t]}
		for _, l := range list[:min(len(list), LinesShown)] {
			p.Lines = append(p.Lines, fmt.Sprintf("%s (%s)", l.What, l.On))
		}
		if rest := len(list) - LinesShown; rest > 0 {
			p.More = w.more(rest)
		}
		x.Parts = append(x.Parts, p)
	}
	x.Subject = w.subject(n)
	return x.buildMessage()
}

// PageMail words the mail about critical incidents.
func (w Wording) PageMail(list *Alarms, l Letterhead) (mail.Message, error) {
	x := mailBody{
		Lang: w.Lang, Subject: fmt.Sprintf(w.urgent, list.Shown[0].No), Lead: w.reported,
		Open: fmt.Sprintf(w.open, l.Product), Site: l.Site,
	}
	p := part{Title: list.Shown[0].No}
	if list.N > 1 {
		x.Subject, p.Title = w.urgents(list.N), w.since
	}
	for _, in := range list.Shown {
		text := fmt.Sprintf("%s (%s)", in.Title, in.At)
		if list.N > 1 {
			text = in.No + " " + text
		}
		p.Lines = append(p.Lines, text)
	}
	if rest := list.N - len(list.Shown); rest > 0 {
		p.More = w.more(rest)
	}
	x.Parts = []part{p}
	return x.buildMessage()
}

// ClockMail words the mail about legal clocks that start, are half over or end.
func (w Wording) ClockMail(lines []ClockLine, l Letterhead) (mail.Message, error) {
	x := mailBody{
		Lang: w.Lang, Subject: w.deadlines(len(lines)), Lead: w.byLaw, Open: fmt.Sprintf(w.open, l.Product), Site: l.Site,
	}
	for status := range ClockStatus(statuses) {
		p := part{Title: w.statuses[status]}
		for _, line := range lines {
			if line.Status == status {
				p.Lines = append(p.Lines, w.clockText(line))
			}
		}
		if rest := len(p.Lines) - LinesShown; rest > 0 {
			p.Lines, p.More = p.Lines[:LinesShown], w.more(rest)
		}
		if len(p.Lines) > 0 {
			x.Parts = append(x.Parts, p)
		}
	}
	return x.buildMessage()
}

func (w Wording) clockText(line ClockLine) string {
	if line.Status == WithoutDelay {
		return line.No + ": " + line.Citation
	}
	return fmt.Sprintf(w.until, line.No, line.Citation, line.Due)
}

// MentionMail words the mail to a person whom a comment on a record names; the
// letterhead leads to the record.
func (w Wording) MentionMail(record string, l Letterhead) (mail.Message, error) {
	x := mailBody{
		Lang: w.Lang, Subject: fmt.Sprintf(w.mentioned, record), Lead: fmt.Sprintf(w.named, record),
		Open: fmt.Sprintf(w.open, l.Product), Site: l.Site,
	}
	return x.buildMessage()
}

func (x mailBody) buildMessage() (mail.Message, error) {
	var text, html strings.Builder
	if err := plainDigest.Execute(&text, x); err != nil {
		return mail.Message{}, fmt.Errorf("wording: word a mail: %w", err)
	}
	if err := richDigest.Execute(&html, x); err != nil {
		return mail.Message{}, fmt.Errorf("wording: word a mail: %w", err)
	}
	subject := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, x.Subject)
	return mail.Message{Subject: subject, Text: text.String(), HTML: html.String()}, nil
}
