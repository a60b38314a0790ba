import { useState } from 'preact/hooks';
import { api } from '../lib/client';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Button } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Input } from '../ui/form';

const renew = (json: object) => api('/auth/v1/reauthenticate', { method: 'POST', json });

// byPasskey shows a passkey of the account: the browser asks for the finger or the look.
async function byPasskey(): Promise<void> {
  const { challenge_id, options } = await api<{ challenge_id: string; options: PublicKeyCredentialRequestOptionsJSON }>(
    '/auth/v1/passkeys/authentication/options',
    { method: 'POST', json: {} },
  );
  const found = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
  });
  await renew({ challenge_id, credential: (found as PublicKeyCredential).toJSON() });
}

// Prove asks who is there before something that opens the account or protects
// the organisation; what was asked for goes on by itself afterwards.
export function Prove({ done }: { done: (shown: boolean) => void }) {
  const passkeys = useQuery({ queryKey: ['passkeys'], queryFn: () => api<unknown[]>('/auth/v1/passkeys') }).data ?? [];
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [way, setWay] = useState<'password' | 'code' | 'passkey'>('password');
  const act = async () => {
    if (way === 'passkey') await byPasskey();
    else await renew(way === 'code' ? { nonce: code.trim() } : { password });
    done(true);
  };
  const mail = async () => {
    await api('/auth/v1/reauthenticate');
    setWay('code');
  };
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  return (
    <Ask
      title={_('Is it you?')}
      text={_(
        'This opens your account or protects your organisation, and you signed in a while ago. Show once more that it is you.',
      )}
      yes={way === 'passkey' ? _('Use the passkey') : _('Go on')}
      close={() => done(false)}
      act={act}
      error={failed}
    >
      {way === 'password' ? (
        <Input
          label={_('Password')}
          type="password"
          autocomplete="current-password"
          value={password}
          put={setPassword}
          required
          autofocus
        />
      ) : null}
      {way === 'code' ? (
        <Input
          label={_('Code from the mail')}
          class="otp"
          inputMode="numeric"
          autocomplete="one-time-code"
          value={code}
          put={setCode}
          required
          autofocus
        />
      ) : null}
      <div class="row">
        {way !== 'code' ? (
          <Button
            size="small"
            icon="mail"
            busy={busy}
            onClick={() => {
              setBusy(true);
              setFailed(null);
              void mail()
                .catch(setFailed)
                .finally(() => setBusy(false));
            }}
          >
            {_('Mail me a code')}
          </Button>
        ) : null}
        {way !== 'passkey' && passkeys.length ? (
          <Button size="small" icon="key" onClick={() => setWay('passkey')}>
            {_('Use a passkey')}
          </Button>
        ) : null}
        {way !== 'password' ? (
          <Button size="small" onClick={() => setWay('password')}>
            {_('Use the password')}
          </Button>
        ) : null}
      </div>
    </Ask>
  );
}
