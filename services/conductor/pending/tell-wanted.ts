import { capacityWantedCodec, MAX_WANTED_SHAPES, type WantedHosts } from '#libs/contracts/capacity-wanted';
import { type HostSummary, listHostsMethod } from '#libs/contracts/hosts';
import { MAX_PAGE } from '#libs/contracts/limits';
import { CAPACITY_TOPIC } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';
import { capacityWanted, shapesOf, type WaitingInstance } from '#libs/domain/queueing/capacity-wanted';
import { shapeOfHost } from '#libs/fleet-settings/host-shapes';
import type { Conductor } from '../conductor';
import { callScheduler } from '../steps/call-scheduler';

/** The lease of the conductor that tells which capacity is wanted. */
export const WANTED_LEASE = 'capacity-wanted';

/** Instances that are looked at: more hosts are asked for when these are served. */
const MOST_WAITING = 1_000;
/** Hosts whose shapes are looked at. */
const MOST_HOSTS = 50_000;

/**
 * Tells operators' programs which hosts would serve what waits for capacity: a gauge, and an event each time, as long as
 * anything waits, and once after that. An autoscaler that was away hears the next one. One conductor does, by lease; the
 * others show nothing.
 */
export function wantedTeller(c: Conductor, holder: string): () => Promise<void> {
  let isTold = false;
  return async () => {
    const { wantedIntervalMs } = c.config;
    c.measured.wanted.reset();
    if ((await c.leases.acquire(WANTED_LEASE, holder, 3 * wantedIntervalMs)) === undefined) return;
    const records = await c.instances.list({ state: 'pending' }, undefined, MOST_WAITING);
    if (records.length === 0 && !isTold) return;
    const wanted = records.length === 0 ? [] : await hostsFor(c, records.map(waitingOf));
    for (const { like, hosts } of wanted) c.measured.wanted.set({ like }, hosts);
    const body = capacityWantedCodec.encode({ waiting: records.length, wanted, atMs: c.clock.now() });
    await c.bus.publish(CAPACITY_TOPIC, { type: capacityWantedCodec.type, body });
    isTold = records.length > 0;
  };
}

async function hostsFor(c: Conductor, waiting: readonly WaitingInstance[]): Promise<readonly WantedHosts[]> {
  const hosts: HostSummary[] = [];
  for (let marker = ''; hosts.length < MOST_HOSTS; ) {
    const page = await callScheduler(c, listHostsMethod, { host: '', marker, limit: MAX_PAGE });
    hosts.push(...page.hosts);
    marker = page.hosts.at(-1)?.host ?? '';
    if (page.hosts.length < MAX_PAGE) break;
  }
  const wanted = capacityWanted(waiting, shapesOf(hosts.map(shapeOfHost))).slice(0, MAX_WANTED_SHAPES);
  return wanted.map(({ shape, hosts: count, serves }) => ({ ...shape, hosts: count, serves }));
}

function waitingOf({ requestSpec, waiting }: Instance): WaitingInstance {
  const { resources, requiredTraits, forbiddenTraits } = requestSpecCodec.decode(requestSpec);
  return { resources, requiredTraits, forbiddenTraits, waitsFor: waiting?.waitsFor ?? [] };
}
