import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBinary, findGo, GO_LIBRARIES } from '#libs/testing/servers/find-binary';
import { type Composition, startComposition } from './composition';

/* The programs in proto/README.md that have no client library, as a tenant of the composition. */

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

/** Writes the page's program of this name to a file. */
function programIn(language: string, name: string): string {
  const page = readFileSync(join(ROOT, 'proto/README.md'), 'utf8');
  const [, program = ''] = new RegExp(`^\`\`\`${language}\\n(// ${name}:[^]*?)^\`\`\`$`, 'm').exec(page) ?? [];
  const file = join(folder, name);
  writeFileSync(file, program);
  return file;
}

/** Output of a program that builds an instance and terminates it. */
const WHOLE_LIFE = /^SCHEDULING[^]*^ACTIVE host-1[^]*^DELETING[^]*^DELETED/m;

it('builds an instance from Node and ends it', () => {
  const file = programIn('js', 'build.cjs');
  const url = composition.brokerUrl('project.demo', 'demo-for-trying');
  const env = { NODE_PATH: join(ROOT, 'node_modules') };
  const said = execFileSync(process.execPath, [file, url, join(ROOT, 'proto')], { env, timeout: 60_000 });
  expect(String(said)).toMatch(WHOLE_LIFE);
});

it('calls from Node, and is answered or refused', () => {
  const url = composition.brokerUrl('project.demo', 'demo-for-trying');
  const env = { NODE_PATH: join(ROOT, 'node_modules') };
  const args = [programIn('js', 'list.cjs'), url, join(ROOT, 'proto')];
  const said = execFileSync(process.execPath, args, { env, timeout: 60_000 });
  expect(String(said)).toMatch(/^([0-9a-f-]{36} host-1\n)*refused: services_only\n$/);
});

it('builds an instance from Go and ends it', () => {
  const go = findGo({
    'github.com/rabbitmq/amqp091-go': 'golang-github-rabbitmq-amqp091-go-dev',
    'google.golang.org/protobuf': 'golang-google-protobuf-dev',
  });
  const protoc = findBinary({ name: 'protoc', folders: ['/usr/bin'], debianPackage: 'protobuf-compiler' });
  findBinary({ name: 'protoc-gen-go', folders: ['/usr/bin'], debianPackage: 'protoc-gen-go' });
  const sources = join(folder, 'go/src');
  mkdirSync(sources, { recursive: true });
  const schemas = readdirSync(join(ROOT, 'proto'), { recursive: true, encoding: 'utf8' });
  const files = schemas.filter((name) => /^berth.*\.proto$/.test(name));
  execFileSync(protoc, [`--proto_path=${join(ROOT, 'proto')}`, `--go_out=${sources}`, ...files]);
  const env = {
    PATH: '/usr/bin:/bin',
    GO111MODULE: 'off',
    GOPATH: `${join(folder, 'go')}:${GO_LIBRARIES}`,
    GOCACHE: join(folder, 'cache'),
  };
  const url = composition.brokerUrl('project.demo', 'demo-for-trying');
  const said = execFileSync(go, ['run', programIn('go', 'build.go'), url], { env, timeout: 240_000 });
  expect(String(said)).toMatch(WHOLE_LIFE);
});
