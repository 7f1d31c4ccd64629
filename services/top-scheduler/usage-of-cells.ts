import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { type ListUsageRequest, type ListUsageResponse, listUsageMethod } from '#libs/contracts/quotas';
import { BerthError } from '#libs/domain/errors';
import { mergeUsage } from '#libs/fleet-settings/merge-usage';
import type { SelectCellDeps } from './ask-cell';

/**
 * Usage of the fleet: the sum of what the ledgers of all cells say, page by page.
 *
 * @throws BerthError `unavailable / cell_not_asked`: a cell does not answer, and a bill without it would be wrong.
 */
export async function usageOfCells(
  asked: ListUsageRequest,
  { cells, config }: Pick<SelectCellDeps, 'cells' | 'config'>,
): Promise<ListUsageResponse> {
  const answers = [...cells.values()].map(async ({ name, link }) => {
    try {
      const on = { bus: link.bus, queue: RPC_SCHEDULER };
      return await callMethod(on, listUsageMethod, asked, { timeoutMs: config.askTimeoutMs });
    } catch (thrown) {
      const { code, message } = BerthError.from(thrown);
      if (code === 'invalid_argument') throw thrown;
      const details = { details: { cell: name }, cause: thrown };
      throw new BerthError(
        'unavailable',
        'cell_not_asked',
        `cell ${name} does not tell its usage: ${message}`,
        details,
      );
    }
  });
  return mergeUsage(asked, await Promise.all(answers));
}
