// Sign-in of organisations, without a browser: what /sso answers, and the
// administration of connections.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { claims, client, ok, service, serviceKey, unique, url } from '../client.mjs';
import * as own from './own.mjs';
import { founder, pkce } from './rig.mjs';
import { site } from './site.mjs';

async function admin(method, path, body) {
  const response = await fetch(`${url}/auth/v1${path}`, {
    method,
    headers: { apikey: serviceKey, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  return [response.status, await response.json()];
}

const newDomain = () => `${unique('corp')}.example`.toLowerCase();

test('signInWithSSO by domain and by id; who has no provider is told so', async () => {
  const { tenant } = await founder();
  const domain = newDomain();
  const [, made] = await admin('POST', '/admin/custom-providers', {
    tenant_id: tenant,
    identifier: `custom:${domain.replaceAll('.', '-')}`,
    name: 'Corp',
    client_id: own.clientId,
    client_secret: 'the-secret-of-holdfast',
    issuer: own.issuer,
    domains: [domain],
    default_role: 'viewer',
  });
  const who = own.person(`ann@${domain}`);
  let user;
  for (const by of [{ domain }, { providerId: made.id }]) {
    const c = client(undefined, pkce());
    const { url: address } = ok(
      await c.auth.signInWithSSO({ ...by, options: { redirectTo: `${site}/desk`, skipBrowserRedirect: true } }),
    );
    const at = await own.go(address, who);
    assert.equal(at.origin + at.pathname, `${site}/desk`);
    const got = ok(await c.auth.exchangeCodeForSession(at.searchParams.get('code')));
    assert.deepEqual(
      [claims(got.session.access_token).tenant_id, claims(got.session.access_token).tenant_role],
      [tenant, 'viewer'],
    );
    user ??= got.user.id;
    assert.equal(got.user.id, user);
    for (const change of [{ password: 'a-second-door-1' }, { email: 'ann@elsewhere.example' }]) {
      const { error } = await c.auth.updateUser(change);
      assert.deepEqual([error.status, error.code], [422, 'user_sso_managed']);
    }
  }
  const form = { domain, code_challenge: 'a'.repeat(43), code_challenge_method: 's256' };
  const led = await fetch(`${url}/auth/v1/sso`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(form),
  });
  assert.deepEqual(
    [led.status, new URL(led.headers.get('location')).origin],
    [303, own.issuer],
    'without skip_http_redirect',
  );
  const c = client(undefined, pkce());
  const none = (await c.auth.signInWithSSO({ domain: 'nowhere.example' })).error;
  assert.deepEqual([none.status, none.code], [404, 'sso_provider_not_found']);
  assert.equal((await c.auth.signInWithSSO({ providerId: randomUUID() })).error.code, 'sso_provider_not_found');
  await admin('PUT', `/admin/custom-providers/${made.identifier}`, { enabled: false });
  assert.equal((await c.auth.signInWithSSO({ domain })).error.code, 'sso_provider_disabled');
});

test('a domain leads to one provider; one whose people are the last owners stays', async () => {
  const { id: founded, tenant } = await founder();
  const domain = newDomain();
  const api = service().auth.admin.customProviders;
  const provider = (of) => ({
    provider_type: 'oidc',
    identifier: `custom:${unique('op').toLowerCase()}`,
    name: 'Op',
    client_id: own.clientId,
    client_secret: 'the-secret-of-holdfast',
    issuer: own.issuer,
    tenant_id: of,
    domains: [domain],
    default_role: 'viewer',
  });
  const made = ok(await api.createProvider(provider(tenant)));
  const taken = (await api.createProvider(provider((await founder()).tenant))).error;
  assert.deepEqual([taken.status, taken.code], [400, 'sso_domain_already_exists']);
  const c = client(undefined, pkce());
  const { url: address } = ok(
    await c.auth.signInWithSSO({ domain, options: { redirectTo: `${site}/desk`, skipBrowserRedirect: true } }),
  );
  const at = await own.go(address, own.person(`ann@${domain}`));
  const { user } = ok(await c.auth.exchangeCodeForSession(at.searchParams.get('code')));
  ok(await service().from('members').update({ role: 'owner' }).eq('user_id', user.id).eq('tenant_id', tenant));
  ok(await service().from('members').update({ role: 'viewer' }).eq('user_id', founded).eq('tenant_id', tenant));
  const kept = (await api.deleteProvider(made.identifier)).error;
  assert.deepEqual([kept.status, kept.code], [409, 'conflict']);
  ok(await c.auth.getUser());
});

test('admin.customProviders: made, listed, read, changed, removed; the secret is never shown', async () => {
  const { tenant } = await founder();
  const identifier = `custom:${unique('op').toLowerCase()}`;
  const api = service().auth.admin.customProviders;
  const made = ok(
    await api.createProvider({
      provider_type: 'oidc',
      identifier,
      name: 'Op',
      client_id: own.clientId,
      client_secret: 'kept-to-ourselves',
      issuer: own.issuer,
      tenant_id: tenant,
    }),
  );
  assert.deepEqual(
    [made.identifier, made.provider_type, made.issuer, made.enabled],
    [identifier, 'oidc', own.issuer, true],
  );
  assert.ok(ok(await api.listProviders()).providers.some((p) => p.id === made.id));
  assert.equal(ok(await api.updateProvider(identifier, { name: 'Other' })).name, 'Other');
  assert.deepEqual(
    ok(await api.updateProvider(identifier, { authorization_params: { prompt: 'login' } })).authorization_params,
    { prompt: 'login' },
  );
  for (const weaker of [
    { pkce_enabled: false },
    { skip_nonce_check: true },
    { email_optional: true },
    { provider_type: 'oauth2' },
    { authorization_params: { state: 'mine' } },
  ]) {
    assert.deepEqual([(await api.updateProvider(identifier, weaker)).error?.status], [400], JSON.stringify(weaker));
  }
  const read = ok(await api.getProvider(identifier));
  assert.deepEqual([read.name, JSON.stringify(read).includes('kept-to-ourselves')], ['Other', false]);
  assert.equal((await api.deleteProvider(identifier)).error, null);
  assert.equal((await api.getProvider(identifier)).error.code, 'custom_provider_not_found');
});

test('/admin/sso/providers: made, listed, read, changed, removed', async () => {
  const { tenant } = await founder();
  const entity = `https://${newDomain()}/metadata`;
  const domain = newDomain();
  const [status, made] = await admin('POST', '/admin/sso/providers', {
    type: 'saml',
    tenant_id: tenant,
    metadata_xml: descriptor(entity),
    domains: [domain],
    attribute_mapping: { keys: { email: { name: 'mail' } } },
  });
  assert.equal(status, 201, JSON.stringify(made));
  assert.deepEqual([made.saml.entity_id, made.domains, made.disabled], [entity, [{ domain }], false]);
  const [, list] = await admin('GET', '/admin/sso/providers');
  assert.ok(list.items.some((p) => p.id === made.id));
  const [, changed] = await admin('PUT', `/admin/sso/providers/${made.id}`, { disabled: true, resource_id: 'crm-17' });
  assert.deepEqual([changed.disabled, changed.resource_id], [true, 'crm-17']);
  const [twice, refused] = await admin('POST', '/admin/sso/providers', {
    type: 'saml',
    tenant_id: tenant,
    metadata_xml: descriptor(entity),
  });
  assert.deepEqual([twice, refused.error_code], [422, 'saml_idp_already_exists']);
  const [moved, kept] = await admin('PUT', `/admin/sso/providers/${made.id}`, {
    metadata_xml: descriptor(`https://${newDomain()}/metadata`),
  });
  assert.deepEqual([moved, kept.error_code], [422, 'saml_entity_id_mismatch']);
  assert.equal((await admin('DELETE', `/admin/sso/providers/${made.id}`))[0], 200);
  const [gone, body] = await admin('GET', `/admin/sso/providers/${made.id}`);
  assert.deepEqual([gone, body.error_code], [404, 'sso_provider_not_found']);
});

test('signInWithSSO at a provider whose metadata have run out', async () => {
  const { tenant } = await founder();
  const domain = newDomain();
  let status, made;
  for (const ahead of [5000, 60000]) {
    // a slow machine needs longer to make it while they hold
    if (status !== 201)
      [status, made] = await admin('POST', '/admin/sso/providers', {
        type: 'saml',
        tenant_id: tenant,
        metadata_xml: descriptor(`https://${domain}/metadata`, new Date(Date.now() + ahead)),
        domains: [domain],
      });
  }
  assert.equal(status, 201, JSON.stringify(made));
  const c = client(undefined, pkce());
  let error;
  for (const end = Date.now() + 120000; !error && Date.now() < end;) {
    ({ error } = await c.auth.signInWithSSO({ domain, options: { skipBrowserRedirect: true } }));
    await new Promise((done) => {
      setTimeout(done, 500);
    });
  }
  assert.deepEqual([error?.status, error?.code], [404, 'saml_idp_not_found']);
});

// A certificate that nobody has the key of; valid until 2046.
const certificate =
  'MIIDDTCCAfWgAwIBAgIULfgv4U2ChwTJvRRxNuLETRcLj40wDQYJKoZIhvcNAQELBQAwFjEUMBIGA1UEAwwLaWRwLmV4YW1wbGUwHhcNMjYxMTIxMTEyMzU5WhcNNDYxMTE2MTEyMzU5WjAWMRQwEgYDVQQDDAtpZHAuZXhhbXBsZTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAJ62V53sSSmVo/gg3IeAI6R99UFru8tScTM1enwkGTRnH2DJCDth6Jo4Kl6kfPyWGmoVMqpbj/pyoBDs8epF593jJ+xbAe/NktS3TCBw0VrCsqROvuO5JdRBka0Og8iD8fbnPt2Z3vVUGhyLlzzpuorwEALaSemBsNLLHt4UG1agINlWfqruLTrlyfLuLZ9uFRcEu3kxLXxSy9FU3L+8byag1qIUT0PwEztvsXX7gQlaxG8hVrD2oEFJCbJS6SAft5BMu/RSdGdA6qxsty2M8m665ffO6+Ve6tw5ilDbz3jYZiut+HzV4/7AmgElXh5iUsjJFUGAZjMIxiLIMIsDV8MCAwEAAaNTMFEwHQYDVR0OBBYEFM5U/X9JzE8DCzrXOhUFTi7fhnmhMB8GA1UdIwQYMBaAFM5U/X9JzE8DCzrXOhUFTi7fhnmhMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAH8QVyF5rYP7h78S/VAx/xyMEAW9xLMoORPSjUdctDBWdP5Qa0Tg2YmHQ072tFrDDsrPd+o3tUL+z/3TK2uiDX/VjwQcElK9WvxYqUTmUXg0A5ke+g/oxLg73rtvMnLUQg2hChfbBAJbTi7b8OYhAi0+K7NbaSs5tbaPLlwXH2azNeZNv7PesmGDC2L6SUC4RAqzFgGtKBjKeESW5oUcz43O3nTAo6fVzs4zqXwoT7+lk4ol9OYbPRg/T5PeLTDN28uJ7GIjguQVFjhy5FhCQFeEbdBNQlSPuEZxx6J0OLK0gOTI41873J9NeSdtDccZ0t2D2Dc4a371VychrVBk2nU=';

function descriptor(entity, until = new Date(Date.now() + 86400000)) {
  return `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" validUntil="${until.toISOString()}" entityID="${entity}"><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${entity.replace('metadata', 'sso')}"/></md:IDPSSODescriptor></md:EntityDescriptor>`;
}

test("the service provider's own metadata", async () => {
  const response = await fetch(`${url}/auth/v1/sso/saml/metadata?download=true`);
  assert.deepEqual(
    [response.status, response.headers.get('content-type').split(';')[0], response.headers.get('cache-control')],
    [200, 'application/xml', 'public, max-age=600'],
  );
  const text = await response.text();
  assert.ok(
    text.includes(`entityID="${url}/auth/v1/sso/saml/metadata"`) &&
      text.includes(`Location="${url}/auth/v1/sso/saml/acs"`),
  );
});
