import type { Live } from './live';
import type { Sink } from './topic';

/**
 * Sends a page all hosts, then changes; all again to a browser that fell behind, once it has caught up.
 *
 * @param retryMs  interval of looking whether a browser has caught up
 */
export function publishFleet(live: Pick<Live, 'fleet' | 'onFleet' | 'clock'>, sink: Sink, retryMs: number): () => void {
  let cancel: (() => void) | undefined;
  const sendAll = () => {
    cancel = sink.isBehind ? live.clock.after(retryMs, sendAll) : undefined;
    if (cancel === undefined) sink.send('fleet_all', JSON.stringify(live.fleet.all));
  };
  sendAll();
  const stopListening = live.onFleet((change) => {
    if (cancel !== undefined) return;
    if (change === 'all' || sink.isBehind) sendAll();
    else sink.send('fleet', change);
  });
  return () => {
    stopListening();
    cancel?.();
  };
}
