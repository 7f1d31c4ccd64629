import type { CapacityPage, FlavorFit } from '../../api/capacity';
import { link } from '../state/router';
import { amounts, number, plural } from '../ui/format';
import { Empty, Section } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** Instances of each flavor that still fit, in all and by zone. */
export function WhatFits({ page: { flavors, zones } }: { page: CapacityPage }) {
  return (
    <Section title="What still fits">
      {flavors === undefined && <Empty>The flavors are unknown: no conductor answers.</Empty>}
      {flavors?.length === 0 && <Empty>There are no flavors yet: berth flavor create makes one.</Empty>}
      {flavors !== undefined && flavors.length > 0 && (
        <div class="scroll" tabIndex={0}>
          <Table columns={columnsOf(zones.map(({ zone }) => zone))} rows={flavors} keyOf={({ name }) => name} />
        </div>
      )}
      <p class="note">
        Each count adds up the hosts for one flavor alone, by amounts and required traits. It ignores quotas and groups.
        A link asks a scheduler, which applies every filter.
      </p>
    </Section>
  );
}

function columnsOf(zones: readonly string[]): readonly TableColumn<FlavorFit>[] {
  const byZone = zones.map((zone, i): TableColumn<FlavorFit> => {
    return {
      head: zone,
      isNumber: true,
      cell: ({ name, byZone: counts }) => (
        <a href={link('/explain', { flavor: name, zone })}>{number(counts[i] ?? 0)}</a>
      ),
    };
  });
  return [
    { head: 'Flavor', isName: true, cell: ({ name }) => <a href={link('/explain', { flavor: name })}>{name}</a> },
    {
      head: 'More',
      isNumber: true,
      cell: ({ name, total, hosts }) => (
        <>
          <a href={link('/explain', { flavor: name })}>
            <strong>{number(total)}</strong>
          </a>
          <small>
            on <a href={`${link('/explain', { flavor: name })}#hosts`}>{plural(hosts, 'host')}</a>
          </small>
        </>
      ),
    },
    ...(zones.length > 1 ? byZone : []),
    {
      head: 'Each takes',
      cell: ({ resources, traits }) => (
        <>
          {amounts(resources)}
          {traits.length > 0 && <small>{traits.join(', ')}</small>}
        </>
      ),
    },
  ];
}
