import { defineConfig } from 'vite';

// Names without hashes: the server serves the whole of dist below a prefix made
// from its bytes, so that a name never has to change. Relative addresses let it.
export default defineConfig({
  base: './',
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
