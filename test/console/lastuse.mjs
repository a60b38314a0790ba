// What the server writes once a minute: it was used long before.
import { as, open, test } from './page.mjs';
import { used } from './keys.mjs';

test('when a key was used last, and from where, is seen', async () => {
  await as('admin@north.example', async (page) => {
    await open(page, '/console/admin/keys');
    await page
      .getByRole('region', { name: used, exact: true })
      .getByText(/ago.*from (127\.0\.0\.1|::1)/)
      .waitFor({ timeout: 90_000 });
  });
});
