// `npm run build` writes pyevm_agents/server/page/: fixed names, no inline script or style, the same
// bytes on every machine. `npm run dev` serves the sources, and passes requests on to a node.
import { defineConfig } from 'vite';

const node = process.env.PYEVM_AGENTS_NODE ?? 'http://127.0.0.1:8545';

export default defineConfig({
  base: '/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../pyevm_agents/server/page',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // The first with light-dark().
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: 'app.js',
        assetFileNames: 'app.[ext]',
        codeSplitting: false,
      },
    },
  },
  server: {
    proxy: {
      // The node refuses pages of other origins; the browser's origin here is that of Vite.
      '/rpc': { target: node, ws: true, changeOrigin: true, rewrite: () => '/', headers: { origin: node } },
    },
  },
});
