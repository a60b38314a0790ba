import { defineConfig, type Plugin } from 'vite';
import { keyOf } from './src/lib/key';

// The tables of texts are written by the English text and built by its key, which is shorter.
const texts = new Map<string, string>();
const textsByKey: Plugin = {
  name: 'texts-by-key',
  enforce: 'pre',
  transform(code, id) {
    const name = /\/src\/texts\/.*export const (\w+)[^=]*= /s.exec(`${id} ${code}`)?.[1];
    if (!name) return undefined;
    const literal = code.slice(code.indexOf('= {') + 2).replace(/;\s*$/, '');
    const table = new Function(`return ${literal}`)() as Record<string, string>;
    for (const text of Object.keys(table)) {
      const other = texts.get(keyOf(text));
      if (other !== undefined && other !== text)
        this.error(`"${text}" and "${other}" have one key: word one of them differently`);
      texts.set(keyOf(text), text);
    }
    const built = Object.fromEntries(Object.entries(table).map(([text, said]) => [keyOf(text), said]));
    return { code: `export const ${name} = ${JSON.stringify(built)};`, map: null };
  },
};

// Names without hashes: the server serves the whole of dist below a prefix made
// from its bytes, so that a name never has to change. Relative addresses let it.
export default defineConfig({
  base: './',
  plugins: [textsByKey],
  resolve: { alias: ['realtime-js', 'storage-js'].map((part) => ({ find: `@supabase/${part}`, replacement: new URL('./src/lib/absent.ts', import.meta.url).pathname })) },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/[name].js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
        // What changes seldom apart from what every page needs; each page is a file of its own.
        codeSplitting: {
          groups: [
            { name: 'vendor', test: /node_modules\/(?!uplot)/ },
            { name: 'console', test: /\/src\/(main|app|frame|lib\/(?!records|live|floor|trip|plane|fields)|ui\/(basic|form|icon|overlay))/ },
          ],
        },
      },
    },
  },
  server: { proxy: Object.fromEntries(['/v1', '/rest', '/functions', '/auth', '/r', '/console/settings.json'].map((p) => [p, 'http://127.0.0.1:8080'])) },
});
