import { Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { percentile } from '#libs/runtime/percentiles';
import type { Context } from '../context';
import { runLiveDemo } from '../demo/live-demo';
import {
  BUILD_LATENCY_MS,
  BUILDS_IN_FLIGHT,
  type DemoOutcome,
  type DemoSettings,
  processesOf,
  runDemo,
} from '../demo/run-demo';
import { SCENARIOS } from '../demo/scenarios/registry';
import { playScenario, type Scenario } from '../demo/scenarios/stage';
import { addHelp } from '../help-text';
import { countBy } from '../views/format';
import { table } from '../views/table';
import { share, wholeFrom } from './number-flags';

/** `berth demo`: everything in this process, without any server. */
export function demoCommand(context: Context): CommandUnknownOpts {
  const command = new Command('demo')
    .option('--hosts <n>', 'fake hosts', wholeFrom(1), 20)
    .option('--builds <n>', 'instances to build', wholeFrom(1), 200)
    .option('--failure-rate <share>', 'share of build attempts that fail, 0 to 1', share, 0.1)
    .option('--schedulers <n>', 'schedulers', wholeFrom(1), 2)
    .option('--conductors <n>', 'conductors', wholeFrom(1), 2)
    .option('--seed <n>', 'random seed: equal seeds request equal builds', wholeFrom(0), 1)
    .option('--console', 'build and terminate until Ctrl-C, with a console at a printed address', false)
    .option('--json', 'print the outcome as one JSON value, on the last line', false)
    .addOption(
      new Option('--scenario <name>', 'play a scripted example instead').choices(SCENARIOS.map(({ name }) => name)),
    )
    .action(async ({ json, scenario: name, console: hasConsole, ...settings }) => {
      if (hasConsole) return runLiveDemo(context, settings);
      const scenario = SCENARIOS.find((one) => one.name === name);
      if (scenario) return playAndShow(context, scenario, json);
      const outcome = await runDemo(context, settings);
      if (json) context.terminal.json(figuresOf(outcome));
      else show(context, settings, outcome);
      const { overAllocated, leaked } = outcome.audit;
      if (overAllocated + leaked > 0) context.exit(EXIT.failed);
    });
  return addHelp(
    command,
    [
      ['berth demo', '200 builds on 20 hosts, one attempt in ten fails'],
      ['berth demo --console', 'a fleet in a browser, to look at and to operate'],
      ['berth demo --scenario devices', 'devices by their attributes: an H100 or else two A100'],
      ['berth demo --scenario baremetal', 'agents share a rack of nodes by a ring, and one dies while it builds'],
      ['berth demo --scenario cells', 'two cells and a top: one request for all, and no cell waits for the top'],
      ['berth demo --scenario gang', 'a leader and workers in one rack, all or none'],
      ['berth demo --scenario fair-share', 'a project that had the fleet lately waits for another'],
      ['berth demo --scenario guarantee', 'one rack may be lost at any time, and is lost'],
      ['berth demo --scenario heal', 'claims and workloads removed without its knowledge are found and repaired'],
      ['berth demo --scenario preempt', 'requests wait for room, and an urgent one takes it from others'],
      ['berth demo --scenario rehearse', 'what a drain and a dead host would do, told before, and then done'],
      ['berth demo --scenario reservation', 'capacity held for a window, and what fills the gap before'],
      ['berth demo --scenario resize', 'instances are resized and migrated; confirmed, reverted, refused'],
      ['berth demo --hosts 50 --builds 1000 --failure-rate 0.2 --json', 'more of it, for a program'],
    ],
    [[EXIT.failed, 'the store and the hosts disagree afterwards: over-allocated or leaked']],
  );
}

async function playAndShow(context: Context, scenario: Scenario, json: boolean): Promise<void> {
  const { terminal } = context;
  const { green, red, bold } = terminal.colours;
  terminal.print(bold(scenario.purpose));
  const outcome = await playScenario(context, scenario);
  for (const what of outcome.broken) terminal.print(red(what));
  if (outcome.broken.length === 0) terminal.print(`${green('every invariant held')}, ${outcome.seconds} s`);
  else context.exit(EXIT.failed);
  if (json) terminal.json(outcome);
}

const NEXT = `\nnext: 'berth demo --console' to look at a fleet in a browser, 'berth demo --scenario heal' for repairs,\n'berth up' on a RabbitMQ and a Redis of yours`;

/** The output of `--json`; its names are a contract. */
function figuresOf({ built, audit, seconds }: DemoOutcome) {
  const count = (test: (b: DemoOutcome['built'][number]) => boolean) => built.filter(test).length;
  return {
    builds: built.length,
    active: count(({ event }) => event.state === 'active'),
    error: count(({ event }) => event.state === 'error'),
    retried: count(isRetried),
    seconds: Number(seconds.toFixed(3)),
    over_allocated: audit.overAllocated,
    leaked: audit.leaked,
  };
}

function show({ terminal }: Context, settings: DemoSettings, outcome: DemoOutcome): void {
  const { green, red, bold } = terminal.colours;
  const { built, audit } = outcome;
  const figures = figuresOf(outcome);
  const times = built.map(({ tookMs }) => tookMs);
  const active = built.filter(({ event }) => event.state === 'active');
  const failed = built.filter(({ event }) => event.state === 'error');
  const spread = countBy(active, ({ event }) => event.host).map(([, count]) => count);
  const atOnce = Math.min(settings.builds, BUILDS_IN_FLIGHT);
  const reasons = countBy(failed, ({ event }) => event.fault?.reason ?? 'unknown');
  const rows = [
    [
      'placed',
      figures.active,
      `on ${counted(spread.length, 'host')}, ${Math.min(...spread)} to ${Math.max(...spread)} each`,
    ],
    ['retried on an alternate', figures.retried, `${active.filter(isRetried).length} of them placed`],
    ...reasons.map(([reason, count]) => [`failed: ${reason}`, count, '']),
    [
      'time to place, p50',
      percentile(times, 50),
      `ms: ${atOnce} requested at once, a build takes about ${BUILD_LATENCY_MS}`,
    ],
    ['time to place, p99', percentile(times, 99), 'ms'],
  ];
  terminal.print(`\n${table(terminal, ['OUTCOME', '', ''], rows)}`);
  const wrong = audit.overAllocated + audit.leaked;
  const verdict = wrong === 0 ? green('the store and the hosts agree') : red('the store and the hosts DISAGREE');
  terminal.print(`\n${bold(verdict)}: over-allocated ${audit.overAllocated}, leaked ${audit.leaked}`);
  terminal.print(`${processesOf(settings)}, ${figures.seconds} s`);
  terminal.note(NEXT);
}

function isRetried({ event }: DemoOutcome['built'][number]): boolean {
  return event.attempts.length > 1;
}
