import type { Catalog, Collection, Field, Permissions } from '../lib/catalog';
import type { Row } from '../database';

// A VerbGiven is what the dialog of a verb is about: a record, and what follows when the verb was said or the dialog closed.
export interface VerbGiven {
  c: Collection;
  r: Row;
  done: () => void;
  close: () => void;
}

// A FieldGiven is what an editor of one field of a form gets: its text, as the form holds it, and what is wrong with it.
export interface FieldGiven {
  f: Field;
  text: string;
  put: (v: string) => void;
  wrong?: string;
}

// IncidentGiven is what a part of the page of an incident gets: the incident, and who reads it.
export interface IncidentGiven {
  c: Collection;
  r: Row;
  p: Permissions;
  catalog: Catalog;
  done: () => void;
}
