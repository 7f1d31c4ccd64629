import type { Clock } from '#libs/domain/clock';
import { askIronic, type IronicLogin } from '../ironic/ironic-api';
import { ironicController } from '../ironic/ironic-controller';
import { IronicNodes } from '../ironic/ironic-nodes';
import type { NodeDescription, NodeSource } from './node-source';

export interface IronicSourceParts {
  /** `https://ironic:6385` */
  readonly root: string;
  /** Class of nodes that Ironic shows without one; '' for none. */
  readonly resourceClass: string;
  readonly login: IronicLogin;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly pollMs: number;
  /** Fields of `instance_info` of all instances. */
  readonly instanceInfo: Readonly<Record<string, unknown>>;
}

/** All nodes of an Ironic. A node is known by its uuid, as in Nova; its name may change. */
export function ironicSource(parts: IronicSourceParts): NodeSource {
  const { clock, pollMs, instanceInfo } = parts;
  const nodes = new IronicNodes(askIronic(parts), clock, pollMs);
  return {
    async list() {
      return [...(await nodes.list()).values()].map(({ uuid, resourceClass, traits, resources }): NodeDescription => {
        return {
          name: uuid,
          resourceClass: resourceClass || parts.resourceClass,
          traits,
          resources,
          systemId: uuid,
        };
      });
    },
    controller: (name) => ironicController(name, nodes, { instanceInfo, clock }),
  };
}
