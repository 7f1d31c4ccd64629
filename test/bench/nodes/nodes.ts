import type { Bench } from '../harness';
import { measureHosts } from './hosts-part';
import { measurePool } from './pool-part';
import { measureRefusals } from './refusal-part';

/**
 * How a cell grows. Flags: `--part pool`, `--part refusal` or `--part hosts` (all unless given), `--seconds 60` at rest;
 * of the pool `--nodes 10000`, `--agents 10`, `--report-interval-ms 20000` (a lease is two of them);
 * of refusals `--changes-per-s 10`, `--refusal-seconds 20`, `--refusal-nodes 1000`;
 * of the hosts `--hosts 100000`, `--host-report-interval-ms 60000`, `--select-seconds 10`.
 */
export const nodesBench: Bench = {
  name: 'nodes',
  purpose:
    '10,000 nodes of bare metal in 10 agents, one of which dies; refusals after changes; 100,000 fake hosts, one scheduler',
  async run(context) {
    const { part = 'all' } = context.flags;
    const isAsked = (name: string) => part === 'all' || part === name;
    return {
      ...(isAsked('pool') ? await measurePool(context) : {}),
      ...(isAsked('refusal') ? await measureRefusals(context) : {}),
      ...(isAsked('hosts') ? await measureHosts(context) : {}),
    };
  },
};
