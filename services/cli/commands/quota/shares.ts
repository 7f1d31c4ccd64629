import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { FairShareView } from '#libs/contracts/quotas';
import { showAnswer } from '../../answers/answer';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { showSeconds } from '../../views/format';
import { listingCommand, sorted } from '../../views/listing';
import { table } from '../../views/table';
import { shareOf, shareText } from './share-text';

const HEAD = ['RANK', 'PROJECT', 'NUMBER', 'NOW', 'LATELY', 'WEIGHT'];

const listing = {
  nameOf: ({ projectId }: FairShareView) => projectId,
  sorts: { rank: ({ rank }: FairShareView) => rank, lately: ({ lately }: FairShareView) => -lately },
};

const OFF = 'Fair share is off: projects take turns. BERTH_SCHEDULER_FAIR_SHARE_HALF_LIFE_MS sets its half-life.';

/** `berth quota shares`: what projects use and used lately, which decides who of those who wait goes first. */
export function sharesCommand(context: Context): CommandUnknownOpts {
  const command = listingCommand('shares', listing)
    .description("What projects use and used lately: of those who wait, the lowest number goes first; a tenant's own.")
    .option('--project <id>', 'of this project only');
  useClient(context, command, (client, flags) =>
    showAnswer(context, flags, async () => {
      const { halfLifeMs, shares } = await client.fairShares(flags.project);
      const shown = sorted(shares, { ...flags, sortBy: flags.sortBy ?? 'rank' }, listing);
      const rows = shown.map((share) => [
        share.rank,
        share.projectId,
        shareText((share.now + share.lately) / share.weight),
        shareOf(share.now, share.nowClass),
        shareOf(share.lately, share.latelyClass),
        share.weight,
      ]);
      return {
        plain: { halfLifeMs, shares: shown },
        names: shown.map(listing.nameOf),
        draw(terminal) {
          if (halfLifeMs === 0) return terminal.print(OFF);
          terminal.print(table(terminal, HEAD, rows));
          const halved = showSeconds(halfLifeMs / 1_000);
          terminal.note(
            `parts of the fleet, by each project's scarcest class; what was used lately halves in ${halved}`,
          );
        },
      };
    }),
  );
  return addHelp(command, [['berth quota shares', 'every project that uses, used lately or has a weight']]);
}
