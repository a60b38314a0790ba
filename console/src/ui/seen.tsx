import type { Permissions } from '../lib/catalog';
import { _ } from '../lib/i18n';

// readsWhole says that a role reads all rows of a collection, and the fields that a figure is made of.
export function readsWhole(p: Permissions, collection: string, fields: string[] = []): boolean {
  const read = p.collections[collection]?.read;
  return read?.rows === 'all' && fields.every((n) => !read.fields || read.fields.includes(n));
}

// OfSeen says of a figure that the console makes itself that it is of what the reader may see, where that is not all:
// of some rows alone, or without a field that it is made of.
export function OfSeen({ p, of, fields }: { p: Permissions; of: string; fields?: string[] }) {
  return readsWhole(p, of, fields) ? null : <span class="small muted nobreak">{_('of what you may see')}</span>;
}
