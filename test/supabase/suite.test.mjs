// One process for all parts, so that they share signed-in clients: signing in
// is limited to ten in ten seconds for one address. The README's examples come
// first and alone, because they sign a user out everywhere; the others stand so
// that the limits are waited for seldom.
await import('./readme.mjs');
await import('./types.mjs');
await import('./sample.mjs');
await import('./auth.mjs');
await import('./functions.mjs');
await import('./absent.mjs');
await import('./accounts.mjs');
await import('./collections.mjs');
await import('./isolation.mjs');
await import('./keys.mjs');
await import('./imports.mjs');
