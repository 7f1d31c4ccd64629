import { binds, breachesOf } from './check-directions';
import { RULES } from './directions';
import { isProduction, pathsBelow, readSource, usesIn } from './source-files';

const files = pathsBelow('libs', 'services').filter(isProduction).map(readSource);

it('keeps every arrow of the layout', () => {
  expect(breachesOf(RULES, files)).toEqual([]);
});

it.each(RULES.map((rule) => [rule.says, rule.breach, rule] as const))('%s: finds %s', (says, breach, rule) => {
  const [path = '', use = ''] = breach.split(' -> ');
  expect(breachesOf([rule], [{ path, uses: [use] }])).toEqual([`${path} uses ${use}, but ${says}`]);
});

it.each(RULES.map((rule) => [rule.says, rule.of.join(' '), rule] as const))(
  '%s: speaks of files in %s',
  (_, __, rule) => {
    expect(files.some(({ path }) => binds(rule, path))).toBe(true);
  },
);

it('sees imports of every kind, types too, and globals', () => {
  const text = `
    import { a } from '#libs/domain/clock';
    import type { B } from './b';
    export * from '../scheduler/c';
    export { d } from 'node:fs';
    import 'ioredis';
    type E = import('./e').E;
    const f = () => import('#generated/berth');
    const g = require('pino');
    // import h from './h';
    export const now = () => [Date.now(), process.env['HOME'], setTimeout(f, 1), 'import i from "./i"', a, g] as B[];
  `;
  expect(usesIn(text, 'services/cli/x.ts').toSorted()).toEqual([
    'global:Date.now',
    'global:process.env',
    'global:setTimeout',
    'libs/contracts/generated/berth.ts',
    'libs/domain/clock.ts',
    'node:fs',
    'npm:ioredis',
    'npm:pino',
    'services/cli/b.ts',
    'services/cli/e.ts',
    'services/scheduler/c.ts',
  ]);
});
