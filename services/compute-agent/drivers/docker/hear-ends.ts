import { sleep } from '#libs/domain/clock';
import { backoffMs } from '#libs/runtime/backoff';
import type { RuntimeDeps } from '#libs/runtime/service';
import { type EngineHost, isOfCell, LABELS } from './container-options';
import type { Engine } from './engine';

/** Pauses between reconnections to the engine's events. */
const RETRY = { firstMs: 200, maxMs: 5_000 };

export interface EndListener {
  /** Called once the events arrive: earlier ends must be looked up. */
  onListening(): Promise<void>;
  /** A container of the instance has ended; it may run again by now. */
  onEnd(uuid: string): Promise<void>;
}

/** Listens for ends of a host's containers until the signal aborts. Never rejects. */
export async function hearEnds(
  { docker, host, around }: { readonly docker: Engine; readonly host: EngineHost; readonly around: RuntimeDeps },
  listener: EndListener,
  signal: AbortSignal,
): Promise<void> {
  const label = [`${LABELS.host}=${host.name}`];
  const filters = { type: ['container'], event: ['die'], label };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const events = await docker.getEvents(filters, signal);
      await listener.onListening();
      failures = 0;
      for await (const line of events) {
        const labels = labelsOf(line);
        if (isOfCell(labels, host.cell)) await listener.onEnd(labels[LABELS.instance] ?? '');
      }
    } catch (error) {
      if (signal.aborted) return;
      around.log.warn({ event: 'engine_unavailable', host: host.name, error }, 'Docker does not answer, retrying');
    }
    await sleep(around.clock, backoffMs(failures + 1, RETRY, around.random), signal);
  }
}

function labelsOf(line: string): Record<string, string> {
  const { Actor } = JSON.parse(line) as { readonly Actor: { readonly Attributes: Record<string, string> } };
  return Actor.Attributes;
}
