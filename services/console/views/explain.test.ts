import { answer } from '#libs/bus/typed-calls';
import { type ExplainRequest, type ExplainResponse, explainMethod } from '#libs/contracts/diagnosis';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { Browse } from '../testing/browse';
import { openWorld, type World } from '../testing/world';

const ZONES = [
  { zone: 'z2', members: 0, cells: ['b', 'a'], reason: '' },
  { zone: 'z1', members: 1, cells: [], reason: 'group_is_uneven' },
];
const counts = { hostsConsidered: 2, hostsPassed: 2, claimConflicts: 0 };
const diagnosis = { ...counts, filters: [], summary: '', quotaExceeded: [] };

let world: World;
let browse: Browse;
let asked: ExplainRequest | undefined;

beforeAll(async () => {
  world = await openWorld();
  await world.bus.serve(
    RPC_SCHEDULER,
    answer(explainMethod, async (request): Promise<ExplainResponse> => {
      asked = request;
      const isOfGroup = requestSpecCodec.decode(request.requestSpec).group !== undefined;
      return { diagnosis, hosts: [], relaxations: [], conflict: [], ...(isOfGroup ? { zones: ZONES } : {}) };
    }),
  );
  browse = new Browse(world.url);
});
afterAll(() => world.close());

it('tells of each zone whether the next member of a group may go there, as the top says', async () => {
  const { status, body } = await browse.ask('GET', '/api/explain?resources=VCPU:1&project=shop&group=web');
  expect([status, body]).toMatchObject([200, { zones: ZONES }]);
  const { projectId, group } = requestSpecCodec.decode(asked?.requestSpec ?? new Uint8Array());
  expect([projectId, group]).toMatchObject(['shop', { id: 'web', policy: undefined }]);
});

it('tells of no zones where no group spreads over them', async () => {
  const { body } = await browse.ask('GET', '/api/explain?resources=VCPU:1');
  expect(body).toMatchObject({ zones: [] });
});
