// A SAML provider on paper, for pages that take its metadata.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// metadata is a SAML provider's, with a certificate made for it.
export function metadata(id) {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-saml-'));
  try {
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=idp',
        '-keyout',
        join(dir, 'key'),
        '-out',
        join(dir, 'cert'),
      ],
      { stdio: 'ignore' },
    );
    const cert = readFileSync(join(dir, 'cert'), 'utf8').replace(/-----[A-Z ]+-----|\s/g, '');
    return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${cert}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${id}/sso"/></IDPSSODescriptor></EntityDescriptor>`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
