import { BerthError, isRetryable } from '#libs/domain/errors';
import { retryWithBackoff } from '#libs/runtime/backoff';
import type { NodeDescription, NodeSource } from '../drivers/baremetal/sources/node-source';
import { type NodeStoreParts, readNodes, readPool } from './node-store';

const never = new AbortController().signal;

/**
 * Lists the nodes of a pool under their machines' names in the store. An inventory that is away, or refuses the
 * account, is asked again with growing pauses: exiting instead would repeat the requests at the restart rate of the
 * process.
 *
 * @throws BerthError `invalid_argument / bad_nodes`
 */
export function listNodes(
  source: NodeSource,
  parts: Omit<NodeStoreParts, 'drainEnd'>,
): Promise<readonly NodeDescription[]> {
  const { clock, random, log, config } = parts;
  const asking = { ...parts, drainEnd: never };
  const recall = async (alsoCalled: readonly string[]) => {
    const known = await readPool(asking);
    // A scheduler of an older version lists no pool.
    const others = known.length > 0 ? [] : [...(await readNodes(asking, [...new Set(alsoCalled)])).values()];
    return [...known, ...others.filter(({ pool }) => pool === config.pool)];
  };
  const pauses = { firstMs: config.nodePollMs, maxMs: Math.max(config.nodePollMs, config.retryMaxMs) };
  const mayRetry = (thrown: unknown) => {
    const error = BerthError.from(thrown);
    return isRetryable(error) || error.reason === 'login_refused';
  };
  return retryWithBackoff(() => source.list(recall), {
    clock,
    random,
    ...pauses,
    signal: never,
    isRetryable: mayRetry,
    onFailure: (error) => log.warn({ event: 'nodes_not_listed', error }, 'node inventory not read, retrying'),
  });
}
