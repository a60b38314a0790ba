// One process for all parts, so that they share signed-in clients: signing in
// is limited to ten in ten seconds for one address. The README's examples come
// first and alone, because they sign a user out everywhere.
await import('./readme.mjs');
await import('./auth.mjs');
await import('./collections.mjs');
await import('./isolation.mjs');
await import('./functions.mjs');
await import('./imports.mjs');
