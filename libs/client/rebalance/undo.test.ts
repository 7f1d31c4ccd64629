import type { InstanceView } from '#libs/contracts/instance';
import { nextBack } from './undo';

const MOVE = { sourceHost: 'h1' };
const leaving = { uuid: '', kind: 'migrate', sourceHost: 'h1', destHost: 'h2', confirmAtMs: 0 } as const;
const returning = { ...leaving, sourceHost: 'h2', destHost: 'h1' } as const;

function seen(state: InstanceView['state'], host: string, migration?: InstanceView['migration']) {
  return { state, host, migration };
}

it.each([
  ['gives back what waits', seen('migrating', 'h1', { ...leaving, phase: 'claimed' }), false, 'revert'],
  ['takes back what is on its way', seen('resize', 'h2', leaving), false, 'revert'],
  ['takes back what has arrived', seen('verify_resize', 'h2', leaving), false, 'revert'],
  ['waits for what goes back', seen('revert_resize', 'h2', leaving), false, 'wait'],
  ['waits until what was moved live has left nothing', seen('active', 'h2', leaving), false, 'wait'],
  ['moves back what was moved for good', seen('active', 'h2'), false, 'live_migrate'],
  ['moves what is stopped back cold', seen('stopped', 'h2'), false, 'migrate'],
  ['waits for what is moved back', seen('resize', 'h1', returning), true, 'wait'],
  ['confirms what has come back cold', seen('verify_resize', 'h1', returning), true, 'confirm'],
  ['moves back once', seen('active', 'h2'), true, 'stays'],
  ['is done with what is where it was', seen('stopped', 'h1'), false, 'back'],
  ['is done with what is where it was, on a host that is silent', seen('unknown', 'h1'), false, 'back'],
  ['can do nothing on another host that is silent', seen('unknown', 'h2'), false, 'stays'],
  ['can do nothing about an error', seen('error', 'h1'), false, 'stays'],
  ['waits for a stop', seen('stopping', 'h2'), false, 'wait'],
] as const)('%s', (_what, instance, hasTried, expected) => {
  expect(nextBack(MOVE, instance, hasTried)).toBe(expected);
});
