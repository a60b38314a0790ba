// What supabase-js is told about the collections: every record is an object
// whose fields the catalog describes at run time.

export type Row = Record<string, unknown> & { id: string; version?: number };

interface AnyTable {
  Row: Row;
  Insert: Record<string, unknown>;
  Update: Record<string, unknown>;
  Relationships: [];
}

export interface Database {
  public: {
    Tables: Record<string, AnyTable>;
    Views: Record<string, never>;
    Functions: Record<string, never>;
  };
}
