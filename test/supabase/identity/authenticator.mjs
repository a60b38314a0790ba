// An authenticator in software (WebAuthn level 2, attestation "none", ES256),
// for what a browser's own never does.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { site } from './site.mjs';

const hash = (of) => createHash('sha256').update(of).digest();
const text = (bytes) => Buffer.from(bytes).toString('base64url');

// authenticator holds one key pair, which it registers as often as it is told
// to.
export function authenticator() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(16);
  let holder = '';
  const said = (type, challenge) => Buffer.from(JSON.stringify({ type, challenge, origin: site, crossOrigin: false }));
  const credential = (response) => ({
    id: text(id),
    rawId: text(id),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });
  return {
    // create answers the options of a registration.
    create(options) {
      holder = options.user.id;
      // COSE key (RFC 9053 section 7.1.1): EC2, ES256, P-256.
      const key = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ]);
      const data = Buffer.concat([
        hash(options.rp.id),
        Buffer.from([0x45]),
        Buffer.alloc(4 + 16),
        Buffer.from([0, id.length]),
        id,
        key,
      ]);
      // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
      const attestation = Buffer.concat([
        Buffer.from('\xa3cfmtdnonegattStmt\xa0hauthData\x58', 'latin1'),
        Buffer.from([data.length]),
        data,
      ]);
      return credential({
        clientDataJSON: text(said('webauthn.create', options.challenge)),
        attestationObject: text(attestation),
      });
    },
    // get answers the options of a sign-in.
    get(options) {
      const client = said('webauthn.get', options.challenge);
      const data = Buffer.concat([hash(options.rpId), Buffer.from([0x05]), Buffer.alloc(4)]);
      const signature = sign('sha256', Buffer.concat([data, hash(client)]), privateKey);
      return credential({
        clientDataJSON: text(client),
        authenticatorData: text(data),
        signature: text(signature),
        userHandle: holder,
      });
    },
  };
}
