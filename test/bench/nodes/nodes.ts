import type { Bench } from '../harness';
import { measureHosts } from './hosts-part';
import { measurePool } from './pool-part';
import { measureRefusals } from './refusal-part';

/** Growth of a cell: many hosts, many nodes. */
export const nodesBench: Bench = {
  name: 'nodes',
  purpose:
    '10,000 nodes of bare metal in 10 agents, one of which dies; refusals after changes; 100,000 fake hosts, one scheduler',
  flags: {
    part: 'all; or pool, refusal, hosts',
    seconds: '60, at rest',
    nodes: '10000, of the pool',
    agents: '10, of the pool',
    'report-interval-ms': '20000, of the pool; a lease is two of them',
    'changes-per-s': '10, of refusals',
    'refusal-seconds': '20',
    'refusal-nodes': '1000',
    hosts: '100000',
    'host-report-interval-ms': '60000',
    'select-seconds': '10',
  },
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
