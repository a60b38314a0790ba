import { useState } from 'preact/hooks';
import { download } from '../lib/client';
import { _ } from '../lib/i18n';
import { today } from '../lib/zone';
import { Button, Problem } from './basic';
import { Dialog } from './dialog';
import { Input } from './form';

// StockValue saves what the stock of a day was and what it was worth, as a file.
export function StockValue({ close }: { close: () => void }) {
  const [day, setDay] = useState(today());
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const save = () => {
    setBusy(true);
    setError(null);
    download(`/v1/stock-value.csv?as_of=${day}`, `stock-value-${day}.csv`)
      .then(close, setError)
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title={_('Stock value of a day')}
      close={close}
      submit={save}
      footer={
        <Button type="submit" kind="primary" icon="file" busy={busy}>
          {_('Save as CSV')}
        </Button>
      }
    >
      <p class="muted">
        {_('By item, owner and site at the end of the day, at what the goods cost on average when they moved.')}
      </p>
      <Input label={_('Day')} type="date" max={today()} value={day} put={setDay} required />
      <Problem error={error} />
    </Dialog>
  );
}
