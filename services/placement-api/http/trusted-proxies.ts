import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { invalidArgument } from '#libs/domain/errors';

/**
 * Checks the addresses and networks of trusted proxies, for fastify's `trustProxy`.
 *
 * @throws BerthError `invalid_argument / bad_config`
 */
export function trustedProxies(networks: readonly string[]): string[] | false {
  const wrong = networks.filter((network) => !isNetwork(network));
  if (wrong.length > 0) {
    throw invalidArgument(
      'bad_config',
      `BERTH_PLACEMENT_TRUSTED_PROXIES must be addresses or networks, not '${wrong.join(', ')}'`,
    );
  }
  return networks.length > 0 && [...networks];
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  if (more.length > 0 || !(isIPv4(address) || isIPv6(address))) return false;
  if (bits === undefined) return true;
  try {
    new BlockList().addSubnet(address, /^\d+$/.test(bits) ? Number(bits) : -1, isIPv4(address) ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    return false;
  }
}
