import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { answerCommand, showAnswer } from '../../answers/answer';
import { placementClientOptions } from '../../client/client-options';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import type { Difference } from '../../placement-import/compare';
import { type Endpoint, openEndpoint } from '../../placement-import/endpoint';
import { follow, type Round } from '../../placement-import/follow';
import { importOptions } from '../../placement-import/options';
import { type ImportResult, runImport } from '../../placement-import/run-import';
import { fixedToken, keystoneTokens } from '../../placement-import/tokens';
import { addSettingFlags, readSettings, withFlags } from '../../settings';
import { withProgress } from '../../views/progress';
import type { Terminal } from '../../views/terminal';

const SETTINGS = {
  tables: { source: importOptions, destination: placementClientOptions },
  ownPrefix: 'BERTH_IMPORT_',
} as const;
const MAX_SHOWN = 50;

/** `berth placement import` */
export function placementCommand(context: Context): CommandUnknownOpts {
  return new Command('placement').addCommand(importCommand(context));
}

function importCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('import')
    .description('Copy everything from another placement API, and compare both.')
    .option('--dry-run', 'compare only, write nothing', false)
    .option('--delete-extra', 'delete rows that only the destination has', false)
    .option('--follow', 'keep the destination equal to the source, until Ctrl-C', false);
  addSettingFlags(command, SETTINGS).action(async () => {
    const flags = command.opts();
    if (flags.follow && (flags.dryRun || flags.json))
      throw usageError('--follow neither ends nor only compares', 'leave out --dry-run and --json');
    const { from, to, intervalMs, sweepMs } = await openBoth(context, command);
    const { terminal, clock, interrupted } = context;
    if (flags.follow) {
      const onRound = (round: Round) => showRound(terminal, round);
      return follow({ from, to, deletesExtra: flags.deleteExtra, intervalMs, sweepMs, clock, interrupted, onRound });
    }
    const result = await runImport({
      from,
      to,
      isDryRun: flags.dryRun,
      deletesExtra: flags.deleteExtra,
      step: (what, work) => withProgress(terminal, what, work),
    });
    await showAnswer(context, flags, async () => ({
      plain: plainOf(result, from, to),
      names: result.differences.map(({ id }) => id),
      draw: (shown) => show(shown, result, { from, to, isDryRun: flags.dryRun }),
    }));
    if (result.differences.length > 0 && !flags.dryRun) context.exit(EXIT.failed);
  });
  return addHelp(
    command,
    [
      [
        'berth placement import --from http://placement.example:8778 --from-token TOKEN --dry-run',
        'what would be copied',
      ],
      [
        'BERTH_IMPORT_KEYSTONE_PASSWORD=secret berth placement import --from http://placement.example:8778 --keystone-url http://keystone.example:5000',
        'from the Placement of a running OpenStack; run it again to go on, or to catch up',
      ],
      [
        'berth placement import --from http://127.0.0.1:8778 --placement-url http://placement.example:8778 --delete-extra',
        'and back: make the other what Berth is',
      ],
      [
        'berth placement import --from http://placement.example:8778 --from-token TOKEN --follow --delete-extra',
        'a lens: a copy that follows, for a shadow and for audits',
      ],
    ],
    [[EXIT.failed, 'both differ at the end; the answer says where']],
  );
}

async function openBoth(context: Context, command: CommandUnknownOpts) {
  const { source, destination } = readSettings(SETTINGS, command, context.env);
  if (source.from === '') throw usageError('no source is named', 'add --from URL');
  if (sameAddress(source.from, destination.url)) {
    throw usageError(
      'source and destination are the same',
      'BERTH_PLACEMENT_URL, or --placement-url, is the destination',
    );
  }
  const { clock, random, interrupted } = context;
  const { timeoutMs } = destination;
  const keystone = source.keystoneUrl === '' ? undefined : keystoneTokens(source, { timeoutMs, clock });
  if (source.fromToken === '' && keystone === undefined) {
    throw usageError(
      'the source wants a token',
      'add --from-token, or --keystone-url and BERTH_IMPORT_KEYSTONE_PASSWORD',
    );
  }
  const isTokenSet = (withFlags(SETTINGS, command, context.env)['BERTH_PLACEMENT_TOKEN'] ?? '') !== '';
  const common = { timeoutMs, clock, random, interrupted, perSecond: source.rate, requestId: `req-${random.uuid()}` };
  const fromTokens = source.fromToken === '' ? keystone : fixedToken(source.fromToken);
  const toTokens = isTokenSet ? undefined : keystone;
  const from = await openEndpoint({ ...common, url: source.from, tokens: fromTokens ?? fixedToken('') });
  const to = await openEndpoint({ ...common, url: destination.url, tokens: toTokens ?? fixedToken(destination.token) });
  return { from, to, intervalMs: source.intervalMs, sweepMs: source.sweepMs };
}

/** A line for a round that changed something, and for each refused write. */
function showRound(terminal: Terminal, { source, writes, failures, tookMs }: Round): void {
  const held = `${counted(source.providers.size, 'provider')}, ${counted(source.consumers.size, 'consumer')}`;
  if (writes > 0) terminal.print(`${held}: ${counted(writes, 'write')} in ${Math.round(tookMs)} ms`);
  for (const { of, id, why } of failures.slice(0, MAX_SHOWN)) terminal.note(`${of} ${id}: ${why}`);
}

function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, '') === b.replace(/\/+$/, '');
}

function plainOf({ source, writes, differences, failures }: ImportResult, from: Endpoint, to: Endpoint) {
  const side = ({ url, minor }: Endpoint) => ({ url, microversion: `1.${minor}` });
  return {
    from: { ...side(from), providers: source.providers.size, consumers: source.consumers.size },
    to: side(to),
    writes,
    differences,
    failures,
  };
}

interface Shown {
  readonly from: Endpoint;
  readonly to: Endpoint;
  readonly isDryRun: boolean;
}

function show(terminal: Terminal, result: ImportResult, { from, to, isDryRun }: Shown): void {
  const { source, writes, differences, failures } = result;
  const held = `${counted(source.providers.size, 'provider')}, ${counted(source.consumers.size, 'consumer')}`;
  terminal.print(`${from.url} (1.${from.minor}) has ${held}`);
  terminal.print(
    isDryRun ? `nothing was written to ${to.url}` : `${to.url} (1.${to.minor}): ${counted(writes, 'write')}`,
  );
  if (differences.length === 0) return terminal.print('both hold the same');
  terminal.print(`${counted(differences.length, 'difference')}${isDryRun ? '' : ' left'}:`);
  for (const difference of differences.slice(0, MAX_SHOWN)) terminal.print(`  ${lineOf(difference)}`);
  if (differences.length > MAX_SHOWN) terminal.print(`  and ${differences.length - MAX_SHOWN} more: --json has all`);
  for (const { of, id, why } of failures.slice(0, MAX_SHOWN)) terminal.print(`${of} ${id}: ${why}`);
  if (!isDryRun) terminal.note('hint: run it again when nothing else writes to either of them');
}

function lineOf({ of, id, name, aspect, source, destination }: Difference): string {
  const who = name === undefined || name === id ? `${of} ${id}` : `${of} ${name} (${id})`;
  if (aspect === 'missing') return `${who} is missing at the destination`;
  if (aspect === 'extra') return `${who} is only at the destination: --delete-extra deletes it`;
  return `${who}, ${aspect}: ${JSON.stringify(source)} there, ${JSON.stringify(destination)} at the destination`;
}
