import type { Bench } from '../harness';
import { measureHosts } from './hosts-part';
import { measurePool } from './pool-part';

/**
 * How a cell grows. Flags: `--part pool` or `--part hosts` (both unless given), `--seconds 60` at rest;
 * of the pool `--nodes 10000`, `--agents 10`, `--report-interval-ms 20000` (a lease is two of them);
 * of the hosts `--hosts 100000`, `--host-report-interval-ms 60000`, `--select-seconds 10`.
 */
export const nodesBench: Bench = {
  name: 'nodes',
  purpose: '10,000 nodes of bare metal in 10 agents, one of which dies; 100,000 fake hosts with one scheduler',
  async run(context) {
    const { part = 'both' } = context.flags;
    return {
      ...(part === 'hosts' ? {} : await measurePool(context)),
      ...(part === 'pool' ? {} : await measureHosts(context)),
    };
  },
};
