import * as fc from 'fast-check';
import { usageCsv } from './usage-csv';

const seconds = fc.dictionary(
  fc.constantFrom('VCPU', 'MEMORY_MB', 'instances', 'CUSTOM_GPU'),
  fc.integer({ min: 0, max: 2 ** 40 }).map((ms) => ms / 1_000),
);
const usages = fc.array(
  fc.record({
    projectId: fc.constantFrom('shop', 'a,b', 'say "x"', '=cmd()'),
    days: fc.array(fc.record({ day: fc.constantFrom('2026-11-01', '2026-11-02'), unitSeconds: seconds })),
  }),
  { maxLength: 5 },
);

it('sums to what the ledger sums to, by class, in seconds exactly and in hours, whatever projects are called', () => {
  fc.assert(
    fc.property(usages, (held) => {
      const wanted: Record<string, number> = {};
      for (const { days } of held) {
        for (const { unitSeconds } of days) {
          for (const [name, amount] of Object.entries(unitSeconds)) wanted[name] = (wanted[name] ?? 0) + amount;
        }
      }
      const [sums, hours]: [Record<string, number>, Record<string, number>] = [{}, {}];
      for (const row of usageCsv(held).split('\n').slice(1)) {
        const [, , name = '', inSeconds, inHours] = fieldsOf(row);
        sums[name] = (sums[name] ?? 0) + Number(inSeconds);
        hours[name] = (hours[name] ?? 0) + Number(inHours);
      }
      expect(sums).toEqual(wanted);
      for (const [name, amount] of Object.entries(wanted)) expect((hours[name] ?? 0) * 3_600).toBeCloseTo(amount, 3);
    }),
  );
});

it('keeps a project with a comma in one field, and lets no spreadsheet run one', () => {
  const of = (projectId: string) =>
    usageCsv([{ projectId, days: [{ day: '2026-11-01', unitSeconds: { VCPU: 1_800 } }] }]);
  expect(of('a,b')).toBe('project,day,class,unit_seconds,unit_hours\n"a,b",2026-11-01,VCPU,1800,0.5');
  expect(of('=cmd()')).toContain("\n'=cmd(),2026-11-01");
});

function fieldsOf(row: string): string[] {
  return [...row.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, field = '']) => field).slice(0, 5);
}
