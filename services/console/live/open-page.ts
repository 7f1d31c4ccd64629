import { invalidArgument } from '#libs/domain/errors';
import type { Live } from './live';
import { type Sink, tell } from './topic';

/** Tells a page what it shows, as long as it is open. Returns how to stop. */
type Page = (sink: Sink) => () => void;

const SHELL_MS = 1_000;

/** The page that a stream's query asks for. @throws BerthError `invalid_argument / bad_page`. */
export function openPage(live: Live, query: URLSearchParams): Page {
  const page = pageOf(live, query);
  return (sink) => {
    const stops = [
      tell(sink, live.clock, {
        event: 'shell',
        read: () => live.shell(),
        watch: (changed) => live.every(SHELL_MS, changed),
        minMs: SHELL_MS,
      }),
      page(sink),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  };
}

function pageOf(live: Live, query: URLSearchParams): Page {
  const page = query.get('page') ?? '';
  switch (page) {
    case 'fleet':
      return (sink) => tellFleet(live, sink);
    case '':
      return () => () => {};
    default:
      throw invalidArgument(
        'bad_page',
        `page must be fleet, host, instance, builds or capacity, not '${page}'`,
        'page',
      );
  }
}

/** All hosts, then what changes; all again to a browser that could not follow. */
function tellFleet(live: Live, sink: Sink): () => void {
  let isComplete = false;
  const sendAll = () => {
    sink.send('fleet_all', JSON.stringify(live.fleet.all));
    isComplete = true;
  };
  sendAll();
  return live.onFleet((change) => {
    if (sink.isBehind) isComplete = false;
    else if (change === 'all' || !isComplete) sendAll();
    else sink.send('fleet', change);
  });
}
