import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { environment } from '#libs/runtime/system';
import { findBinary } from '#libs/testing/servers/find-binary';
import { CATALOGUE } from '../../../services/cli/catalogue';

/* The package of `npm pack` in an empty folder: installed, run, and under systemd's units. */

const ROOT = join(__dirname, '../../..');
const UNITS = join(ROOT, 'deploy/systemd');
/** Limit of the unpacked size; a larger package contains something superfluous. */
const MAX_UNPACKED_BYTES = 14_000_000;
/** Limit of `systemd-analyze security`, in tenths: 0 is isolated, 100 is open. */
const MAX_EXPOSURE = 25;
const DEMO = ['demo', '--hosts', '4', '--builds', '20', '--failure-rate', '0'];
const PLACED = /placed +20[^]*over-allocated 0, leaked 0/;

interface Packed {
  readonly filename: string;
  readonly shasum: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;
let installed: string;
const others = Object.entries(environment()).filter(([name]) => !name.startsWith('BERTH_'));
const env = { ...Object.fromEntries(others), NO_COLOR: '1' };
const inFolder = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const berth = () => join(folder, 'node_modules/.bin/berth');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-package-'));
  // Packs the built files: `npm test` builds first.
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  [packed] = JSON.parse(execFileSync('npm', args, { cwd: ROOT, env, encoding: 'utf8' })) as [Packed];
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', join(folder, packed.filename)];
  installed = spawnSync('npm', install, { cwd: folder, env, encoding: 'utf8' }).stderr;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('has what runs, its contract and its licence, and no tests', () => {
  const { size, unpackedSize, shasum, files } = packed;
  process.stdout.write(`package: ${size} bytes, ${unpackedSize} unpacked, shasum ${shasum}\n`);
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'proto/README.md']));
  expect(paths.filter((path) => /\.test\.|\/testing\/|^test\//.test(path))).toEqual([]);
  expect(unpackedSize).toBeLessThan(MAX_UNPACKED_BYTES);
});

it('installs without a word on scripts, and without what only tracing needs', () => {
  expect(installed).not.toContain('install-scripts');
  expect(existsSync(join(folder, 'node_modules/@opentelemetry/sdk-trace-node'))).toBe(false);
  const traced = spawnSync(berth(), ['host', 'list', '--bus-url', 'amqp://127.0.0.1:1', '--traces', 'otlp'], { env });
  expect(String(traced.stderr)).toContain('needs OpenTelemetry, which is not installed: npm install @opentelemetry/');
  expect(traced.status).toBe(4);
});

it('places the builds of its demo, without a build and without a server', () => {
  expect(inFolder(berth(), ...DEMO)).toMatch(PLACED);
});

it('does so on the oldest Node that it says it is for', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
  const oldest = engines.node.replace('>=', '');
  const onOldest = (...args: string[]) => inFolder('npx', '--yes', `--package=node@${oldest}`, '--', 'node', ...args);
  expect(onOldest('--version')).toContain(`v${oldest}`);
  expect(onOldest(berth(), ...DEMO)).toMatch(PLACED);
});

it('says on a Node that is too old that it needs a newer one, and ends', () => {
  const version = '12.22.12';
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
  const oldest = engines.node.replace('>=', '');
  const args = ['--yes', `--package=node@${version}`, '--', 'node', berth(), '--version'];
  const { stderr, status } = spawnSync('npx', args, { cwd: folder, env, encoding: 'utf8' });
  expect(stderr).toContain(`berth: Berth needs Node ${oldest} or newer; this is Node ${version}\n`);
  expect(status).toBe(2);
});

it('gives programs its client, with types: the sample of its README compiles', () => {
  const client = `const { connect } = require('berth/client'); process.stdout.write(typeof connect)`;
  expect(inFolder(process.execPath, '-e', client)).toBe('function');
  const [, sample = ''] = /```ts\n([^]*?)```/.exec(readFileSync(join(ROOT, 'libs/client/README.md'), 'utf8')) ?? [];
  expect(sample).toContain("from 'berth/client'");
  writeFileSync(join(folder, 'sample.mts'), sample);
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  const strictly = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', ...types, 'sample.mts'];
  expect(spawnSync(join(ROOT, 'node_modules/.bin/tsc'), strictly, { cwd: folder, encoding: 'utf8' }).stdout).toBe('');
});

it('has systemd units that systemd accepts, each in a sandbox', () => {
  const analyze = findBinary({ name: 'systemd-analyze', folders: ['/usr/bin'], debianPackage: 'systemd' });
  const units = join(folder, 'units');
  mkdirSync(units);
  const names = readdirSync(UNITS).filter((name) => name.endsWith('.service'));
  const files = names.map((name) => {
    const file = join(units, name.replace('@.', '@1.'));
    copyFileSync(join(UNITS, name), file);
    writeFileSync(file, readFileSync(file, 'utf8').replace('/usr/bin/berth', berth()));
    return file;
  });
  inFolder(analyze, 'verify', '--man=no', ...files);
  const told = inFolder(analyze, 'security', '--offline=true', `--threshold=${MAX_EXPOSURE}`, ...files);
  for (const file of files) expect(told).toContain(`Overall exposure level for ${basename(file)}`);
});

it('has a unit for each process, by the command that it has', () => {
  const commands = readdirSync(UNITS).flatMap((name) => {
    const [, command] = /^ExecStart=\/usr\/bin\/berth (\S+)$/m.exec(readFileSync(join(UNITS, name), 'utf8')) ?? [];
    return command ?? [];
  });
  const services = CATALOGUE.find(({ heading }) => heading === 'Run its services:')?.commands.map(({ name }) => name);
  expect(commands.sort()).toEqual(services?.sort());
  for (const command of commands) expect(inFolder(berth(), command, '--help')).toContain(`Usage: berth ${command}`);
});
