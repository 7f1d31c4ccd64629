import type { RedisClient } from '../../redis/connect';
import type { LuaScript } from '../../redis/scripts';
import { batchPerTick } from '../../runtime/batch-per-tick';
import { digestOf, reportHost } from '../commands/reports/report-host';
import { type Reader, transact } from '../commands/transaction';
import type { HostReport, ReportResult } from '../port/placement-store';
import type { CommitTransaction } from './commit-batch';
import type { Keys } from './keys';

/** Reports in one run of the script: Redis does nothing else meanwhile. */
const MAX_BATCH = 128;

/**
 * Takes reports of hosts.
 *
 * Most reports of a fleet say what the host's last one said, and to decide each as a transaction costs two round trips of
 * its own. So the store keeps of each host a digest of its last report with the revisions of the rows that say the same,
 * and a report goes as a heartbeat first, those of one tick in one run of `lua/heartbeat.lua`. Only when it says something
 * new, or when an operator or a client wrote one of the rows since, is it decided as a transaction. What it costs: such a
 * report takes a round trip more.
 *
 * @returns what takes one of them; it throws BerthError as `PlacementStore.commit`
 */
export function reportHosts(
  client: RedisClient,
  script: LuaScript,
  { heartbeats, provider, host, sequence, holder }: Keys,
  { reader, commit }: { readonly reader: Reader; readonly commit: CommitTransaction },
): (report: HostReport) => Promise<ReportResult> {
  const beat = batchPerTick<HostReport, string>(
    MAX_BATCH,
    () => 1,
    async (batch) => {
      const args = batch.flatMap((report) => [
        report.host,
        report.sequence,
        digestOf(report),
        report.atMs,
        report.epoch,
      ]);
      return (await client.runScript(script, [heartbeats, provider, host, sequence, holder], args)) as string[];
    },
  );
  return async (report) => {
    const answer = await beat(report);
    if (answer === 'unchanged') return { kind: answer };
    if (answer !== 'changed') return { kind: 'stale', present: Number(answer) };
    return transact(reader, (tx) => reportHost(tx, report), commit) as Promise<ReportResult>;
  };
}
