import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { ExplainResponse } from '#libs/contracts/messages';
import { EXIT } from '#libs/runtime/exit-codes';
import { clientSettings } from '../../client/client-options';
import { ownProject, withClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { formatNumber } from '../../views/format';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { amount } from '../number-flags';
import { addRequestFlags, requestSpecOf } from './request-flags';

/** `berth explain`: a decision as a dry run, with the reasons of every refusal. */
export function explainCommand(context: Context): CommandUnknownOpts {
  const command = addRequestFlags(
    new Command('explain').description('Say where an instance would go and why not elsewhere; nothing is claimed.'),
  )
    .optionsGroup('What to explain:')
    .option('--host <name>', 'why, or why not, this host', '')
    .option('--limit <n>', 'best hosts to list', amount, 10)
    .option('--json', 'print one JSON value', false);
  addSettingFlags(command, clientSettings).action(async (flags) => {
    const { host, limit, json } = flags;
    const spec = requestSpecOf(flags, [], ownProject(context, command));
    await withClient(context, command, async (client) => {
      const answer = await client.explain(spec, { host, limit });
      if (json) context.terminal.json(answer);
      else show(context.terminal, answer);
      if (!answer.hosts.some(({ passed }) => passed)) context.exit(EXIT.failed);
    });
  });
  return addHelp(
    command,
    [
      ['berth explain --vcpu 64 --memory-mb 1024', 'who could take it, and what refuses the others'],
      ['berth explain --vcpu 2 --trait HW_GPU --host host-7', 'why not on host-7'],
    ],
    [[EXIT.failed, 'no host, or not the host asked about, could take it']],
  );
}

function show(terminal: Terminal, { diagnosis, hosts, relaxations }: ExplainResponse): void {
  const { bold, green, red } = terminal.colours;
  terminal.print(bold(diagnosis.summary));
  const filters = diagnosis.filters.filter((filter) => filter.refused > 0);
  if (filters.length > 0) {
    const rows = filters.map(({ filter, refused, reasons }) => [filter, refused, showReasons(reasons)]);
    terminal.print(`\n${table(terminal, ['FILTER', 'REFUSED', 'REASONS'], rows)}`);
  }
  if (relaxations.length > 0) {
    terminal.print(`\n${bold('what is against hosts that would fit otherwise:')}`);
    for (const { sentence } of relaxations) terminal.print(`  ${sentence}`);
  }
  if (hosts.length === 0) return;
  const rows = hosts.map(({ host, passed, weight, weights, refusals }) => [
    host,
    passed ? green('yes') : red('no'),
    passed ? weight.toFixed(3) : '-',
    passed ? showWeights(weights) : refusals.join('; '),
  ]);
  terminal.print(`\n${table(terminal, ['HOST', 'FITS', 'WEIGHT', 'BECAUSE'], rows)}`);
}

function showReasons(reasons: Readonly<Record<string, number>>): string {
  return Object.entries(reasons)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${formatNumber(count)}`)
    .join(', ');
}

/** The weighers with a weight other than 0, the heaviest first. */
function showWeights(weights: Readonly<Record<string, number>>): string {
  return Object.entries(weights)
    .filter(([, weight]) => weight !== 0)
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .map(([weigher, weight]) => `${weigher} ${weight.toFixed(2)}`)
    .join(', ');
}
