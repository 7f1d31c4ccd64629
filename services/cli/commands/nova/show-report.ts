import { agreementOf } from '#libs/contracts/read-shadow-report';
import {
  SHADOW_OUTCOMES,
  type ShadowDifference,
  type ShadowReport,
  type ShadowTimes,
} from '#libs/contracts/shadow-report';
import type { Context } from '../../context';
import { ageOf, formatNumber } from '../../views/format';
import { facts, table } from '../../views/table';

/** Prints agreement and times, differences by cause, and the last of them. */
export function showReport({ terminal, clock }: Context, report: ShadowReport): void {
  const { sinceMs, outcomes, causes, berthTimes, novaTimes, differences } = report;
  const { compared, alike } = agreementOf(report);
  terminal.print(
    facts(terminal, [
      ['compared', `${formatNumber(compared)} instances since ${new Date(sinceMs).toISOString()}`],
      ['chose alike', compared === 0 ? '-' : `${formatNumber(alike)}, ${((100 * alike) / compared).toFixed(1)} %`],
      ['Berth took', timesOf(berthTimes)],
      ['Nova took', timesOf(novaTimes)],
    ]),
  );
  const counts = SHADOW_OUTCOMES.filter((outcome) => outcomes[outcome] > 0);
  print(
    ['OUTCOME', 'INSTANCES'],
    counts.map((outcome) => [outcome, formatNumber(outcomes[outcome])]),
  );
  print(
    ['CAUSE OF A DIFFERENCE', 'INSTANCES'],
    Object.entries(causes).map(([cause, n]) => [cause, formatNumber(n)]),
  );
  print(
    ['INSTANCE', 'AGO', 'OUTCOME', 'BERTH', 'NOVA', 'WHY'],
    differences.map((one) => [
      one.instanceUuid,
      ageOf(clock, one.atMs),
      one.outcome,
      choiceOf(one.berth),
      choiceOf(one.nova),
      one.why,
    ]),
  );

  function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
    if (rows.length > 0) terminal.print(`\n${table(terminal, head, rows)}`);
  }
}

function choiceOf({ hosts: [host = 'no host'], weight }: ShadowDifference['berth']): string {
  return weight === undefined ? host : `${host} (${weight.toFixed(3)})`;
}

function timesOf(times: ShadowTimes | undefined): string {
  if (times === undefined) return '-';
  return `${times.p50Ms.toFixed(1)} ms, 99 % within ${times.p99Ms.toFixed(1)} ms`;
}
