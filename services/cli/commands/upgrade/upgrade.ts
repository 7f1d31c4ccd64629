import { readFile } from 'node:fs/promises';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { nodeCodec } from '#libs/contracts/nodes';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { openInstanceStore } from '#libs/instances/open';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readForm } from '#libs/redis/schema';
import { type ConfigOf, readConfig, readConfigs } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { novaOptions } from '../../../nova-scheduler/options';
import { requireServer } from '../../client/require-server';
import type { Context } from '../../context';
import { reportFailure } from '../../failure';
import { addSettingFlags, withFlags } from '../../settings';
import { table } from '../../views/table';
import { checkNovaConf } from './check-nova-conf';
import { checkSettings } from './check-settings';
import { type Check, type CheckResult, checkContents, checkForm } from './checks';
import { parseNovaConf } from './nova-conf';

const SETTINGS = { tables: { placement: placementOptions } } as const;
/** Exit codes of `nova-status upgrade check`. */
const EXIT_CODES: Readonly<Record<CheckResult, number>> = { success: 0, warning: 1, failure: 2 };
const UNEXPECTED = 255;

/** `berth upgrade check`: reads the store itself, without any running service. */
export function upgradeCommand(context: Context): CommandUnknownOpts {
  return new Command('upgrade').addCommand(checkCommand(context));
}

function checkCommand(context: Context): CommandUnknownOpts {
  const { terminal, env } = context;
  const command = new Command('check')
    .description('Check whether the store fits this release, as nova-status upgrade check does. Writes nothing.')
    .option(
      '--nova-conf <file>',
      "check, too, whether Berth's scheduler can take the place of Nova's; without a store, only this",
    )
    .option('--json', 'print one JSON value', false);
  addSettingFlags(command, SETTINGS).action(async ({ json, novaConf }) => {
    try {
      const set = withFlags(SETTINGS, command, env);
      const { placement } = readConfigs(SETTINGS.tables, set);
      const ofNova = novaConf === undefined ? [] : await checkFile(novaConf, env);
      const hasStore = novaConf === undefined || placement.storeUrl !== 'memory:';
      const ofStore = !hasStore
        ? []
        : await runChecks(placement, context).catch((thrown: unknown) => {
            throw storeIsAway(thrown, placement.storeUrl, context);
          });
      const checks = [...(hasStore ? [checkSettings(set)] : []), ...ofStore, ...ofNova];
      const result = worst(checks);
      if (json) terminal.json({ result, checks });
      else terminal.print(table(terminal, ['CHECK', 'RESULT', 'DETAILS'], checks.flatMap(rowsOf)));
      context.exit(EXIT_CODES[result]);
    } catch (thrown) {
      reportFailure(thrown, terminal);
      context.exit(UNEXPECTED);
    }
  });
  return command.addHelpText('after', HELP);
}

const HELP = `
Checks: settings of this environment and its files that this release lacks: options, filters, weighers, values, each by name and
with what replaces it; the form of the store's rows; extra specs of flavors that are not understood; resource classes and traits that
flavors ask for and that are missing; flavors that nothing can hold; hosts without reports; nodes of bare metal without a
class; what is counted of projects. With --nova-conf: filters, weighers and options that Berth lacks, by name, and settings
(BERTH_NOVA_*) that differ from the file's.

Examples:
  # with the release to upgrade to, before it runs
  $ berth upgrade check --store-url redis://localhost:6379
  # with the settings that a service of this machine has
  $ set -a; . /etc/berth/scheduler.env; berth upgrade check
  # before berth nova-scheduler takes the place of nova-scheduler
  $ berth upgrade check --nova-conf /etc/nova/nova.conf

Exit codes, as nova-status upgrade check:
    0  all checks succeed
    1  at least one is a warning: look at it
    2  at least one is a failure: mend it before the upgrade
  255  an unexpected error`;

/** @throws BerthError `invalid_argument / unreadable_file` */
async function checkFile(file: string, env: Context['env']): Promise<readonly Check[]> {
  const text = await readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw invalidArgument('unreadable_file', `${file} can not be read: ${thrown.code ?? thrown.message}`);
  });
  return checkNovaConf(parseNovaConf(text), readConfig(novaOptions, env));
}

/** Adds the store to the error. The time limit of the command is reported as such, not as a cancellation. */
function storeIsAway(thrown: unknown, storeUrl: string, { interrupted }: Context): unknown {
  const error = BerthError.from(thrown);
  const isAway = error.code === 'unavailable' || error.reason === 'cancelled';
  if (!isAway || interrupted.aborted) return thrown;
  const message = `no store at ${storeUrl.replace(/\/\/.*@/, '//')}: ${error.message}`;
  return new BerthError('unavailable', 'store_away', message, { cause: error });
}

async function runChecks(config: ConfigOf<typeof placementOptions>, context: Context): Promise<readonly Check[]> {
  requireServer(config.storeUrl, 'BERTH_STORE_URL', 'redis://host:6379');
  const { clock, interrupted } = context;
  const stop = new AbortController();
  const abort = () => stop.abort();
  interrupted.addEventListener('abort', abort, { once: true });
  // Not AbortSignal.timeout: a signal that only AbortSignal.any refers to may be collected before its time.
  const cancelTimer = clock.after(config.storeTimeoutMs, abort);
  try {
    return await checkStore(config, context, stop.signal);
  } finally {
    cancelTimer();
    interrupted.removeEventListener('abort', abort);
  }
}

async function checkStore(
  config: ConfigOf<typeof placementOptions>,
  { clock, random }: Context,
  within: AbortSignal,
): Promise<readonly Check[]> {
  const around = { clock, random, log: silentLog, metrics: createMetrics({}), onlyReads: true };
  const form = checkForm(await readForm(config, around, within));
  if (form.result === 'failure') return [form];
  const placement = await openPlacementStore(config, around, within);
  try {
    const instances = await openInstanceStore(config, around, within);
    try {
      const mirror = await Mirror.open(placement, { ...around, signal: within });
      const [flavors, usages, nodes] = await Promise.all([
        instances.listFlavors(),
        placement.projectUsages(),
        readNodes(placement),
      ]);
      const checks = checkContents({ view: mirror, flavors, usages, nodes });
      await mirror.close();
      return [form, ...checks];
    } finally {
      await instances.close();
    }
  } finally {
    await placement.close();
  }
}

async function readNodes(placement: PlacementStore): Promise<NodeRecord[]> {
  const contents = await placement.nodes(await placement.nodeNames());
  return contents.filter((text) => text !== undefined).map((text) => nodeCodec.decode(Buffer.from(text, 'base64')));
}

function worst(checks: readonly Check[]): CheckResult {
  const found = checks.map(({ result }) => EXIT_CODES[result]);
  const most = Math.max(...found);
  return most === EXIT_CODES.failure ? 'failure' : most === EXIT_CODES.warning ? 'warning' : 'success';
}

/** The first detail's row carries the name and the result. */
function rowsOf({ check, result, details }: Check): string[][] {
  const [first = '-', ...rest] = details;
  return [[check, result, first], ...rest.map((detail) => ['', '', detail])];
}
