import { PassThrough } from 'node:stream';
import type { InstanceEvent } from '#libs/contracts/instance';
import { BerthError } from '#libs/domain/errors';
import { createTerminal } from '../../views/terminal';
import { ended, requested, showOutcome } from './show-outcome';

function anEvent(name: string, fault?: string): InstanceEvent {
  return {
    instanceUuid: `uuid-of-${name}`,
    name,
    host: fault === undefined ? 'host-1' : '',
    state: fault === undefined ? 'active' : 'error',
    attempts: [],
    fault: fault === undefined ? undefined : new BerthError('resource_exhausted', 'no_valid_host', fault),
  } as unknown as InstanceEvent;
}

function shown(events: readonly InstanceEvent[]): string {
  const out = new PassThrough();
  showOutcome(createTerminal(out, new PassThrough(), { NO_COLOR: '1' }), events);
  return String(out.read());
}

it('says once what thirty have in common', () => {
  const text = shown(Array.from({ length: 30 }, (_, i) => anEvent(`web-${i}`, 'capacity refused 20 of 20')));
  expect(text.match(/capacity refused/g)).toHaveLength(1);
  expect(text.match(/see 1 below/g)).toHaveLength(30);
  expect(text).toContain('\n1: 30 of 30: no_valid_host: capacity refused 20 of 20\n');
});

it('says what each has of its own beside it, and nothing of what went well', () => {
  const lines = shown([anEvent('a', 'one'), anEvent('b', 'two'), anEvent('c'), anEvent('d')])
    .trimEnd()
    .split('\n');
  expect(lines).toHaveLength(5);
  expect(lines[1]).toMatch(/^uuid-of-a .*no_valid_host: one$/);
  expect(lines[2]).toMatch(/^uuid-of-b .*no_valid_host: two$/);
  expect(lines[3]).toMatch(/^uuid-of-c .*host-1$/);
});

it('is one object for each instance as JSON, with and without waiting', () => {
  const asked = requested({ requestId: 'request-1', instanceUuids: ['uuid-of-a', 'uuid-of-b'] }).plain;
  const done = ended([anEvent('a'), anEvent('b')]).plain;
  const uuidsOf = (plain: unknown) => (plain as InstanceEvent[]).map(({ instanceUuid }) => instanceUuid);
  expect(uuidsOf(asked)).toEqual(uuidsOf(done));
});
