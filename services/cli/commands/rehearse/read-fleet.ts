import { readFile, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { openInstanceStore } from '#libs/instances/open';
import { openPlacementStore } from '#libs/placement/open';
import type { PlacementConfig } from '#libs/placement/options';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { decodeSnapshot, encodeSnapshot, type FleetSnapshot, takeSnapshot } from '../../../rehearsal/main';
import { requireServer } from '../../client/require-server';
import type { Context } from '../../context';

/** The largest snapshot that is unpacked: what a string holds. */
const MAX_BYTES = 500_000_000;
const ZIPPED = '.gz';
/** The file that is standard input. */
const STANDARD_INPUT = '-';

/**
 * The fleet of a file that was saved (`-` for standard input), or of the store that the settings name, of which nothing is written.
 *
 * @throws BerthError `invalid_argument / unreadable_file`, `/ bad_snapshot`; `unavailable / store_away`
 */
export function readFleet(context: Context, file: string | undefined, config: PlacementConfig): Promise<FleetSnapshot> {
  return file === undefined ? readStore(context, config) : readSaved(file);
}

/** Writes a snapshot, compressed where the name ends in .gz. @throws BerthError `invalid_argument / unwritable_file` */
export async function saveFleet(snapshot: FleetSnapshot, file: string): Promise<void> {
  const text = encodeSnapshot(snapshot);
  await writeFile(file, file.endsWith(ZIPPED) ? gzipSync(text) : text, { mode: 0o600 }).catch((thrown: unknown) => {
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw invalidArgument('unwritable_file', `${file} can not be written: ${code ?? message}`);
  });
}

async function readSaved(file: string): Promise<FleetSnapshot> {
  try {
    const bytes = file === STANDARD_INPUT ? await buffer(process.stdin) : await readFile(file);
    return decodeSnapshot(
      (file.endsWith(ZIPPED) ? gunzipSync(bytes, { maxOutputLength: MAX_BYTES }) : bytes).toString(),
    );
  } catch (thrown) {
    if (thrown instanceof BerthError) throw thrown;
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw invalidArgument('unreadable_file', `${file} can not be read: ${code ?? message}`);
  }
}

async function readStore({ clock, random, interrupted }: Context, config: PlacementConfig): Promise<FleetSnapshot> {
  requireServer(config.storeUrl, 'BERTH_STORE_URL', 'redis://host:6379');
  const around = { clock, random, log: silentLog, metrics: createMetrics({}), onlyReads: true };
  const within = new AbortController();
  const abort = () => within.abort();
  interrupted.addEventListener('abort', abort, { once: true });
  const cancelTimer = clock.after(config.storeTimeoutMs, abort);
  try {
    const placement = await openPlacementStore(config, around, within.signal);
    try {
      const instances = await openInstanceStore(config, around, within.signal);
      cancelTimer();
      try {
        const stores = { placement, instances, flavors: instances };
        return await takeSnapshot(stores, config.cell, () => placement.clock.now());
      } finally {
        await instances.close();
      }
    } finally {
      await placement.close();
    }
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (error.reason !== 'cancelled' || interrupted.aborted) throw thrown;
    throw new BerthError('unavailable', 'store_away', `no store at ${config.storeUrl.replace(/\/\/.*@/, '//')}`);
  } finally {
    cancelTimer();
    interrupted.removeEventListener('abort', abort);
  }
}
