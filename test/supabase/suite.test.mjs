// One process for all parts, so that they share signed-in clients: signing in
// is limited to ten in ten seconds for one address.
import './auth.mjs';
import './collections.mjs';
import './isolation.mjs';
import './functions.mjs';
import './imports.mjs';
