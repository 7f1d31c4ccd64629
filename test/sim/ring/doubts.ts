import type { Random } from '#libs/domain/random';
import { pick } from '../actions/common';
import { standStill, takeStoreAway } from '../world/faults';
import { power } from './operators';
import type { Perform } from './ring-checker';
import { AGENTS } from './ring-world';
import { LEASE_MS } from './settings';
import { build, stopOrStart, terminate } from './tenants';

/** An agent stands still for longer than its leases last, with orders on their way to it. */
export function standsStillWithOrders(random: Random): Perform {
  const agent = pick(random, AGENTS);
  const afterMs = random.next() * 1_500;
  const forMs = LEASE_MS + random.next() * 6_000;
  const orders = ordersOf(random);
  return (run) => {
    orders(run);
    run.fleet.later(afterMs, () => standStill(run.fleet, agent, forMs));
  };
}

/** The store is away for longer than leases last, with orders on their way: nobody knows what it manages. A member may leave meanwhile. */
export function storeAwayBeyondLeases(random: Random): Perform {
  const leaver = random.next() < 0.5 ? pick(random, AGENTS.slice(1)) : undefined;
  const afterMs = random.next() * 1_500;
  const forMs = LEASE_MS + random.next() * 5_000;
  const orders = ordersOf(random);
  return (run) => {
    orders(run);
    run.fleet.later(afterMs, () => {
      takeStoreAway(run, run.fleet, forMs);
      if (leaver !== undefined) standStill(run.fleet, leaver, forMs + LEASE_MS);
    });
  };
}

/** A store goes back while nodes are built and orders are on their way. */
export function storeGoesBackInBuilds(random: Random): Perform {
  const afterMs = 500 + random.next() * 3_000;
  const byMs = random.next() * 6_000;
  const orders = ordersOf(random);
  return (run) => {
    orders(run);
    run.fleet.later(afterMs, () => void run.checker.storeGoesBackTo(run.fleet.time.nowMs - byMs));
  };
}

/** An agent stands still until others manage its nodes, of which the store has forgotten: it and they think that they hold them. */
export function managerIsForgotten(random: Random): Perform {
  const agent = pick(random, AGENTS);
  const forMs = LEASE_MS + 1_000 + random.next() * 4_000;
  const orders = ordersOf(random);
  return (run) => {
    standStill(run.fleet, agent, forMs);
    run.fleet.later(forMs - 100, () => {
      orders(run);
      void run.checker.storeGoesBackTo(run.fleet.time.nowMs - forMs);
    });
  };
}

/** Something is built, ended, stopped or started, and switched. */
function ordersOf(random: Random): Perform {
  const all = [build(random), terminate(random), stopOrStart(random), build(random), power(random)];
  return (run) => {
    for (const order of all) order(run);
  };
}
