import { PassThrough } from 'node:stream';
import type { HostSummary } from '#libs/contracts/hosts';
import type { InstanceEvent } from '#libs/contracts/instance';
import { inventory } from '#libs/domain/inventory';
import { fakeClock } from '#libs/testing/fake-clock';
import { createTerminal, type Keyboard } from '../views/terminal';
import { topLines } from './top-view';

const clock = fakeClock();
const terminal = createTerminal(new PassThrough(), new PassThrough(), { LANG: 'C' });

function host(name: string, used: number, more: Partial<HostSummary> = {}): HostSummary {
  const resources = { VCPU: { inventory: inventory(8), used } };
  const base = { host: name, up: true, enabled: true, availabilityZone: '', instances: used, ioOps: 0, failures: 0 };
  return { ...base, resources, ...more } as HostSummary;
}

function event(state: InstanceEvent['state'], name: string, agoMs: number): InstanceEvent {
  const base = {
    instanceUuid: name,
    requestId: name,
    projectId: 'shop',
    host: 'h1',
    version: 1,
    attempts: [],
    fault: undefined,
  };
  return { ...base, state, name, atMs: clock.now() - agoMs };
}

const HOSTS = [host('h1', 2), host('h2', 8), host('h10', 4, { up: false })];

it('has the fullest hosts first, the newest builds below, and rates of the last seconds', () => {
  const events = [event('active', 'old', 60_000), event('active', 'new', 1_000), event('error', 'failed', 500)];
  const text = topLines(terminal, clock, { hosts: HOSTS, events, windowMs: 10_000 }, { height: 30, by: 'use' }).join(
    '\n',
  );
  expect(text).toMatch(
    /^hosts 3: 2 up, 1 down\ninstances 14 {3}0\.1 ACTIVE\/s, 0\.1 ERROR\/s\nVCPU {6}#+\.+ {2}58% 14 of 24\n/,
  );
  expect(text).toMatch(/\nh2 .*\nh10 .*\nh1 /);
  expect(text).toMatch(/ERROR +failed .*\n.*ACTIVE +new .*\n.*ACTIVE +old /);
});

it.each([
  ['name', ['h1', 'h2', 'h10']],
  ['instances', ['h2', 'h10', 'h1']],
] as const)('sorts by %s', (by, order) => {
  const lines = topLines(terminal, clock, { hosts: HOSTS, events: [], windowMs: 10_000 }, { height: 30, by });
  expect(lines.map((line) => /^h\d+(?= )/.exec(line)?.[0]).filter((name) => name !== undefined)).toEqual(order);
});

it('fits its screen, and says how many hosts it leaves out', () => {
  const hosts = Array.from({ length: 500 }, (_, n) => host(`h${n}`, n % 8));
  const events = Array.from({ length: 50 }, (_, n) => event('active', `web-${n}`, 100));
  const lines = topLines(terminal, clock, { hosts, events, windowMs: 10_000 }, { height: 24, by: 'use' });
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines.join('\n')).toMatch(/and 49\d more/);
});

it.each([60, 80, 100])('keeps a host in a line on a terminal of %i columns', (columns) => {
  const narrow = createTerminal(Object.assign(new PassThrough(), { isTTY: true, columns }), new PassThrough(), {});
  const failed = event('error', 'a-name', 0);
  const long = {
    ...failed,
    attempts: Array.from({ length: 9 }, () => ({ host: 'h1', outcome: 'failed', reason: 'no' })),
  };
  const moment = { hosts: HOSTS, events: [long as unknown as InstanceEvent], windowMs: 10_000 };
  const lines = topLines(narrow, clock, moment, { height: 30, by: 'name' });
  expect(lines.filter((line) => /^h\d+ +(up|down) .*%/.test(line)).length).toBe(HOSTS.length);
  expect(lines.at(-1)).toContain('a-name');
});

it('hears keys until it ends', () => {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  const modes: boolean[] = [];
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (is: boolean) => modes.push(is) });
  const { screen } = createTerminal(out, new PassThrough(), { TERM: 'xterm' }, keyboard as unknown as Keyboard);
  const heard: string[] = [];
  screen?.onKey((key) => heard.push(key));
  keyboard.emit('data', Buffer.from('q'));
  screen?.end();
  keyboard.emit('data', Buffer.from('x'));
  expect({ heard, modes }).toEqual({ heard: ['q'], modes: [true, false] });
});

it('draws on the other screen of the terminal, cut to its size, and gives it back', () => {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 10, rows: 2 });
  const { screen } = createTerminal(out, new PassThrough(), { TERM: 'xterm' });
  screen?.draw(['a line that is too long', 'second', 'third']);
  screen?.end();
  const drawn = String(out.read());
  expect(drawn).toBe('\x1b[?1049h\x1b[?25l\x1b[Ha line tha\x1b[K\r\nsecond\x1b[K\x1b[J\x1b[?25h\x1b[?1049l');
});
