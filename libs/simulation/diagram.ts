import type { Entry } from './history';

const LANE_WIDTH = 9;

/**
 * A history as a sequence diagram in text: a lane for each party, in the order given, a line for each entry, time going
 * down; what was sent, or what a party did by itself, stands at the right.
 *
 * @param startMs  when the run began
 */
export function diagram(entries: readonly Entry[], parties: readonly string[], startMs: number): string {
  const lanes = parties.filter((party) => entries.some(({ from, to }) => from === party || to === party));
  const header = `${''.padStart(10)}${lanes.map((lane) => centred(lane)).join('')}`;
  const lines = entries.map(({ atMs, from, to, what }) => {
    const time = ((atMs - startMs) / 1_000).toFixed(4).padStart(9);
    return `${time} ${arrow(lanes, from, to)}  ${what}`;
  });
  return [header, ...lines].join('\n');
}

/** One line of lanes, with an arrow from one to the other; a party that acts by itself has a mark. */
function arrow(lanes: readonly string[], from: string, to: string): string {
  const cells = lanes.map((_, lane) => (lane === 0 ? 0 : LANE_WIDTH * lane) + Math.floor(LANE_WIDTH / 2));
  const line = Array.from({ length: LANE_WIDTH * lanes.length }, () => ' ');
  for (const at of cells) line[at] = '│';
  const [a, b] = [cells[lanes.indexOf(from)], cells[lanes.indexOf(to)]];
  if (a === undefined || b === undefined) return line.join('');
  if (a === b) line[a] = '●';
  else {
    const step = a < b ? 1 : -1;
    for (let at = a + step; at !== b; at += step) line[at] = '─';
    line[b - step] = a < b ? '▶' : '◀';
  }
  return line.join('');
}

function centred(name: string): string {
  const short = name.slice(0, LANE_WIDTH - 1);
  const left = Math.floor((LANE_WIDTH - short.length) / 2);
  return short.padStart(left + short.length).padEnd(LANE_WIDTH);
}
