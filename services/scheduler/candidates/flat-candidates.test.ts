import type { HostState } from '../fleet/host-state';
import { FlatCandidates } from './flat-candidates';

const hostAt = (index: number, uuid: string) => ({ index, root: { uuid } }) as HostState;

it('takes all from the root of the host in hand, whatever was asked before and whoever had its index', () => {
  const flat = new FlatCandidates();
  const small = { VCPU: 1 };
  const large = { VCPU: 8, MEMORY_MB: 64 };
  const asked = [
    [hostAt(3, 'a'), small],
    [hostAt(3, 'a'), small],
    [hostAt(3, 'a'), large],
    [hostAt(3, 'b'), large],
    [hostAt(0, 'a'), large],
  ] as const;
  for (const [host, resources] of asked) {
    const { uuid } = host.root;
    expect(flat.on(host, resources)).toEqual({ rootUuid: uuid, allocations: { [uuid]: resources }, mappings: {} });
  }
});

it('makes nothing anew for requests of one shape', () => {
  const flat = new FlatCandidates();
  const resources = { VCPU: 1 };
  expect(flat.on(hostAt(0, 'a'), resources)).toBe(flat.on(hostAt(0, 'a'), resources));
});
