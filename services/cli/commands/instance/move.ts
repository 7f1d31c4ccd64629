import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Client, MoveOptions } from '#libs/client/client';
import type { InstanceOperation } from '#libs/contracts/operations';
import { nameOfState } from '#libs/domain/instance';
import { EXIT } from '#libs/runtime/exit-codes';
import { meantInstance, NAMED } from '../../client/meant';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { attemptSummary, showState } from '../../views/attempt-summary';
import { addAmountFlags, flavorName, hostName, keyAndValue, resourcesOf } from '../build/request-flags';
import { amount } from '../number-flags';
import { repeatable } from '../repeatable-flag';

/** `berth instance resize`: to another flavor, or other resources, on any suitable host. */
export function resizeCommand(context: Context): CommandUnknownOpts {
  const sized = base(
    'resize',
    'Resize a running or stopped instance, on its host or another; then confirm or revert.',
  ).option('--flavor <name>', 'a flavor, instead of resources and extra specs', flavorName);
  const command = addAmountFlags(sized)
    .addOption(repeatable('--extra-spec <key=value>', 'as of a flavor', keyAndValue))
    .option('--confirm-after <seconds>', 'confirm it automatically, this long after it arrives', amount);
  useClient(context, command, async (client, flags, named) => {
    const resources = resourcesOf(flags);
    const { flavor, extraSpec, confirmAfter = 0 } = flags;
    const hasOwn = Object.keys(resources).length + extraSpec.length > 0;
    if (flavor !== undefined && hasOwn)
      throw usageError(
        'use --flavor or --vcpu/--memory-mb, not both',
        'a flavor has its own resources and extra specs',
      );
    if (flavor === undefined && !hasOwn)
      throw usageError('the resize has no target', 'add --flavor NAME, or every amount that it is to have');
    const resizeTo =
      flavor === undefined
        ? { resources, extraSpecs: Object.fromEntries(extraSpec) }
        : { flavor: { name: flavor, version: 0 } };
    const move = { resizeTo, confirmAfterMs: confirmAfter * 1000 };
    await run(context, client, { named, operation: 'resize', move }, flags);
  });
  return addHelp(command, [
    [`berth instance resize web-3 --flavor large --wait`, 'it has the new size: VERIFY_RESIZE'],
    [`berth instance confirm web-3 --wait`, 'keep it; or revert: it is as it was'],
  ]);
}

/** `berth instance migrate`: stops the instance and starts it on another host. For operators. */
export function migrateCommand(context: Context): CommandUnknownOpts {
  const purpose = 'Stop an instance and start it on another host; a STOPPED one stays so. Then confirm or revert.';
  const command = base('migrate', purpose)
    .option('--host <name>', 'the target host; any when not given', hostName)
    .option('--to-cell <name>', 'to another cell, where it is built anew, without its disks; asks the top: --cell top')
    .option('--confirm-after <seconds>', 'confirm it automatically, this long after it arrives', amount);
  useClient(context, command, (client, { confirmAfter = 0, host, toCell, ...flags }, named) => {
    if (toCell !== undefined && (host !== undefined || confirmAfter > 0)) {
      throw usageError('another cell chooses the host, and nothing is to confirm', 'say --to-cell alone');
    }
    const move = { targetHost: host, targetCell: toCell, confirmAfterMs: confirmAfter * 1000 };
    return run(context, client, { named, operation: 'migrate', move }, flags);
  });
  return addHelp(command, [
    [`berth instance migrate web-3 --wait`, 'to the best other host: VERIFY_RESIZE'],
    [`berth instance migrate web-3 --host host-7 --confirm-after 60`, 'to this one, and it stays if nobody reverts it'],
    [`berth instance migrate web-3 --cell top --to-cell b --wait`, 'ACTIVE in cell b; or here, and why'],
  ]);
}

/** `berth instance live-migrate`: moves it while it runs, if the driver can. */
export function liveMigrateCommand(context: Context): CommandUnknownOpts {
  const purpose = 'Move an ACTIVE instance to another host while it runs, if the drivers of both can.';
  const command = base('live-migrate', purpose).option(
    '--host <name>',
    'the target host; any when not given',
    hostName,
  );
  useClient(context, command, (client, flags, named) =>
    run(context, client, { named, operation: 'live_migrate', move: { targetHost: flags.host } }, flags),
  );
  return addHelp(command, [[`berth instance live-migrate web-3 --wait`, 'ACTIVE there; or here, and why']]);
}

/** `berth instance confirm`: completes a move; its source destroys the old copy. */
export function confirmCommand(context: Context): CommandUnknownOpts {
  const command = base('confirm', 'Confirm a resize or migration; its source removes the instance.');
  useClient(context, command, (client, flags, named) => run(context, client, { named, operation: 'confirm' }, flags));
  return addHelp(command, [
    [`berth instance confirm web-3 --wait`, 'ACTIVE, or STOPPED if it was; the old claim is free'],
  ]);
}

/** `berth instance revert`: undoes a move, arrived or under way. */
export function revertCommand(context: Context): CommandUnknownOpts {
  const command = base('revert', 'Return a resized or migrated instance, or one on its way, to its source.');
  useClient(context, command, (client, flags, named) => run(context, client, { named, operation: 'revert' }, flags));
  return addHelp(command, [[`berth instance revert web-3 --wait`, 'where and as it was']]);
}

function base(name: string, purpose: string) {
  return new Command(name)
    .description(purpose)
    .argument('<instance>', NAMED)
    .option('--wait', 'wait until it is done', false)
    .option('--timeout <seconds>', 'time limit of --wait', amount, 300)
    .option('--json', 'print one JSON value', false);
}

/** An operation on the instance of a name. */
interface Asked {
  readonly named: string;
  readonly operation: InstanceOperation;
  readonly move?: MoveOptions;
}

async function run(
  context: Context,
  client: Client,
  { named, operation, move = {} }: Asked,
  { wait, timeout, json }: { readonly wait: boolean; readonly timeout: number; readonly json: boolean },
): Promise<void> {
  const { terminal } = context;
  const instanceUuid = await meantInstance(client, named);
  const reached = wait
    ? await client.operateAndWait(instanceUuid, operation, { ...move, timeoutMs: timeout * 1000 })
    : await client.operate(instanceUuid, operation, move);
  const { state, host, fault } = reached;
  const summary = attemptSummary({ attempts: [], fault });
  if (json) terminal.json({ uuid: instanceUuid, state: nameOfState(state), host, fault: fault?.reason });
  else terminal.print(`${instanceUuid} is ${showState(terminal, state)} on ${host}  ${summary}`.trimEnd());
  if (wait && (fault !== undefined || !WANTED.includes(state))) context.exit(EXIT.failed);
}

/** Final states of a successful move; without a fault only. */
const WANTED: readonly string[] = ['verify_resize', 'active', 'stopped'];
