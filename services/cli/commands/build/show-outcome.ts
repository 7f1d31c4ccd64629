import type { Build } from '#libs/client/client';
import { spelled } from '#libs/client/nova-states';
import type { InstanceEvent } from '#libs/contracts/instance';
import type { Answer } from '../../answers/answer';
import { attemptSummary, showState } from '../../views/attempt-summary';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/**
 * The outcome of each instance of a request. Text that several share, such as a long diagnosis, is printed once, below.
 */
export function showOutcome(terminal: Terminal, events: readonly InstanceEvent[]): void {
  const summaries = events.map(attemptSummary);
  const counts = new Map<string, number>();
  for (const summary of summaries) counts.set(summary, (counts.get(summary) ?? 0) + 1);
  const shared = [...counts].filter(([summary, count]) => summary !== '' && count > 1);
  const rows = events.map((event, i) => {
    const at = shared.findIndex(([summary]) => summary === summaries[i]);
    const summary = at === -1 ? (summaries[i] ?? '') : `see ${at + 1} below`;
    return [{ uuid: event.instanceUuid }, event.name, showState(terminal, event.state), event.host, summary];
  });
  terminal.print(table(terminal, ['INSTANCE', 'NAME', 'STATE', 'HOST', 'ATTEMPTS'], rows));
  for (const [i, [summary, count]] of shared.entries()) {
    terminal.print(`${i === 0 ? '\n' : ''}${i + 1}: ${count} of ${events.length}: ${summary}`);
  }
}

/** The immediate answer of `berth build`. As JSON it has an object for each instance, as with `--wait`. */
export function requested({ requestId, instanceUuids }: Build): Answer {
  return {
    plain: instanceUuids.map((instanceUuid) => ({ requestId, instanceUuid })),
    names: instanceUuids,
    draw(terminal) {
      for (const uuid of instanceUuids) terminal.print(uuid);
      terminal.note(`requested; 'berth instance list --request ${requestId}' shows their state`);
    },
  };
}

/** The answer of `berth build --wait`. */
export function ended(events: readonly InstanceEvent[]): Answer {
  return {
    plain: events.map(spelled),
    names: events.map(({ instanceUuid }) => instanceUuid),
    draw: (terminal) => showOutcome(terminal, events),
  };
}
