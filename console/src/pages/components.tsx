import { useState } from 'preact/hooks';
import { Fault } from '../lib/fault';
import { _ } from '../lib/i18n';
import {
  Badge,
  Button,
  Card,
  Copy,
  Empty,
  Head,
  Meter,
  Note,
  Problem,
  Segments,
  Skeleton,
  Spark,
  Tabs,
} from '../ui/basic';
import { Area, Check, Input, Select } from '../ui/form';
import { Ask, Dialog } from '../ui/dialog';
import { Menu, toast } from '../ui/overlay';
import { Tile } from '../ui/tile';
import '../records.css';

const failure = new Fault('the record was changed by somebody else', {
  status: 409,
  code: 'HF008',
  hint: 'read it again',
  requestId: '8b663542-53ab-452c-9ccd-af098aaf320f',
});

// Components shows every part of the console in every state.
export function Components() {
  const [text, setText] = useState('Pallet jack');
  const [on, setOn] = useState(true);
  const [tab, setTab] = useState('one');
  const [open, setOpen] = useState('');
  return (
    <main class="page">
      <Head
        title={_('Components')}
        sub={_('Every part of the console in every state.')}
        crumbs={[['Holdfast', '/console/']]}
      >
        <Button icon="refresh">{_('Refresh')}</Button>
        <Button kind="primary" icon="plus">
          {_('Create')}
        </Button>
      </Head>
      <div class="tiles">
        <Tile
          name="Low stock"
          icon="box"
          value={24}
          kind="warn"
          note="of 239 items"
          href="#low"
          trend={[12, 14, 13, 18, 22, 24]}
        />
        <Tile name="Stock value" icon="gauge" value={97947.79} note="health 82 of 100" href="#value" />
        <Tile name="Overdue actions" icon="clock" value={4} kind="bad" note="of 10 open" href="#overdue" />
        <Tile name="Loading" icon="shield" href="#loading" />
      </div>
      <div class="grid even">
        <Card title="Buttons">
          <div class="stack">
            <div class="row">
              <Button kind="primary">Primary</Button>
              <Button>Plain</Button>
              <Button kind="quiet">Quiet</Button>
              <Button kind="danger">Danger</Button>
              <Button kind="danger solid">Delete</Button>
            </div>
            <div class="row">
              <Button disabled>Disabled</Button>
              <Button busy kind="primary">
                Busy
              </Button>
              <Button icon="edit" label="Edit" />
              <Button size="small" icon="filter">
                Small
              </Button>
            </div>
            <div class="row">
              <Menu label="Menu" text="Menu" icon="more">
                {(close) => (
                  <>
                    <button type="button" onClick={close}>
                      First
                    </button>
                    <button type="button" onClick={close}>
                      Second
                    </button>
                  </>
                )}
              </Menu>
              <Button onClick={() => setOpen('dialog')}>Dialog</Button>
              <Button onClick={() => setOpen('ask')}>Question</Button>
              <Button onClick={() => toast('Saved', ['Undo', () => toast('Taken back')])}>Toast</Button>
              <Copy text="copied" label="Copy" />
            </div>
          </div>
        </Card>
        <Card title="Fields">
          <div class="stack">
            <Input label="Name" value={text} put={setText} required help="As it is written on the label." />
            <Input
              label="Reorder point"
              value="-3"
              put={() => undefined}
              wrong="reorder_point must be at least 0"
              unit="EA"
            />
            <Select
              label="Storage class"
              value="ambient"
              put={() => undefined}
              options={[
                ['ambient', 'Ambient'],
                ['frozen', 'Frozen'],
              ]}
            />
            <Area label="Notes" value="" put={() => undefined} />
            <Check label="Has an expiry date" on={on} put={setOn} />
            <Input label="Read only" value="SO-2026-000475" put={() => undefined} readOnly />
          </div>
        </Card>
        <Card title="States">
          <div class="stack">
            <div class="row">
              {['draft', 'confirmed', 'active', 'on_hold', 'critical'].map((s) => (
                <Badge key={s} state={s} />
              ))}
            </div>
            <Meter value={42} label="42 %" />
            <Meter value={91} label="91 %" />
            <Meter value={112} label="112 %" />
            <Spark values={[3, 5, 4, 8, 7, 9]} />
            <Segments
              label="Colour"
              options={[
                ['a', 'Utilisation'],
                ['b', 'Risk'],
              ]}
              at="a"
              go={() => undefined}
            />
            <Tabs
              tabs={[
                ['one', 'Details'],
                ['two', 'History'],
              ]}
              at={tab}
              go={setTab}
            />
            <div>
              <kbd>Ctrl K</kbd>
            </div>
          </div>
        </Card>
        <Card title="Words">
          <div class="stack">
            <Note>Something to know.</Note>
            <Note kind="good">It worked.</Note>
            <Note kind="warn">Look at this.</Note>
            <Problem error={failure} retry={() => undefined} />
          </div>
        </Card>
        <Card title="Loading">
          <Skeleton lines={4} />
        </Card>
        <Card title="Empty">
          <Empty title="Nothing here yet" action={<Button kind="primary">Import a file</Button>}>
            Stock appears here as soon as it is received.
          </Empty>
        </Card>
      </div>
      {open === 'dialog' ? (
        <Dialog title="A dialog" close={() => setOpen('')} footer={<Button onClick={() => setOpen('')}>Done</Button>}>
          <p>It keeps the focus and closes with Escape.</p>
        </Dialog>
      ) : null}
      {open === 'ask' ? (
        <Ask
          danger
          title="Delete it?"
          text="This cannot be taken back."
          yes="Delete"
          close={() => setOpen('')}
          act={async () => Promise.reject(failure)}
        />
      ) : null}
    </main>
  );
}
