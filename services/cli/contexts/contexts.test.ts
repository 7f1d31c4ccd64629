import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runLine } from '../testing/run-line';
import { takeGlobalFlags } from './global-flags';

const TWO = `# where I work
current-context: lab
contexts:
  lab:
    bus-url: amqp://lab:5672   # the small one
    client-timeout-ms: 300
  prod:
    BERTH_BUS_URL: amqps://prod:5671
`;

let home: string;
let file: string;
let env: Record<string, string>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'berth-contexts-'));
  mkdirSync(join(home, '.config/berth'), { recursive: true });
  file = join(home, '.config/berth/berth.yaml');
  env = { HOME: home };
  writeFileSync(file, TWO);
});
afterEach(() => rmSync(home, { recursive: true }));

/** The settings that `berth config` lists as set. */
async function settings(line = 'config --set --json', more: Readonly<Record<string, string>> = {}) {
  const { out, err } = await runLine(line, { ...env, ...more });
  expect(err).toBe('');
  const set = JSON.parse(out) as { name: string; value: string }[];
  return Object.fromEntries(set.map(({ name, value }) => [name, value]));
}

it('sets what the current context has, below the environment and flags', async () => {
  expect(await settings()).toMatchObject({ BERTH_BUS_URL: 'amqp://lab:5672', BERTH_CLIENT_TIMEOUT_MS: '300' });
  expect(await settings(undefined, { BERTH_BUS_URL: 'amqp://mine' })).toMatchObject({ BERTH_BUS_URL: 'amqp://mine' });
  const { err } = await runLine('host list --bus-url amqp://127.0.0.1:1', env);
  expect(err).toContain('no RabbitMQ at 127.0.0.1:1');
});

it.each([
  ['--context prod config --set --json', {}],
  ['config --set --json --context=prod', {}],
  ['config --set --json', { BERTH_CONTEXT: 'prod' }],
])('takes another context once: berth %s %j', async (line, more) => {
  expect(await settings(line, more)).toMatchObject({ BERTH_BUS_URL: 'amqps://prod:5671', BERTH_CONTEXT: 'prod' });
});

it('reads the file that is named, and where XDG has such files', async () => {
  const other = join(home, 'other.yaml');
  writeFileSync(other, 'current-context: a\ncontexts: { a: { bus-url: "amqp://other" } }\n');
  expect(await settings(`--config ${other} config --set --json`)).toMatchObject({ BERTH_BUS_URL: 'amqp://other' });
  const xdg = { XDG_CONFIG_HOME: join(home, '.config'), HOME: '/nowhere' };
  expect(await settings(undefined, xdg)).toMatchObject({ BERTH_BUS_URL: 'amqp://lab:5672' });
});

it('lists contexts, and makes another the current one without touching the rest of the file', async () => {
  expect((await runLine('context list', env)).out).toMatch(/\* {2}lab .*BERTH_BUS_URL.*\n {3}prod /);
  expect(await runLine('context use prod', env)).toMatchObject({ code: 0, out: 'commands use prod now\n' });
  expect(readFileSync(file, 'utf8')).toBe(
    TWO.replace('current-context: lab', 'current-context: prod').replace('   # the', ' # the'),
  );
  expect(JSON.parse((await runLine('context list --json', env)).out)).toEqual([
    { name: 'lab', current: false },
    { name: 'prod', current: true },
  ]);
});

it.each([
  ['--context none host list', TWO, "there is no context 'none'"],
  ['--context', TWO, '--context needs a value'],
  ['host list', 'contexts: [a, b]', 'contexts must be a map'],
  ['host list', 'contexts: {a', "can't be read"],
  ['host list', 'current_context: a', "has 'current_context'"],
  ['host list', 'settings: { context: a }', 'chooses files'],
  ['host list', 'current-context: a\ncontexts: { a: { bus-ulr: x } }', 'BERTH_BUS_ULR is not a setting'],
  ['host list', 'current-context: a\ncontexts: { a: { bus-url: [x] } }', 'bus-url must be one value'],
  ['context use none', TWO, "there is no context 'none'"],
])('says what is wrong: berth %s', async (line, text, problem) => {
  writeFileSync(file, text);
  expect(await runLine(line, env)).toMatchObject({ code: 2, err: expect.stringContaining(problem) });
});

it('refuses a named file that is not there, and needs none', async () => {
  expect(await runLine(`--config ${home}/none host list`, env)).toMatchObject({ code: 2 });
  rmSync(file);
  expect((await runLine('context list', env)).out).toBe('no contexts\n');
});

describe('settings in several places', () => {
  beforeEach(() => {
    mkdirSync(join(home, '.config/berth/berth.d'));
    writeFileSync(file, `settings: { log-level: warn, client-timeout-ms: 100, BERTH_CELL: one }\n${TWO}`);
  });
  const fragment = (name: string, text: string) => writeFileSync(join(home, '.config/berth/berth.d', name), text);
  /** Where each value that is set is from, and what it is. */
  const origins = async (more: Readonly<Record<string, string>> = {}) => {
    const { out, err } = await runLine('config --set --origin --json', { ...env, ...more });
    expect(err).toBe('');
    const set = JSON.parse(out) as { name: string; value: string; origin: string }[];
    return Object.fromEntries(set.map(({ name, value, origin }) => [name, `${value} ${origin.replace(home, '~')}`]));
  };

  it('takes berth.yaml, then berth.d by name, then the context, then the environment, and says which', async () => {
    fragment('20-late.yaml', 'settings: { log-level: error }');
    fragment('10-early.yaml', 'settings: { log-level: debug, cell: two }');
    fragment('notes.txt', 'no settings');
    const folder = '~/.config/berth';
    expect(await origins({ BERTH_CLIENT_TIMEOUT_MS: '' })).toMatchObject({
      BERTH_LOG_LEVEL: `error ${folder}/berth.d/20-late.yaml`,
      BERTH_CELL: `two ${folder}/berth.d/10-early.yaml`,
      BERTH_BUS_URL: `amqp://lab:5672 context lab of ${folder}/berth.yaml`,
    });
    const more = { BERTH_LOG_LEVEL: 'info', BERTH_CONTEXT: 'prod' };
    expect(await origins(more)).toMatchObject({
      BERTH_LOG_LEVEL: 'info environment',
      BERTH_CLIENT_TIMEOUT_MS: `100 ${folder}/berth.yaml`,
    });
  });

  it('needs no berth.yaml beside berth.d', async () => {
    rmSync(file);
    fragment('a.yaml', 'settings: { log-level: error }');
    expect(await origins()).toEqual({ BERTH_LOG_LEVEL: 'error ~/.config/berth/berth.d/a.yaml' });
    expect((await runLine('config log-level --origin', env)).out).toMatch(/BERTH_LOG_LEVEL\s+error\s+.*a\.yaml/);
    expect((await runLine('config cell --origin', env)).out).toMatch(/BERTH_CELL\s+cell1\s+default/);
  });

  it.each([
    ['contexts: {}', "has 'contexts': files of berth.d have settings only"],
    ['settings: [a]', 'settings must be a map'],
    ['settings: { bus-ulr: x }', 'BERTH_BUS_ULR is not a setting'],
    ['settings: {', "can't be read"],
  ])('says what is wrong in a file of berth.d: %s', async (text, problem) => {
    fragment('a.yaml', text);
    expect(await runLine('host list', env)).toMatchObject({ code: 2, err: expect.stringContaining(problem) });
  });
});

it('leaves alone what comes after --', () => {
  expect(takeGlobalFlags(['__complete', '--', '--context', 'a'], {})).toEqual({
    args: ['__complete', '--', '--context', 'a'],
    env: {},
  });
});
