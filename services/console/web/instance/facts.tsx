import type { InstancePage as Page } from '../../api/instance';
import { link } from '../state/router';
import { serverNow } from '../state/stream';
import { amounts, dateOf, plural, span, standingWords, words } from '../ui/format';
import { Ago, type Fact, Facts, HostLink, HostLinks, ProjectLink } from '../ui/parts';

/** An instance's request, and where it stands. */
export function InstanceFacts({ page }: { page: Page }) {
  const { migration, waiting, gang } = page;
  const facts: Fact[] = [
    ['Host', page.host === '' ? '' : <HostLink key="host" host={page.host} />],
    [
      'Flavor',
      page.flavor === '' ? (
        ''
      ) : (
        <a key="flavor" href={link('/explain', { flavor: page.flavor })}>
          {page.flavor}
        </a>
      ),
    ],
    ['Resources', amounts(page.resources)],
    ...page.asked.map(([label, value]): [string, string] => [label[0]?.toUpperCase() + label.slice(1), value]),
    ['Alternates left', page.alternates.length === 0 ? '' : <HostLinks key="alternates" hosts={page.alternates} />],
    [
      'Move',
      migration === undefined
        ? ''
        : [
            `${words(migration.kind)}, ${words(migration.phase)}: `,
            <HostLink key="source" host={migration.sourceHost} />,
            ' → ',
            migration.destHost === '' ? 'not selected yet' : <HostLink key="dest" host={migration.destHost} />,
          ],
    ],
    [
      'Waits for',
      waiting === undefined
        ? ''
        : `${waiting.waitsFor.map(words).join(', ')}${waiting.place > 0 ? `, place ${waiting.place}` : ''}, until ${dateOf(waiting.untilMs)}`,
    ],
    ['Stands by', waiting?.standing ? standingWords(waiting.standing) : ''],
    ['Gang', gang === undefined ? '' : <Gang key="gang" gang={gang} requestId={page.requestId} />],
    ['Ends by itself', page.endsAtMs === 0 ? '' : `in ${span(Math.max(0, page.endsAtMs - serverNow()))}`],
    ['Project', <ProjectLink key="project" id={page.projectId} />],
    ['User', page.userId],
    ['Request', <code key="request">{page.requestId}</code>],
    ['Created', <Ago key="created" ms={page.createdAtMs} />],
    ['Changed', <Ago key="changed" ms={page.updatedAtMs} />],
  ];
  return <Facts facts={facts} />;
}

const AFTER_A_LOSS = { restore: ', lost members are built again', end: ', it ends once losses bring it below that' };

/** A gang with a link to its members. */
function Gang({
  gang: { minCount, count, onLoss },
  requestId,
}: {
  gang: NonNullable<Page['gang']>;
  requestId: string;
}) {
  return (
    <>
      at least {minCount} of <a href={link('/instances', { request: requestId })}>{plural(count, 'instance')}</a>
      {onLoss === undefined ? '' : AFTER_A_LOSS[onLoss]}
    </>
  );
}
