import { matchesSpec } from '#libs/domain/extra-specs/matches-spec';
import type { HostState } from '../decision/host-state';
import type { HostFilter } from './filter';

const SCOPE = 'capabilities:';

/** `capabilities:hypervisor_type=QEMU`, `capabilities:cpu_info:vendor=Intel`: what the node says of itself. */
export const computeCapabilitiesFilter: HostFilter = {
  name: 'ComputeCapabilitiesFilter',
  runsOnRebuild: false,
  prepare({ request: { extraSpecs } }) {
    const asked = [...extraSpecs].flatMap(([key, wanted]) => {
      if (key.startsWith(SCOPE)) return { path: key.slice(SCOPE.length).split(':'), wanted, isScoped: true };
      return key.includes(':') ? [] : { path: [key], wanted, isScoped: false };
    });
    if (asked.length === 0) return undefined;
    return (host) => {
      for (const { path, wanted, isScoped } of asked) {
        const value = capabilityOf(host, path);
        const name = path.join(':');
        if (value === undefined) {
          // Without a scope it may be meant for another filter.
          if (isScoped) return `capability ${name} is not known from Nova's API`;
        } else if (!matchesSpec(value, wanted)) return `capability ${name} is ${value}, not ${wanted}`;
      }
      return undefined;
    };
  },
};

function capabilityOf({ node }: HostState, path: readonly string[]): string | undefined {
  let value: unknown = node.capabilities;
  for (const name of path) {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    if (!isObject) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
