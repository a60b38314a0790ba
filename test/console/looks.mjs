// Every page in both themes and both widths: nothing that axe finds, nothing
// that hangs over the edge or hides beyond it; pictures for the documentation.
// A page looks the same whatever the engine: each of the two sees one look.
import assert from 'node:assert/strict';
import { api, as, engine, narrow, open, picture, settled, test, violations, visit, wide } from './page.mjs';

const manager = 'manager@north.example';
const look =
  engine === 'postgresql' ? { colorScheme: 'dark', viewport: narrow } : { colorScheme: 'light', viewport: wide };

// found is what is wrong with a page as it looks.
async function found(page, name) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  // On a phone a table is cards: what lies beyond its edge is not seen.
  const hidden = await page.evaluate(() =>
    innerWidth > 620
      ? []
      : [...document.querySelectorAll('.table')]
          .filter((t) => t.scrollWidth > t.clientWidth + 1)
          .map((t) => t.ariaLabel),
  );
  // Where somebody is among the tabs is in sight.
  const at = await page.evaluate(() =>
    [...document.querySelectorAll('.tabs > [aria-current], .tabs > [aria-selected=true]')].map((t) =>
      Math.round(t.getBoundingClientRect().right - t.parentElement.getBoundingClientRect().right),
    ),
  );
  return [
    ...(await violations(page, name)),
    ...(over > 0 ? [`${name} is ${over} pixels too wide`] : []),
    ...hidden.map((label) => `${name}: the table ${label} hides columns`),
    ...at.filter((past) => past > 0).map((past) => `${name}: the tab at hand is ${past} pixels past the edge`),
  ];
}

const [order] = await api(manager, '/v1/orders?select=id&status=eq.in_progress&limit=1');

const [item] = await api(manager, '/v1/items?select=id&available=gt.5&order=stock_value.desc&limit=1');

const [route] = await api(manager, '/v1/routes?select=id&order=id.desc&limit=1');

const [incident] = await api(
  manager,
  '/v1/actions?select=id:incident_id&incident_id=not.is.null&status=eq.open&limit=1',
);

const [action] = await api(manager, '/v1/actions?select=id&limit=1');

const [place] = await api(
  manager,
  '/v1/incidents?select=id:zone_id&zone_id=not.is.null&order=occurred_at.desc&limit=1',
);

const [rule] = await api(manager, '/v1/regulations?select=id&code=eq.GLOBAL-INSPECTION');

const [inspection] = await api(
  manager,
  '/v1/checklist_runs?select=id&status=eq.scheduled&template_id=not.is.null&limit=1',
);

const [inspected] = await api(
  manager,
  '/v1/checklist_runs?select=id&status=eq.completed&template_id=not.is.null&limit=1',
);

const pages = [
  ['home', '/console/'],
  ['orders', '/console/c/orders'],
  ['order', `/console/c/orders/${order.id}`],
  ['new item', '/console/c/items/new'],
  ['map', '/console/map'],
  ['map by age', '/console/map?by=age'],
  ['imports', '/console/imports'],
  ['new import', '/console/imports/new'],
  ['everything', '/console/all'],
  ['account', '/console/account'],
  ['item', `/console/c/items/${item.id}`],
  ['shipments', '/console/shipments'],
  ['shipments by route', '/console/shipments?by=route'],
  ['routes', '/console/routes'],
  ['route', `/console/routes/${route.id}`],
  ['plan', '/console/plan'],
  ['safety overview', '/console/safety'],
  ['risk', '/console/risk'],
  ['risk of a place', `/console/risk/zone/${place.id}`],
  ['compliance', '/console/compliance'],
  ['register', '/console/register'],
  ['injuries', '/console/injuries'],
  ['training', '/console/training'],
  ['actions', '/console/actions'],
  ['engagement', '/console/engagement'],
  ['actions as a table', '/console/actions?by=table'],
  ['rule', `/console/compliance?rule=${rule.id}`],
  ['incident', `/console/c/incidents/${incident.id}`],
  ['inspection to do', `/console/inspections/${inspection.id}`],
  ['inspection done', `/console/inspections/${inspected.id}`],
  ['report', '/console/report'],
  ['action', `/console/c/actions/${action.id}`],
  ['floor', '/console/floor'],
  ['receive', '/console/floor/receive'],
  ['count', '/console/floor/count'],
];
const kept = ['members', 'keys', 'webhooks', 'limits', 'audit', 'sso', 'settings', 'screens', 'jobs', 'system'];

test(`every page is accessible: ${look.colorScheme}, ${look.viewport.width} px`, async () => {
  const wrong = [];
  await visit(async (page) => {
    await open(page, '/console/');
    await settled(page);
    wrong.push(...(await found(page, 'sign-in')));
    await open(page, '/console/components');
    wrong.push(...(await found(page, 'components')));
  }, look);
  await as(
    manager,
    async (page) => {
      for (const [name, path] of pages) {
        await open(page, path);
        await settled(page);
        wrong.push(...(await found(page, name)));
        if (name === 'home' && look.viewport === wide) await picture(page, 'overview-light');
        if (name === 'map' && look.viewport === wide) await picture(page, 'map');
        if (name === 'register' && look.viewport === wide) await picture(page, 'register');
      }
    },
    look,
  );
  await as(
    'admin@north.example',
    async (page) => {
      for (const name of kept) {
        await open(page, `/console/admin/${name}`);
        await settled(page);
        wrong.push(...(await found(page, name)));
      }
    },
    look,
  );
  assert.deepEqual(wrong, []);
}, 900_000);
