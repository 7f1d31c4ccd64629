import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Composition, startComposition } from './composition';

/* The program in proto/README.md that has no client library, as a tenant of the composition. */

jest.setTimeout(90_000);

const ROOT = join(__dirname, '../../..');

let composition: Composition;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-examples-'));
  composition = await startComposition();
  await Promise.all(['scheduler', 'conductor', 'compute-agent-1'].map((name) => composition.run(name)));
});
afterAll(async () => {
  await composition.stop();
  rmSync(folder, { recursive: true });
});

it('builds an instance from Node and ends it', () => {
  const [, program = ''] = /^```js\n([^]*?)^```$/m.exec(readFileSync(join(ROOT, 'proto/README.md'), 'utf8')) ?? [];
  const file = join(folder, 'build.cjs');
  writeFileSync(file, program);
  const url = composition.brokerUrl('project.demo', 'demo-for-trying');
  const env = { NODE_PATH: join(ROOT, 'node_modules') };
  const said = execFileSync(process.execPath, [file, url, join(ROOT, 'proto')], { env, timeout: 60_000 }).toString();
  const states = said.split('\n').flatMap((line) => line.split(' ')[0] || []);
  expect(states).toEqual(expect.arrayContaining(['SCHEDULING', 'ACTIVE', 'DELETING', 'DELETED']));
  expect(said).toContain('ACTIVE host-1');
});
