import { Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import type { HostSummary } from '#libs/contracts/hosts';
import type { InstanceEvent } from '#libs/contracts/instance';
import { sleep } from '#libs/domain/clock';
import { useClient } from '../client/with-client';
import type { Context } from '../context';
import { addHelp } from '../help-text';
import { SORTINGS, type Sorting, topLines } from '../top/top-view';
import { wholeFrom } from './number-flags';

/** Window of the rates. */
const WINDOW_MS = 10_000;
/** Limit of the remembered events. */
const MOST_EVENTS = 10_000;
/** The first letter of a sorting selects it. */
const KEYS = `${SORTINGS.map((sorting) => `${sorting.charAt(0)} ${sorting}`).join(', ')}, q quit`;
const CTRL_C = '\x03';
/** Limit of the lines without a screen. */
const PRINTED_LINES = 60;

/** `berth top` */
export function topCommand(context: Context): CommandUnknownOpts {
  const command = new Command('top')
    .addOption(new Option('--sort <by>', 'how hosts are sorted').choices(SORTINGS).default('use' as const))
    .option('--interval <seconds>', 'seconds between updates', wholeFrom(1), 2)
    .option('--once', 'print once and end; the default without a terminal', false);
  useClient(context, command, async (client, { sort, interval, once }) => {
    if (once || !context.terminal.screen) {
      const moment = { hosts: await client.hosts(), events: [], windowMs: WINDOW_MS };
      context.terminal.print(
        topLines(context.terminal, context.clock, moment, { height: PRINTED_LINES, by: sort }).join('\n'),
      );
    } else await watch(context, client, sort, interval * 1_000);
  });
  return addHelp(command, [
    ['berth top', 'the fullest hosts and the newest builds, live, until q or Ctrl-C'],
    ['berth top --sort failures --once', 'one look, for a report'],
  ]);
}

/** Redraws until Ctrl-C or q; the screen is restored however it ends. */
async function watch(context: Context, client: Client, sort: Sorting, intervalMs: number): Promise<void> {
  const { terminal, clock, interrupted } = context;
  const { screen } = terminal;
  if (!screen) return;
  const events: InstanceEvent[] = [];
  const listening = remember(client, events);
  const leaving = new AbortController();
  const over = AbortSignal.any([interrupted, leaving.signal]);
  let by = sort;
  let hosts: readonly HostSummary[] | undefined;
  const draw = () => {
    if (hosts === undefined) return;
    const lines = topLines(terminal, clock, { hosts, events, windowMs: WINDOW_MS }, { height: screen.rows - 1, by });
    screen.draw([...lines, terminal.colours.dim(`by ${by}; ${KEYS}`)]);
  };
  screen.onKey((key) => {
    if (key === 'q' || key === CTRL_C) leaving.abort();
    by = SORTINGS.find((sorting) => sorting.startsWith(key)) ?? by;
    draw();
  });
  try {
    while (!over.aborted) {
      hosts = await Promise.race([client.hosts(), listening]);
      if (hosts === undefined) return;
      draw();
      await sleep(clock, intervalMs, over);
    }
  } finally {
    screen.end();
  }
}

async function remember(client: Client, events: InstanceEvent[]): Promise<undefined> {
  for await (const event of client.events()) {
    events.push(event);
    if (events.length > MOST_EVENTS) events.splice(0, MOST_EVENTS / 2);
  }
}
