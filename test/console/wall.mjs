// The board of a hall: an administrator makes its link, the screen shows figures without an account, says when they are
// old, and shows nothing once the link is revoked.
import assert from 'node:assert/strict';
import { api, as, engine, narrow, open, picture, secret, test, url, violations, visit } from './page.mjs';

const admin = 'admin@north.example';
const look = engine === 'postgresql' ? { colorScheme: 'dark' } : { colorScheme: 'light' };
const hall = { width: 1920, height: 1080 };

// newScreen makes a screen of a site and is the address of its page.
async function newScreen(more = {}) {
  const json = { name: `Hall ${Date.now()}`, language: 'en', ...more };
  const made = await api(admin, '/v1/wall-screens', { method: 'POST', body: json });
  secret(made.url.split('#')[1]);
  return { ...made, name: json.name, path: new URL(made.url).pathname + new URL(made.url).hash };
}

// givenFirstAider is a course, and somebody on shift who holds its certificate, beside nine others: figures of fewer
// people are not shown.
async function givenFirstAider() {
  const [course] = await api(admin, '/v1/courses', {
    method: 'POST',
    body: { code: `AID-${Date.now()}`, title: 'First aid at work' },
  });
  const workers = await givenOnShift(10);
  await api(admin, '/v1/training_assignments', {
    method: 'POST',
    body: { course_id: course.id, worker_id: workers[0].id, status: 'completed' },
  });
  return course;
}

// givenOnShift are people whose shift runs, of a site or of none.
async function givenOnShift(count, site = null) {
  const people = Array.from({ length: count }, (_, i) => i);
  const workers = await api(admin, '/v1/workers', {
    method: 'POST',
    body: people.map((i) => ({ employee_no: `AID-${Date.now()}-${i}`, name: 'Nobody Known', site_id: site })),
  });
  const started_at = new Date(Date.now() - 36e5).toISOString();
  await api(admin, '/v1/shifts', {
    method: 'POST',
    body: workers.map((w) => ({ worker_id: w.id, started_at })),
  });
  return workers;
}

// passTime lets time go by for a page, and answers arrive meanwhile.
async function passTime(page, seconds) {
  for (let at = 0; at < seconds; at += 10) {
    await page.clock.runFor(10_000);
    await new Promise((done) => {
      setTimeout(done, 100);
    });
  }
}

const over = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test('an administrator makes a screen, opens it in another browser, and revokes it', async () => {
  const name = 'Dock hall';
  const course = await givenFirstAider();
  await as(admin, async (page) => {
    await open(page, '/console/admin/screens');
    await page.getByRole('button', { name: 'New screen' }).click();
    const ask = page.getByRole('dialog');
    await ask.getByLabel('Name').fill(name);
    await ask.getByLabel('Course that makes a first aider').selectOption(course.id);
    await ask.getByLabel('Days until it ends').fill('367');
    await ask.getByRole('button', { name: 'Make a link' }).click();
    assert.ok(await ask.isVisible(), 'a year and a day is too long');
    await ask.getByLabel('Days until it ends').fill('30');
    assert.deepEqual(await violations(page, 'new screen'), []);
    await ask.getByRole('button', { name: 'Make a link' }).click();
    await page.getByRole('heading', { name: 'The link is made' }).waitFor();
    const link = await page.getByRole('dialog').getByText('/wall#').innerText();
    secret(link.trim().split('#')[1]);
    await page.getByRole('button', { name: 'Close' }).last().click();
    const row = page.getByRole('row').filter({ hasText: name });
    await row.getByText('never').waitFor();
    assert.deepEqual(await violations(page, 'screens'), []);

    await visit(
      async (wall) => {
        const { hash } = new URL(link.trim());
        await wall.goto(`${url}/wall${hash}`);
        await wall.getByRole('heading', { name }).waitFor();
        await wall.getByText('Open hazards').waitFor();
        const aiders = wall.locator('dl > div').filter({ hasText: 'First aiders on shift' });
        assert.equal(await aiders.locator('.n').innerText(), '1');
        assert.equal(await wall.getByText('Known').count(), 0, 'no person is named');
        assert.deepEqual(await violations(wall, 'wall'), []);
        await picture(wall, 'wall');
        await row.getByRole('button', { name: 'End' }).click();
        await page.getByRole('button', { name: 'End the link' }).click();
        await page.getByText('The link has ended').waitFor();
        await wall.reload();
        await wall.getByText('does not exist or has ended').waitFor();
        assert.equal(await wall.getByText('Open hazards').count(), 0, 'a revoked screen shows nothing');
        assert.deepEqual(await violations(wall, 'wall that has ended'), []);
      },
      { viewport: hall, ...look },
    );
  });
});

test('figures are those of the records, fit a hall and a phone, and say when they are old', async () => {
  const open_ = await api(admin, '/v1/incidents?select=id&kind=eq.hazard&status=not.in.(closed,void)');
  for (const viewport of [hall, narrow]) {
    const { path, name } = await newScreen();
    await visit(
      async (wall, context) => {
        await wall.clock.install();
        await wall.goto(url + path);
        await wall.getByRole('heading', { name }).waitFor();
        const hazards = wall.locator('dl > div').filter({ hasText: 'Open hazards' }).locator('.n');
        assert.equal(Number((await hazards.innerText()).replace(',', '')), open_.length);
        assert.equal(await over(wall), 0);
        const size = await hazards.evaluate((el) => parseFloat(getComputedStyle(el).fontSize));
        assert.ok(size > (viewport === hall ? 200 : 50), `the figure is ${size} px high`);
        if (viewport === hall) {
          const bottom = await wall.evaluate(() => document.documentElement.scrollHeight - innerHeight);
          assert.equal(bottom, 0, 'nobody scrolls a screen on a wall');
        }
        await context.setOffline(true);
        await wall.clock.runFor(120_000);
        await wall.getByText(/Not current: as of/).waitFor();
        assert.deepEqual(await violations(wall, 'stale wall'), []);
        await wall.clock.runFor(600_000);
        await wall.getByText(/The figures were too old/).waitFor();
        assert.equal(await wall.getByText('Open hazards').isVisible(), false, 'what is too old is not shown');
        await context.setOffline(false);
        await wall.clock.runFor(60_000);
        await wall.getByText('Open hazards').waitFor();
      },
      { viewport, ...look },
    );
  }
});

test('a 404 of a proxy ends no board, and one of the server ends it for good', async () => {
  const { id, path } = await newScreen();
  await visit(async (wall, context) => {
    let asks = 0;
    wall.on('request', (r) => {
      if (r.url().endsWith('/wall/board')) asks += 1;
    });
    const refuse = (route) => route.fulfill({ status: 404, contentType: 'text/html', body: '<h1>Maintenance</h1>' });
    await wall.clock.install();
    await wall.goto(url + path);
    await wall.getByText('Open hazards').waitFor();
    await wall.route('**/wall/board', refuse);
    await passTime(wall, 120);
    await wall.getByText(/Not current: as of/).waitFor();
    assert.ok(asks >= 2 && asks <= 4, `asked ${asks} times in two minutes`);
    await wall.unroute('**/wall/board', refuse);
    await passTime(wall, 60);
    await wall.getByText(/Not current: as of/).waitFor({ state: 'hidden' });
    assert.ok(await wall.getByText('Open hazards').isVisible());

    await api(admin, `/v1/wall_screens?id=eq.${id}`, { method: 'DELETE' });
    await passTime(wall, 60);
    const ended = wall.getByText('does not exist or has ended');
    await ended.waitFor();
    const before = asks;
    await context.setOffline(true);
    await context.setOffline(false);
    await wall.evaluate(() => {
      dispatchEvent(new Event('online'));
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await passTime(wall, 120);
    assert.equal(asks, before, 'who is told that the link has ended asks no more');
    assert.ok(await ended.isVisible());
  });
});

test('where few people are on shift no figure tells of single ones, and one of a thing is one in French', async () => {
  const [site] = await api(admin, '/v1/sites', {
    method: 'POST',
    body: { code: `FEW-${Date.now()}`, name: 'Small site' },
  });
  await givenOnShift(1, site.id);
  const small = { site_id: site.id, language: 'fr' };
  const { path } = await newScreen(small);
  for (const viewport of [hall, narrow]) {
    await visit(
      async (wall) => {
        for (const [count, words] of [
          [1, ['1 terminée', '1 signalé aujourd’hui']],
          [2, ['2 terminées', '2 signalés aujourd’hui']],
        ]) {
          const counted = { orders_today: 3, orders_done: count, hazards_open: 2, hazards_today: count };
          await wall.route(
            '**/wall/board',
            async (route) => {
              const response = await route.fetch();
              await route.fulfill({ response, json: { ...(await response.json()), ...counted } });
            },
            { times: 1 },
          );
          await wall.goto('about:blank');
          await wall.goto(url + path);
          await wall.getByText(/Si peu de personnes ont pointé/).waitFor();
          for (const text of words) await wall.getByText(text, { exact: true }).waitFor();
        }
        assert.equal(await over(wall), 0);
        await picture(wall, viewport === hall ? 'wall-few' : 'wall-few-phone');
      },
      { viewport, ...look },
    );
  }
});

test('the screen speaks its own language, whatever the browser is set to, and nobody else makes one', async () => {
  const { path } = await newScreen({ language: 'de' });
  await visit(async (wall) => {
    await wall.goto(url + path);
    await wall.getByText('Offene Gefahren').waitFor();
    assert.equal(await wall.evaluate(() => document.documentElement.lang), 'de');
    await wall.goto(`${url}/wall`);
    await wall.getByText('does not exist or has ended').waitFor();
  });
  await as('manager@north.example', async (page) => {
    await page.goto(`${url}/console/admin/screens`);
    await page.getByText('Administrators keep these pages').waitFor();
  });
});
