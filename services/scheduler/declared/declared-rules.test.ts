import type { RequestSpec } from '#libs/domain/request-spec';
import { readConfig } from '#libs/runtime/config';
import { schedulerOptions } from '../options';
import { aWorld, type World } from '../testing/world';

let world: World;
beforeEach(async () => {
  world = aWorld();
  for (const host of ['cool', 'hot', 'unknown']) await world.report(host);
  await world.aggregate('one', { inlet_celsius: '21', rack: 'r1' }, 'cool');
  await world.aggregate('two', { inlet_celsius: '38', rack: 'r2' }, 'hot');
});
afterEach(() => world.close());

async function explain(env: Record<string, string>, spec: Partial<RequestSpec> = {}) {
  const { declaredFilters, declaredWeighers } = readConfig(schedulerOptions, env);
  const scheduler = await world.scheduler({ declaredFilters, declaredWeighers });
  const answer = scheduler.explain({ resources: { VCPU: 1 }, ...spec });
  const whyNot = (host: string) => scheduler.explain({ resources: { VCPU: 1 }, ...spec }, host).hosts[0]?.refusals;
  return { answer, passed: answer.hosts.map(({ host }) => host).sort(), whyNot };
}

describe('a declared filter', () => {
  const BERTH_SCHEDULER_DECLARED_FILTERS = 'temperature: double(host.metadata.inlet_celsius[0]) < 30';

  it('lets hosts pass where it is true, and is named where it refuses', async () => {
    const { answer, passed, whyNot } = await explain({ BERTH_SCHEDULER_DECLARED_FILTERS });
    expect(passed).toEqual(['cool']);
    expect(answer.diagnosis.summary).toBe('1 of 3 hosts fits: 2 do not meet temperature (rule_temperature)');
    expect(answer.diagnosis.filters).toEqual([{ filter: 'temperature', refused: 2, reasons: { rule_temperature: 2 } }]);
    expect(whyNot('hot')).toEqual(['temperature: double(host.metadata.inlet_celsius[0]) < 30 is false']);
    expect(whyNot('unknown')).toEqual([
      'temperature: double(host.metadata.inlet_celsius[0]) < 30 is unknown (No such key: inlet_celsius)',
    ]);
  });

  it('compares what a request asks for with the host, in numbers', async () => {
    const env = {
      BERTH_SCHEDULER_DECLARED_FILTERS:
        'half: load.free.VCPU - request.resources.VCPU >= host.capacity.VCPU / 2; busy: load.instances == 0',
    };
    const { whyNot } = await explain(env, { resources: { VCPU: 7 } });
    expect(whyNot('cool')?.map((one) => one.split(':')[0])).toEqual(['half']);
    expect((await explain(env)).passed).toEqual(['cool', 'hot', 'unknown']);
  });

  it('reads extra specs of its scope, and one that no rule reads is refused on every host', async () => {
    const env = {
      BERTH_SCHEDULER_DECLARED_FILTERS:
        'near: !("rule:rack" in request.extra_specs) || request.extra_specs["rule:rack"] in host.metadata.rack',
    };
    expect((await explain(env, { extraSpecs: { 'rule:rack': 'r2' } })).passed).toEqual(['hot']);
    expect((await explain(env)).passed).toEqual(['cool', 'hot', 'unknown']);
    const { passed, answer } = await explain(env, { extraSpecs: { 'rule:rak': 'r2' } });
    expect(passed).toEqual([]);
    expect(answer.diagnosis.summary).toContain('3 have no declared rule that reads rule:rak (rule_unread)');
  });
});

describe('a declared weigher', () => {
  it('adds its share to the weight, within 0 and 1, and nothing where it has no value', async () => {
    const env = {
      BERTH_SCHEDULER_DECLARED_WEIGHERS: 'cooling * 10: 1 - double(host.metadata.inlet_celsius[0]) / 40',
    };
    const { answer } = await explain(env);
    expect(answer.hosts.map(({ host, weights }) => [host, weights['cooling']])).toEqual([
      ['cool', expect.closeTo(4.75)],
      ['hot', expect.closeTo(0.5)],
      ['unknown', 0],
    ]);
    const [first] = (await explain({ BERTH_SCHEDULER_DECLARED_WEIGHERS: 'all * 2: 7' })).answer.hosts;
    expect(first?.weights['all']).toBe(2);
  });
});

it.each([
  ['FILTERS', 'Temperature: true', "must be NAME: EXPRESSION, not 'Temperature: true'"],
  ['FILTERS', 'compute: true', "declares 'compute', which is a filter or weigher of Berth; give it another name"],
  ['FILTERS', 'one: host.nam == "x"', "declares 'one', which can't be read: No such key: nam"],
  ['FILTERS', 'one: host.name', "declares 'one', which can't be read: it is a string, not a bool"],
  ['FILTERS', 'one: 1 +', "declares 'one', which can't be read: Unexpected token: EOF"],
  ['FILTERS', 'one: host.name.matches("^a")', 'matches() is not offered: use startsWith, endsWith or contains'],
  ['WEIGHERS', 'one: 1', "must be NAME * WEIGHT: EXPRESSION, not 'one: 1'"],
  ['WEIGHERS', 'one * 2: host.name', "declares 'one', which can't be read: it is a string, not a number"],
])('BERTH_SCHEDULER_DECLARED_%s=%s is refused at the start', (kind, text, problem) => {
  const env = { [`BERTH_SCHEDULER_DECLARED_${kind}`]: text };
  expect(() => readConfig(schedulerOptions, env)).toThrow(problem);
});
