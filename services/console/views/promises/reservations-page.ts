import type { ReservationStatus } from '#libs/contracts/reservations';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { ReservationRow, ReservationsPage } from '../../api/promises/reservations';
import type { Live } from '../../live/live';

/** Reads what the page of reservations shows. @throws BerthError `unavailable` */
export async function readReservationsPage({ parts: { client }, clock }: Live): Promise<ReservationsPage> {
  const nowMs = clock.now();
  const found = await client.reservations('');
  return { reservations: found.map((one) => rowOf(one, nowMs)).sort((a, b) => a.fromMs - b.fromMs) };
}

function rowOf({ reservation, state, reason, hosts }: ReservationStatus, nowMs: number): ReservationRow {
  const { name, fromMs, untilMs, count, requestSpec } = reservation;
  return {
    name,
    projectId: requestSpec.projectId,
    fromMs,
    untilMs,
    isOpen: fromMs <= nowMs && nowMs < untilMs,
    units: count,
    used: hosts.reduce((sum, { instances }) => sum + instances, 0),
    flavor: requestSpec.flavor?.name ?? '',
    resources: resourcesOf(requestSpec),
    hosts: hosts.map(({ host, units, instances }) => ({ host, units, used: instances })),
    isAtRisk: state === 'at_risk',
    reason,
  };
}

function resourcesOf(spec: RequestSpec): Resources {
  const { resources, requestGroups } = resolveSpec(spec, 'request_spec');
  return requestGroups.reduce<Resources>((sum, group) => addResources(sum, group.resources), resources);
}
