import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { ConfigOf } from '#libs/runtime/config';
import type { baremetalOptions } from './baremetal-options';
import { askOverHttp } from './redfish/redfish-http';
import { classOf, fileSource } from './sources/file-source';
import type { NodeSource } from './sources/node-source';
import { redfishSource } from './sources/redfish-source';

const REDFISH = 'redfish+';

/** The configured source of a pool's nodes. @throws BerthError `invalid_argument / bad_config`. */
export function nodeSource(config: ConfigOf<typeof baremetalOptions>, clock: Clock): NodeSource {
  const { nodes, nodeClass, redfishUser: user, redfishPassword: password, redfishTimeoutMs: timeoutMs } = config;
  if (nodes === '') {
    const message = 'BERTH_AGENT_NODES must name the nodes of the pool: a file, or redfish+http(s)://HOST';
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const login = { user, password, timeoutMs, clock, ask: askOverHttp(config.redfishCaFile) };
  const resourceClass = nodeClass === '' ? '' : classOf(nodeClass);
  if (!nodes.startsWith(REDFISH)) return fileSource(nodes, resourceClass, login);
  return redfishSource(nodes.slice(REDFISH.length).replace(/\/+$/, ''), resourceClass, login);
}
