import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runLine as berth } from './testing/run-line';

const COMMANDS =
  `demo, trace replay, up, build, terminate, instance list, instance show, instance resize, instance migrate, instance live-migrate, instance confirm, instance revert, instance delete, instance adopt, instance destroy, explain, events,
  flavor create, flavor list, flavor show, flavor set, flavor unset, flavor delete,
  host list, host show, host disable, host enable, host trust, audit, provider list, provider show, provider tree, candidates, allocation show, usage,
  agent enrol, project credentials, dead-letters list, dead-letters requeue, config, scheduler, conductor, compute-agent, placement-api, console`.split(
    /,\s+/,
  );

describe('help', () => {
  it.each(COMMANDS)('of %s teaches with examples and exit codes', async (command) => {
    const { code, out } = await berth(`${command} --help`);
    expect(code).toBe(0);
    expect(out).toContain(`Usage: berth ${command}`);
    expect(out).toMatch(/Examples:\n {2}# .+\n {2}\$ /);
    expect(out).toMatch(/Exit codes:\n {4}0 {2}done/);
  });

  it('of berth names every command', async () => {
    const { code, out } = await berth('--help');
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(out).toContain(`\n  ${command.split(' ')[0]}`);
  });

  it('shows a setting as the flag and the variable that it is', async () => {
    const { out } = await berth('compute-agent --help');
    expect(out).toContain('--hosts <value>');
    expect(out.replace(/\s+/g, ' ')).toMatch(/\[1\.\.\d+\] \(default: 1 hosts?, env: BERTH_AGENT_HOSTS\)/);
  });
});

it.each([
  [['terminate', ''], '<instance> is empty'],
  [['host', 'drain', 'h1', ' '], '<host> is empty'],
  [['host', 'show', ''], '<host> is empty'],
  [['quota', 'unset', '--project', ''], '--project is empty'],
  [['instance', 'list', '--host='], '--host is empty'],
])('takes %j, as a shell writes a variable that is not set, for nothing', async (words, problem) => {
  const { code, err } = await berth(words);
  expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
});

describe('what is typed wrong', () => {
  it.each([
    ['biuld', "unknown command 'biuld' (Did you mean build?)"],
    ['build --vcpus 1', "unknown option '--vcpus' (Did you mean --vcpu?)"],
    ['build --vcpu 1 --count 2 --min-count 3', '--min-count is above --count'],
    ['build --vcpu many', "argument 'many' is invalid. It must be a whole number"],
    ['build --vcpu 1 --image-property a=b', "No host is asked for 'a'"],
    ['instance show web', 'BERTH_BUS_URL is memory:'],
    ['terminate', "missing required argument 'instance'"],
    ['instance list --state activ', "there is no state 'activ'; the states are SCHEDULING, "],
    ['build --zone east --bus-url amqp://127.0.0.1:1', 'the request asks for no resources'],
    ['demo --failure-rate 2', 'It must be a number from 0 to 1.'],
    ['trace replay none.csv', 'there is no file none.csv'],
    ['usage --since 2026-02-30', 'It must be a day such as 2026-11-01'],
    ['host list', 'BERTH_BUS_URL is memory:'],
    ['instance terminate 6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11', 'BERTH_BUS_URL is memory:'],
    ['aggregate unset east filter_tenant_id', 'BERTH_BUS_URL is memory:'],
    ['up', 'BERTH_BUS_URL is memory:'],
    ['scheduler', 'BERTH_BUS_URL is memory:'],
    ['conductor --store-url redis://127.0.0.1:1', 'BERTH_BUS_URL is memory:'],
    ['scheduler --http-port x', "BERTH_HTTP_PORT must be a whole number from 0 to 65535, not 'x'"],
  ])('berth %s ends with 2, a line that says so and a hint', async (line, problem) => {
    const { code, out, err } = await berth(line);
    expect(err).toContain(problem);
    expect(err).toMatch(/^berth: /);
    expect(err).toContain('\nhint: ');
    expect({ code, out }).toEqual({ code: 2, out: '' });
  });

  it('all problems of a configuration are named at once, unknown names with what was meant', async () => {
    const env = { BERTH_BUS_ULR: 'x', BERTH_STORE_URL: 'redis', BERTH_HTTP_PORT: 'y' };
    const { code, err } = await berth('scheduler', env);
    expect(code).toBe(2);
    expect(err).toContain('the configuration has 3 problems:');
    expect(err).toContain('BERTH_BUS_ULR is not a setting of Berth; did you mean BERTH_BUS_URL?');
    expect(err).toContain('BERTH_STORE_URL must be');
    expect(err).toContain("BERTH_HTTP_PORT must be a whole number from 0 to 65535, not 'y'");
  });

  it('a misspelt variable is refused by every command that reads settings', async () => {
    for (const line of ['host list', 'scheduler', 'config']) {
      const { code, err } = await berth(line, { BERTH_BUS_ULR: 'amqp://x' });
      expect({ line, code, isNamed: err.includes('BERTH_BUS_ULR') }).toEqual({ line, code: 2, isNamed: true });
    }
  });
});

it('ends with 3 when the broker is not there', async () => {
  const { code, err } = await berth('host list --bus-url amqp://127.0.0.1:1 --client-timeout-ms 300');
  expect(err).toMatch(/^berth: .*127\.0\.0\.1/);
  expect(code).toBe(3);
});

it('says at once that no broker listens', async () => {
  const startedMs = performance.now();
  const { code, err } = await berth('host list --bus-url amqp://127.0.0.1:1');
  expect({ code, err }).toMatchObject({
    code: 3,
    err: expect.stringMatching(/no RabbitMQ at 127\.0\.0\.1:1 \(.*BERTH_BUS_URL/),
  });
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});

it('says in a sentence that an address of a broker is malformed, to a person too', async () => {
  const { code, err } = await berth('instance list', { BERTH_BUS_URL: 'amqp://[bad' }, true);
  expect(err).toContain('bad_bus_url');
  expect(err).not.toContain('TypeError');
  expect(code).toBe(2);
});

it('names the store, and its setting, when that is away', async () => {
  const { code, err } = await berth('upgrade check --store-url redis://127.0.0.1:1 --store-timeout-ms 300');
  expect(err).toMatch(/^berth: no store at redis:\/\/127\.0\.0\.1:1: .*ECONNREFUSED 127\.0\.0\.1:1/);
  expect(err).toContain('is BERTH_STORE_URL right?');
  expect(code).toBe(255);
});

it.each(['--version', 'version'])('prints its version for %s', async (line) => {
  expect(await berth(line)).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

it.each([
  ['help', '--help'],
  ['help host drain', 'host drain --help'],
])('%s is %s', async (line, flags) => {
  expect(await berth(line)).toEqual(await berth(flags));
});

describe('config', () => {
  it('lists every setting once, with its default, range, flag and help', async () => {
    const { code, out } = await berth('config --json');
    const settings = JSON.parse(out) as { name: string; range: string; help: string; flag: string }[];
    expect(code).toBe(0);
    expect(new Set(settings.map(({ name }) => name)).size).toBe(settings.length);
    expect(settings.filter(({ range, help, flag }) => !range || !help.endsWith('.') || !flag.startsWith('--'))).toEqual(
      [],
    );
  });

  it.each([
    ['config BERTH_BUS_URL', ['BERTH_BUS_URL']],
    ['config --set bus-url', []],
    ['config http-port bus-url', ['BERTH_HTTP_PORT', 'BERTH_BUS_URL']],
  ])('%s shows these alone', async (line, names) => {
    const { code, out } = await berth(`${line} -o name`);
    expect({ code, names: out.split('\n').filter(Boolean) }).toEqual({ code: 0, names });
  });

  it('says which setting a misspelt one may be', async () => {
    const { code, err } = await berth('config bus-ulr');
    expect(err).toContain("there is no setting 'bus-ulr', did you mean BERTH_BUS_URL?");
    expect(code).toBe(4);
  });

  it('shows what is set, hides secrets, and ends with 2 when a value is wrong', async () => {
    const env = { BERTH_BUS_URL: 'amqp://berth:hunter2@rabbit:5672', BERTH_HTTP_PORT: 'x' };
    const { code, out } = await berth('config --set', env);
    expect(code).toBe(2);
    expect(out).toContain('amqp://berth:***@rabbit:5672');
    expect(out).toContain("must be a whole number from 0 to 65535, not 'x'");
    expect(out).not.toContain('hunter2');
    expect(out).not.toContain('BERTH_LOG_LEVEL');
  });
});

describe('demo', () => {
  it('places builds, retries failed ones on alternates, and leaves nothing over-allocated or leaked', async () => {
    const { code, out, err } = await berth('demo --json --hosts 6 --builds 60 --failure-rate 0.3');
    const figures = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Record<string, number>;
    expect(Object.keys(figures)).toEqual(
      ['builds', 'active', 'error', 'retried', 'seconds', 'over_allocated', 'leaked'], //
    );
    expect(figures).toMatchObject({ builds: 60, over_allocated: 0, leaked: 0 });
    expect((figures['active'] ?? 0) + (figures['error'] ?? 0)).toBe(60);
    expect(figures['retried']).toBeGreaterThan(0);
    expect(err).toContain('60/60');
    expect(code).toBe(0);
  });

  it('ends with a table', async () => {
    const { code, out } = await berth('demo --hosts 1 --schedulers 1 --builds 10 --failure-rate 0');
    expect(out).toMatch(/placed +10 +on 1 host,/);
    expect(out).toContain('1 scheduler, 2 conductors and 1 host,');
    expect(out).toContain('over-allocated 0, leaked 0');
    expect(code).toBe(0);
  });
});

describe('trace replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-replay-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('places VMs and lets them go in the order of the trace', async () => {
    const file = join(folder, 'vms.csv');
    // b fits only once a has left; c never fits.
    const rows = ['a,t,8,8,0,-1,2', 'b,t,8,8,0,3,4', 'c,t,9,1,0,5,6', 'd,t,4,4,0,7,inf'];
    writeFileSync(file, ['vmId,tenantId,cores,ram,vmTypeId,starttime,endtime', ...rows, ''].join('\n'));
    const { code, out } = await berth(`trace replay ${file} --hosts 1 --shape 8/8 --in-flight 1 --json`);
    expect(JSON.parse(out)).toMatchObject({
      placed: 3,
      departed: 2,
      failed: { no_valid_host: 1 },
      hosts: 1,
      utilisation: { peak: { cores: 1, ram: 1 } },
    });
    expect(code).toBe(0);
  });
});
