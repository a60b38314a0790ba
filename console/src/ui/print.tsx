import { nameOf, type Collection } from '../lib/catalog';
import { download } from '../lib/client';
import { _, language } from '../lib/i18n';
import type { Row } from '../database';
import { Button } from './basic';
import { Icon } from './icon';
import { fail } from './overlay';

// A paper is what is printed of a record: what its button says, and where it is.
interface Paper {
  says: string;
  path: string;
  ending?: string;
  zpl?: string;
}

// labelled are the collections whose records have labels.
export const labelled = ['packages', 'zones', 'items', 'lots'];

// sheetOf asks for a document of safety in the reader's language.
const sheetOf = (path: string) => `${path}${path.includes('?') ? '&' : '?'}language=${language.get()}`;

export const certificateSheet = (id: string) => `/v1/training-assignments/${id}/certificate.pdf`;

export const registerSheet = (id: string) => `/v1/risk-register-versions/${id}/risk-register.pdf`;

export const inspectionSheet = (id: string) => `/v1/checklist-runs/${id}/inspection.pdf`;

// paperOf is the label or paper of a record, undefined where it has none: a package has one once it is closed.
function paperOf(c: Collection, r: Row): Paper | undefined {
  if (c.name === 'shipments')
    return r['direction'] === 'outbound'
      ? { says: _('Delivery note'), path: `/v1/shipments/${r.id}/delivery-note.pdf` }
      : undefined;
  if (c.name === 'incidents') return { says: _('PDF'), path: sheetOf(`/v1/incidents/${r.id}/incident.pdf`) };
  if (c.name === 'checklist_runs') return { says: _('PDF'), path: sheetOf(inspectionSheet(r.id)) };
  if (c.name === 'risk_register_versions') return { says: _('PDF'), path: sheetOf(registerSheet(r.id)) };
  if (c.name === 'training_assignments')
    return r['status'] === 'completed' ? { says: _('Certificate'), path: sheetOf(certificateSheet(r.id)) } : undefined;
  if (c.name === 'osha_cases') return { says: _('Form 301'), path: `/v1/osha/301.pdf?case_id=${r.id}` };
  if (c.name === 'report_links') return { says: _('QR code'), path: `/v1/report-links/${r.id}/qr.png`, ending: 'png' };
  if (c.name === 'pick_lists') return { says: _('Print'), path: `/v1/pick-lists/${r.id}/pick-list.pdf` };
  if (!labelled.includes(c.name) || (c.name === 'packages' && r['status'] !== 'closed')) return undefined;
  const path = `/v1/labels/${c.name}?ids=${r.id}`;
  return { says: _('Print label'), path, zpl: `${path}&format=zpl` };
}

const fileOf = (name: string, ending: string) => `${name.replace(/[^\w.-]+/g, '-')}.${ending}`;

const save = (c: Collection, r: Row, path: string, ending: string) =>
  void download(path, fileOf(nameOf(c, r), ending)).catch(fail);

// SheetButton saves a document of safety, on a page that is no record's.
export function SheetButton({ path, name }: { path: string; name: string }) {
  return (
    <Button icon="file" onClick={() => void download(sheetOf(path), fileOf(name, 'pdf')).catch(fail)}>
      {_('PDF')}
    </Button>
  );
}

export function PrintButton({ c, r }: { c: Collection; r: Row }) {
  const p = paperOf(c, r);
  return p ? (
    <Button icon="file" onClick={() => save(c, r, p.path, p.ending ?? 'pdf')}>
      {p.says}
    </Button>
  ) : null;
}

// PrintItem is the line of a menu for a label printer.
export function PrintItem({ c, r, close }: { c: Collection; r: Row; close: () => void }) {
  const zpl = paperOf(c, r)?.zpl;
  return zpl ? (
    <button
      type="button"
      onClick={() => {
        close();
        save(c, r, zpl, 'zpl');
      }}
    >
      <Icon name="file" size={16} />
      {_('Label in ZPL')}
    </button>
  ) : null;
}
