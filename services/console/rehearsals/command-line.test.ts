import { argumentsOf, rehearsalLine, shownLine, type Words } from './command-line';

const argsOf = (words: Words) => argumentsOf(rehearsalLine(words)).join(' ');

it.each<[string, Words, string]>([
  ['a drain', { operation: 'drain', hosts: 'h-1, h-2,h-1', parallel: '8' }, 'rehearse drain --parallel=8 -- h-1 h-2'],
  [
    'the loss of a rack',
    { operation: 'lose', in: 'rack=r12', evacuate: 'yes' },
    'rehearse lose --in=rack=r12 --evacuate',
  ],
  ['the loss of a zone', { operation: 'lose', zone: 'east' }, 'rehearse lose --zone=east'],
  ['each loss', { operation: 'lose_each', each: 'rack', seeds: '1' }, 'rehearse lose --each=rack --seeds=1'],
  ['a deletion', { operation: 'delete', hosts: 'h-1' }, 'rehearse delete -- h-1'],
  ['an upgrade', { operation: 'upgrade', zone: 'east', stopped: '90' }, 'rehearse upgrade --zone=east --stopped=90'],
  ['builds', { operation: 'build', flavor: 'm1', count: '20' }, 'rehearse build --flavor=m1 --count=20'],
  [
    'a flavor',
    { operation: 'flavor', flavor: 'm1', extraSpecs: 'trait:SSD=required', unset: 'hw:numa_nodes' },
    'rehearse flavor --extra-spec=trait:SSD=required --unset=hw:numa_nodes -- m1',
  ],
  ['a quota', { operation: 'quota', project: 'lab', limits: 'VCPU=-1' }, 'rehearse quota --project=lab -- VCPU=-1'],
  ['the default quota', { operation: 'quota', limits: 'VCPU=9' }, 'rehearse quota --default -- VCPU=9'],
  ['a rebalance', { operation: 'rebalance', goal: 'defragment' }, 'rehearse rebalance --defragment=50'],
  ['empty hosts', { operation: 'rebalance', goal: 'empty', hosts: 'h-1' }, 'rehearse rebalance --empty=h-1'],
  ['an outage', { operation: 'outage', server: 'store', seconds: '30' }, 'rehearse outage --seconds=30 -- store'],
  [
    'traffic with other weights',
    { operation: 'traffic', traffic: '600', profile: 'pack', weights: 'CPU=-1, RAM=0.5' },
    'rehearse traffic --traffic=600 --set=BERTH_SCHEDULER_PROFILE=pack --set=BERTH_SCHEDULER_WEIGHT_CPU=-1 --set=BERTH_SCHEDULER_WEIGHT_RAM=0.5',
  ],
])('makes a command of %s', (_what, words, line) => {
  expect(argsOf(words)).toBe(line);
});

it('leaves no text a flag of its own', () => {
  const args = argumentsOf(
    rehearsalLine({ operation: 'drain', hosts: '--store-url=redis://elsewhere', zone: '--json' }),
  );
  expect(args).toEqual(['rehearse', 'drain', '--zone=--json', '--', '--store-url=redis://elsewhere']);
});

it.each<[string, Words, string]>([
  ['an unknown operation', { operation: 'save' }, 'operation'],
  ['an inherited name', { operation: 'constructor' }, 'operation'],
  ['no hosts', { operation: 'drain' }, 'hosts'],
  ['too many seeds', { operation: 'traffic', seeds: '1000' }, 'seeds'],
  ['a part of a seed', { operation: 'traffic', seeds: '1.5' }, 'seeds'],
  ['two flavors', { operation: 'build', flavor: 'a,b' }, 'flavor'],
  ['no limits', { operation: 'quota', project: 'lab' }, 'limits'],
  ['a limit that is a flag', { operation: 'quota', limits: '--x=1' }, 'limits'],
  ['another setting', { operation: 'traffic', profile: 'pack,BERTH_STORE_URL=x' }, 'profile'],
  ['a weight that is none', { operation: 'traffic', weights: 'CPU=1;x' }, 'weights'],
  ['a server that is none', { operation: 'outage', server: 'disk' }, 'server'],
])('refuses %s', (_what, words, field) => {
  const refused = { code: 'invalid_argument', reason: 'bad_rehearsal', details: { field } };
  expect(() => rehearsalLine(words)).toThrow(expect.objectContaining(refused));
});

it('shows a line that a shell reads as it is', () => {
  const line = rehearsalLine({ operation: 'drain', hosts: "it's here" });
  expect(shownLine(line)).toBe("berth rehearse drain -- 'it'\\''s here'");
});
