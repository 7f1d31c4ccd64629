import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';

/** Limit of the console's total download. */
const BUDGET_BYTES = 250_000;

it('sends browsers less than it may, gzipped', () => {
  const { outputFiles } = buildSync({
    entryPoints: ['services/console/web/main.tsx', 'services/console/web/main.css'],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: 'unused',
    write: false,
  });
  expect(outputFiles.map(({ path }) => path.split('.').at(-1))).toEqual(['js', 'css']);
  const bytes = outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0);
  expect(bytes).toBeLessThan(BUDGET_BYTES);
});
