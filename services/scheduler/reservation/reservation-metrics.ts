import { isUnplaced } from '#libs/domain/queueing/reservation';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Metrics } from '#libs/runtime/metrics';

/** Measures reservations and their units. */
export function measureReservations(metrics: Metrics, mirror: Pick<PlacementView, 'reservations'>): void {
  metrics.gauge('berth_scheduler_reservation_units', 'Units of a reservation.', ['reservation'], (one) => {
    for (const { name, units } of mirror.reservations()) one.set({ reservation: name }, units.length);
  });
  metrics.gauge(
    'berth_scheduler_reservation_unplaced',
    'Units of a reservation that have no host now.',
    ['reservation'],
    (one) => {
      for (const { name, units } of mirror.reservations()) {
        one.set({ reservation: name }, units.filter(isUnplaced).length);
      }
    },
  );
}
