// The board of a hall: asked for twice a minute with the token behind the number sign, which no server on the way sees.
// What is old says so; what is too old to act on is taken off.
'use strict';
const every = 30000, slowly = 60000, old = 90000, dead = 600000;
const texts = {
  en: {
    orders: 'Orders for today', done: n => `${number(n)} done`, late: n => `${number(n)} past their promise`,
    noOrders: 'none promised', hazards: 'Open hazards', today: n => `${number(n)} reported today`,
    noHazards: 'None is on record. See one? Report it.',
    aiders: 'First aiders on shift',
    people: n => n === 1 ? 'of 1 person clocked in' : `of ${number(n)} people clocked in`,
    noPeople: 'Nobody is clocked in', unset: 'No course is named that makes a first aider',
    few: 'So few people are clocked in that a figure would tell of single ones.',
    stale: t => `Not current: as of ${t}`, gone: 'No connection. The figures were too old to be shown.',
    ended: 'This screen’s link does not exist or has ended. An administrator can make a new one.',
    asOf: t => `As of ${t}`, wait: 'One moment …', all: 'All sites'
  },
  de: {
    orders: 'Aufträge für heute', done: n => `${number(n)} erledigt`, late: n => `${number(n)} über der Zusage`,
    noOrders: 'keine zugesagt', hazards: 'Offene Gefahren', today: n => `${number(n)} heute gemeldet`,
    noHazards: 'Keine ist erfasst. Siehst du eine? Melde sie.',
    aiders: 'Ersthelfer in Schicht',
    people: n => n === 1 ? 'von 1 Person in Schicht' : `von ${number(n)} Personen in Schicht`,
    noPeople: 'Niemand ist eingestempelt', unset: 'Kein Kurs ist benannt, der Ersthelfer ausbildet',
    few: 'So wenige sind eingestempelt, dass eine Zahl Einzelne zeigen würde.',
    stale: t => `Nicht aktuell: Stand ${t}`, gone: 'Keine Verbindung. Die Zahlen waren zu alt, um sie zu zeigen.',
    ended:
      'Den Link dieses Bildschirms gibt es nicht, oder er ist abgelaufen. Ein Administrator kann einen neuen machen.',
    asOf: t => `Stand ${t}`, wait: 'Einen Moment …', all: 'Alle Standorte'
  },
  fr: {
    orders: 'Commandes du jour', done: n => `${number(n)} ${n < 2 ? 'terminée' : 'terminées'}`,
    late: n => `${number(n)} en retard sur la promesse`, noOrders: 'aucune promise', hazards: 'Dangers ouverts',
    today: n => `${number(n)} ${n < 2 ? 'signalé' : 'signalés'} aujourd’hui`,
    noHazards: 'Aucun n’est enregistré. Tu en vois un ? Signale-le.',
    aiders: 'Secouristes en poste',
    people: n => n === 1 ? 'sur 1 personne en poste' : `sur ${number(n)} personnes en poste`,
    noPeople: 'Personne n’a pointé', unset: 'Aucun cours n’est désigné pour les secouristes',
    few: 'Si peu de personnes ont pointé qu’un chiffre désignerait l’une d’elles.',
    stale: t => `Pas à jour : état de ${t}`,
    gone: 'Pas de connexion. Les chiffres étaient trop vieux pour être montrés.',
    ended: 'Le lien de cet écran n’existe pas ou n’est plus valable. Un administrateur peut en faire un nouveau.',
    asOf: t => `État de ${t}`, wait: 'Un instant …', all: 'Tous les sites'
  }
};
const by = id => document.getElementById(id);
let lang = ['en', 'de', 'fr'].find(l => navigator.language.startsWith(l)) ?? 'en';
let board = null, read = 0, next = 0, timer = 0; // no timer: the link has ended
const t = () => texts[lang];
const put = (el, text) => { if (el.textContent !== text) el.textContent = text; };
const number = n => new Intl.NumberFormat(lang).format(n);
const time = () => new Intl.DateTimeFormat(lang === 'en' ? 'en-GB' : lang, { dateStyle: 'medium', timeStyle: 'short',
  timeZone: board.timezone }).format(new Date(board.at));

function card(name, n, kind, more) {
  const div = document.createElement('div');
  const add = (tag, text, kinds) => {
    const el = document.createElement(tag);
    el.className = kinds;
    el.textContent = text;
    div.append(el);
  };
  add('dt', name, '');
  add('dd', typeof n === 'number' ? number(n) : n, `n ${typeof n === 'number' ? '' : 'words'} ${kind}`);
  for (const [text, how] of more) add('dd', text, `more ${how}`);
  return div;
}

function draw() {
  const w = t(), b = board;
  document.documentElement.lang = lang;
  document.title = b.name;
  put(by('name'), b.name);
  put(by('site'), b.site || w.all);
  const orders = [[b.orders_today ? w.done(b.orders_done) : w.noOrders, '']];
  if (b.orders_late) orders.push([w.late(b.orders_late), 'bad']);
  const aiders = b.first_aiders_on_shift;
  const people = b.people_on_shift ? w.people(b.people_on_shift) : w.noPeople;
  by('figures').replaceChildren(
    card(w.orders, b.orders_today, '', orders),
    card(w.hazards, b.hazards_open, b.hazards_open ? 'warn' : '',
      [[b.hazards_open ? w.today(b.hazards_today) : w.noHazards, '']]),
    aiders === null ? card(w.aiders, '–', '', [[b.people_withheld ? w.few : w.unset, '']])
      : card(w.aiders, aiders, aiders ? 'good' : b.people_on_shift ? 'bad' : '', [[people, '']]));
  by('figures').hidden = false;
}

function say() {
  const age = Date.now() - read;
  document.body.classList.toggle('stale', !!board && age > old);
  if (!board) return put(by('state'), read ? t().gone : t().wait);
  if (age > dead) {
    board = null;
    by('figures').hidden = true;
    put(by('clock'), '');
    return put(by('state'), t().gone);
  }
  put(by('clock'), t().asOf(time()));
  put(by('state'), age > old ? t().stale(time()) : '');
}

function end() {
  board = null;
  clearInterval(timer);
  timer = 0;
  by('figures').hidden = true;
  document.documentElement.lang = lang;
  put(by('name'), 'Holdfast');
  put(by('site'), '');
  put(by('clock'), '');
  put(by('state'), t().ended);
}

async function ask() {
  next = Date.now() + every - 1000;
  let answered = false;
  try {
    const r = await fetch('/wall/board', { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: location.hash.slice(1) }), signal: AbortSignal.timeout(10000), cache: 'no-store' });
    answered = true;
    if (!r.ok) next = Date.now() + slowly;
    const answer = await r.json();
    if (!timer) return;
    // A 404 of something on the way, as of a proxy in maintenance, ends nothing.
    if (r.status === 404 && answer.code === 'PGRST116') return end();
    if (!r.ok) throw new Error(String(r.status));
    board = answer;
    read = Date.now();
    if (texts[board.language]) lang = board.language;
    draw();
  } catch { // what is shown says how old it is
    if (!answered) next = 0;
  }
  if (timer) say();
}

addEventListener('hashchange', () => location.reload());
addEventListener('online', () => { if (timer) ask(); });
document.addEventListener('visibilitychange', () => { if (!document.hidden && timer) ask(); });
say();
timer = setInterval(() => { if (Date.now() >= next) ask(); else say(); }, 10000);
ask();
