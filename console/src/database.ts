// What supabase-js is told about the collections: the server's own types, and a
// loose form for pages that are made from the catalog at run time. The types are
// written by make console (holdfast gen types ts) and are no part of what is built.
import type { SupabaseClient } from '@supabase/supabase-js';
import type { Database, EdgeFunctions } from './database.gen';

export type { Database };

// Row is a record of any collection.
export type Row = Record<string, unknown> & { id: string; version?: number };

export type Verb = keyof Database['public']['Functions'];
export type VerbArgs<V extends Verb> = Database['public']['Functions'][V]['Args'];
export type EdgeFunction = keyof EdgeFunctions;
export type Answer<N extends EdgeFunction> = EdgeFunctions[N]['Returns'];

// AnyRecords is the client for a collection whose name is not known before.
export type AnyRecords = SupabaseClient<{
  public: {
    Tables: Record<
      string,
      { Row: Row; Insert: Record<string, unknown>; Update: Record<string, unknown>; Relationships: [] }
    >;
    Views: Record<string, never>;
    Functions: Record<string, never>;
  };
}>;
