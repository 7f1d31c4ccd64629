import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { invalidArgument } from '#libs/domain/errors';
import { EXIT } from '#libs/runtime/exit-codes';
import { domainsOf, holds, type Operation, type Summary, summarize } from '../../../rehearsal/main';
import type { Context } from '../../context';
import { table } from '../../views/table';
import { prepareRehearsals } from './prepare';

type Evacuation = Extract<Operation, { kind: 'lose' }>['evacuation'];

/** The loss of one domain. */
interface Loss {
  readonly domain: string;
  readonly hosts: number;
  readonly summary: Summary;
  readonly cameAbout: readonly string[];
}

/** Rehearses the loss of each domain of a name in turn, each on the fleet as it is now: a table of what would not be placed. */
export async function loseEach(
  context: Context,
  command: CommandUnknownOpts,
  name: string,
  evacuation: Evacuation,
): Promise<void> {
  const { terminal } = context;
  const prepared = await prepareRehearsals(context, command);
  const { json, svg, failIf } = prepared.flags;
  if (svg !== undefined) throw invalidArgument('conflicting_flags', '--svg draws one operation: leave --each out');
  const losses: Loss[] = [];
  const domains = [...domainsOf(prepared.snapshot, name)];
  for (const [index, [domain, hosts]] of domains.entries()) {
    const rehearsed = await prepared.rehearse({ kind: 'lose', hosts, evacuation }, { index, count: domains.length });
    if (rehearsed === undefined) return context.exit(EXIT.interrupted);
    const summary = summarize(rehearsed.outcomes);
    const cameAbout = failIf.filter((condition) => holds(condition, summary)).map(({ text }) => text);
    losses.push({ domain, hosts: hosts.length, summary, cameAbout });
  }
  const worstFirst = losses.toSorted(
    (a, b) => b.summary.metrics.refused.most - a.summary.metrics.refused.most || (a.domain < b.domain ? -1 : 1),
  );
  if (json) terminal.json(worstFirst);
  else {
    const rows = worstFirst.map(({ domain, hosts, summary: { metrics, refused }, cameAbout }) => [
      domain,
      hosts,
      metrics.moved.median,
      metrics.refused.most,
      metrics.seconds.p95,
      cameAbout.join(', ') || (refused[0]?.why ?? ''),
    ]);
    terminal.print(table(terminal, [name.toUpperCase(), 'HOSTS', 'MOVED', 'REFUSED', 'SECONDS', 'BECAUSE'], rows));
  }
  const isBad = ({ summary, cameAbout }: Loss) => summary.broken.length > 0 || cameAbout.length > 0;
  if (losses.some(isBad)) context.exit(EXIT.failed);
}
