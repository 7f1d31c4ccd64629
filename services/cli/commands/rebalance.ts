import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import type { Moved, MovingOptions, MovingParts } from '#libs/client/rebalance/await-move';
import { carryOut } from '#libs/client/rebalance/carry-out';
import { claimPlan } from '#libs/client/rebalance/claim-plan';
import { findPlan, type Plan } from '#libs/client/rebalance/find-plan';
import { fleetOf } from '#libs/client/rebalance/plan';
import { undo } from '#libs/client/rebalance/undo';
import type { InstanceView } from '#libs/contracts/instance';
import type { PlannedMove } from '#libs/contracts/moves';
import type { BerthError } from '#libs/domain/errors';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { useClient } from '../client/with-client';
import type { Context } from '../context';
import { usageError } from '../failure';
import { addHelp } from '../help-text';
import { goalOf, hasGoal, planNameOf, wrongUse } from '../rebalance/goal';
import { withProgress } from '../views/progress';
import { table } from '../views/table';
import { amountOfClass, flavorName, keyAndValue, planName, traitName } from './build/request-flags';
import { amount } from './number-flags';
import { repeatable } from './repeatable-flag';

/** `berth rebalance --plan | --apply | --undo`: the fewest moves that reach a goal. */
export function rebalanceCommand(context: Context): CommandUnknownOpts {
  const command = new Command('rebalance')
    .option('--plan', 'print the moves and change nothing', false)
    .option('--apply', 'claim all moves at once and make them; when one fails, undo all', false)
    .option('--undo', 'release the claims of an earlier run for the same goal that did not move', false)
    .option('--name <plan>', 'a name for the plan; by default the goal names it', planName)
    .addOption(repeatable('--empty <host>', 'move every instance off this host', (text) => text))
    .option('--empty-rack <rack>', 'move every instance off this rack (as --empty-in rack=RACK)')
    .addOption(
      repeatable(
        '--empty-in <NAME=VALUE>',
        'move every instance off the hosts of aggregates with this metadata',
        keyAndValue,
      ),
    )
    .addOption(repeatable('--admit <CLASS=N>', 'free capacity on one host for a request of this size', amountOfClass))
    .option('--admit-flavor <name>', 'free capacity for this flavor, instead of amounts', flavorName)
    .addOption(repeatable('--admit-trait <NAME>', 'a trait that the request needs', traitName))
    .option('--admit-zone <name>', 'the availability zone that it needs')
    .option('--admit-project <id>', 'the project of the request', 'default')
    .option('--even-out', 'even out the use of the fullest and the emptiest hosts', false)
    .option(
      '--defragment <moves>',
      'free capacity for more instances of the present sizes, with at most this many moves',
      amount,
    )
    .option('--cold', 'stop, move and start instead of moving live; undoing a failed plan succeeds more often', false)
    .option('--parallel <n>', 'instances to move at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for one move', amount, 600)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, options) => {
    const { plan: isPlan, apply: isApply, undo: isUndo, cold, parallel, timeout, json } = options;
    if ([isPlan, isApply, isUndo].filter(Boolean).length !== 1) throw wrongUse();
    const how = { parallel, timeoutMs: timeout * 1_000 };
    if (isUndo && options.name === undefined && !hasGoal(options)) throw await whichPlan(client);
    const name = options.name ?? planNameOf(options);
    if (isUndo) return showMoved(context, json, await undoClaimed(context, client, name, how));
    const goal = await goalOf(client, options);
    const operation = cold ? 'migrate' : 'live_migrate';
    const resumed = isApply ? await resume(context, client, name, how) : [];
    if (!resumed.every(isDone)) return showMoved(context, json, resumed);
    const [hosts, instances] = await Promise.all([client.hosts(), client.instances()]);
    const plan = await findPlan(client, operation, fleetOf(hosts, instances), goal);
    if (plan.kind === 'impossible' || isPlan) return showPlan(context, json, plan, instances);
    if (!json) showPlan(context, json, plan, instances);
    const moved = await apply(context, client, { plan, operation, name, how });
    showMoved(context, json, [...resumed, ...moved]);
  });
  return addHelp(
    command,
    [
      [
        'berth rebalance --plan --empty host-7 --empty host-8',
        'where all of it would go, by the scheduler that decides it',
      ],
      ['berth rebalance --apply --empty-rack r12 --parallel 8', 'empties a rack; disable its hosts first'],
      ['berth rebalance --apply --empty-rack r12', 'again, after it was interrupted: goes on with what is its own'],
      ['berth rebalance --undo --empty-rack r12', 'releases what that run claimed and did not move'],
      ['berth rebalance --plan --admit VCPU=16 --admit MEMORY_MB=65536', 'what would have to move for that'],
      ['berth rebalance --plan --admit-flavor gpu.large --admit-zone z1', 'on hosts where that flavor may be'],
      ['berth rebalance --plan --defragment 50', 'which 50 moves make most room for what is asked for'],
      ['berth rebalance --plan --even-out', 'which moves bring the fullest and the emptiest hosts closer'],
    ],
    [[EXIT.failed, 'there is no such plan, or a move failed']],
  );
}

interface Apply {
  readonly plan: Extract<Plan, { kind: 'moves' }>;
  readonly operation: 'migrate' | 'live_migrate';
  readonly name: string;
  readonly how: MovingOptions;
}

/** Claims a plan as shown, and carries it out. */
async function apply(
  context: Context,
  client: Client,
  { plan, operation, name, how }: Apply,
): Promise<readonly Moved[]> {
  const moves = await claimPlan(client, { plan, operation, name });
  if (moves.length === 0) return [];
  context.terminal.note(`claimed as plan ${name}`);
  return moving(context, client, moves.length, (parts) => carryOut(parts, moves, how));
}

/** Continues the moves that an earlier run of this plan claimed; cold moves that have arrived are confirmed. */
async function resume(context: Context, client: Client, name: string, how: MovingOptions): Promise<readonly Moved[]> {
  const isArrived = ({ state }: InstanceView) => state === 'verify_resize';
  const ofPlan = (await onAMove(client)).filter(({ migration }) => migration?.plan === name);
  const moves = movesOf(ofPlan.filter((one) => isWaiting(one) || isArrived(one)));
  if (moves.length === 0) return [];
  context.terminal.note(`going on with ${counted(moves.length, 'move')} of an earlier run, of plan ${name}`);
  return moving(context, client, moves.length, (parts) => carryOut(parts, moves, how));
}

async function undoClaimed(context: Context, client: Client, name: string, how: MovingOptions) {
  const ofPlan = (await onAMove(client)).filter(({ migration }) => migration?.plan === name);
  const moves = movesOf(ofPlan.filter(isWaiting));
  return moving(context, client, moves.length, (parts) => undo(parts, moves, [], how));
}

/** Claimed moves may belong to several plans, including others' plans in progress: the user must name one. */
async function whichPlan(client: Client): Promise<BerthError> {
  const names = (await onAMove(client)).filter(isWaiting).map(({ migration }) => migration?.plan ?? '');
  const counts = [...new Set(names)].sort().map((name) => {
    return `${name || '(without a name)'} (${names.filter((one) => one === name).length})`;
  });
  const waiting = counts.length === 0 ? 'no move waits' : `moves wait of: ${counts.join(', ')}`;
  return usageError(`say whose moves are undone; ${waiting}`, 'berth rebalance --undo --name PLAN, or with its goal');
}

async function onAMove(client: Client): Promise<readonly InstanceView[]> {
  const states = ['resize', 'migrating', 'verify_resize'] as const;
  return (await Promise.all(states.map((state) => client.instances({ state })))).flat();
}

function isWaiting({ migration }: InstanceView): boolean {
  return migration?.phase === 'claimed';
}

function movesOf(instances: readonly InstanceView[]): PlannedMove[] {
  return instances.flatMap(({ uuid: instanceUuid, migration }) =>
    migration ? [{ instanceUuid, sourceHost: migration.sourceHost, destHost: migration.destHost }] : [],
  );
}

/** Makes `count` moves, with a progress line. */
function moving(context: Context, client: Client, count: number, move: (parts: MovingParts) => Promise<Moved[]>) {
  const { clock, terminal, interrupted: signal } = context;
  return withProgress(terminal, 'moving', (show) =>
    move({ client, clock, signal, onProgress: (done) => show(done, count) }),
  );
}

function isDone({ outcome }: Moved): boolean {
  return outcome === 'moved' || outcome === 'ended';
}

function showPlan(context: Context, json: boolean, plan: Plan, instances: readonly InstanceView[]): void {
  const { terminal } = context;
  if (plan.kind === 'impossible') context.exit(EXIT.failed);
  if (json) return terminal.json(plan);
  if (plan.kind === 'impossible') return terminal.print(`there is no such plan: ${plan.why}`);
  if (plan.moves.length === 0) return terminal.print('nothing has to move');
  const names = new Map(instances.map(({ uuid, name }) => [uuid, name]));
  const rows = plan.moves.map(({ instanceUuid, sourceHost, destHost }, n) => {
    return [n + 1, { uuid: instanceUuid }, names.get(instanceUuid) ?? '', sourceHost, destHost];
  });
  terminal.print(table(terminal, ['MOVE', 'INSTANCE', 'NAME', 'FROM', 'TO'], rows));
}

function showMoved(context: Context, json: boolean, moved: readonly Moved[]): void {
  const { terminal, interrupted } = context;
  const isUndone = moved.every(({ outcome }) => outcome === 'undone' || outcome === 'ended');
  if (interrupted.aborted) context.exit(EXIT.interrupted);
  else if (!moved.every(isDone) && !isUndone) context.exit(EXIT.failed);
  const flat = moved.map(({ move, outcome, why }) => ({ ...move, outcome, why }));
  if (json) return terminal.json({ moves: flat });
  const count = (wanted: Moved['outcome']) => moved.filter(({ outcome }) => outcome === wanted).length;
  const said = OUTCOMES.filter((outcome) => count(outcome) > 0).map((outcome) => `${count(outcome)} ${WORDS[outcome]}`);
  terminal.print(said.length === 0 ? 'nothing was moved' : said.join(', '));
  const telling = flat.filter(({ why }) => why !== '');
  if (telling.length === 0) return;
  const rows = telling.map(({ instanceUuid, sourceHost, destHost, outcome, why }) => {
    return [{ uuid: instanceUuid }, sourceHost, destHost, WORDS[outcome], why];
  });
  terminal.print(`\n${table(terminal, ['INSTANCE', 'FROM', 'TO', 'OUTCOME', 'WHY'], rows)}`);
}

const WORDS: Readonly<Record<Moved['outcome'], string>> = {
  moved: 'moved',
  not_confirmed: 'moved, not confirmed',
  failed: 'failed',
  undone: 'undone',
  not_undone: 'not undone',
  waits: 'claimed and not begun',
  ended: 'ended meanwhile',
};
const OUTCOMES = Object.keys(WORDS) as readonly Moved['outcome'][];
