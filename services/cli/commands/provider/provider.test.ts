import { runLine } from '../../testing/run-line';
import { type SmallCloud, startSmallCloud, uuidOf } from '../../testing/small-cloud';

/* The commands that ask the placement API, on one in this process. */

let cloud: SmallCloud;
beforeAll(async () => {
  cloud = await startSmallCloud();
});
afterAll(() => cloud.close());

function berth(line: string, env: Record<string, string> = {}) {
  return runLine(line, { BERTH_PLACEMENT_URL: cloud.url, ...env });
}

/** The answer of a successful command. */
async function answer(line: string): Promise<string> {
  const { code, out, err } = await berth(line);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

async function answerJson(line: string): Promise<unknown> {
  return JSON.parse(await answer(`${line} --json`));
}

/** A drawing in a test, without its surrounding lines and indentation. */
function drawing(text: string): string {
  const lines = text.split('\n').slice(1, -1);
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)));
  return `${lines.map((line) => line.slice(indent)).join('\n')}\n`;
}

describe('provider tree', () => {
  it('draws every tree, and says who shares', async () => {
    expect(await answer('provider tree')).toBe(
      drawing(`
        PROVIDER            CLASS         FILL              USED  CAPACITY
        host-1              -
        ├─ host-1-numa-0    VCPU          ████████░░  75%     12        16
        │  │                MEMORY_MB     ███░░░░░░░  25%  8,192    32,768
        │  └─ host-1-nic-0  SRIOV_NET_VF  █░░░░░░░░░  13%      1         8
        └─ host-1-numa-1    VCPU          ░░░░░░░░░░   0%      0        16
           │                MEMORY_MB     ░░░░░░░░░░   0%      0    32,768
           └─ host-1-gpu-0  VGPU          ░░░░░░░░░░   0%      0         4
        host-2              VCPU          █████████░  94%     30        32
                            MEMORY_MB     ███░░░░░░░  26%  4,096    15,872
                            DISK_GB       ░░░░░░░░░░   4%     20       500
        nfs (shares)        DISK_GB       ░░░░░░░░░░   1%    100    10,000
      `),
    );
  });

  it('draws the tree that a provider is in, with what is shared with it', async () => {
    const whole = (await answer('provider tree')).split('\n');
    const isOther = (line: string) => whole.indexOf(line) >= 8 && whole.indexOf(line) <= 10;
    const expected = whole.filter((line) => !isOther(line)).join('\n');
    expect(await answer('provider tree host-1-nic-0')).toBe(expected);
    expect(await answer(`provider tree ${uuidOf(1)}`)).toBe(expected);
  });

  it('says so when there are more trees than it draws', async () => {
    const { code, out, err } = await berth('provider tree --limit 1');
    expect({ code, err }).toEqual({ code: 0, err: '1 of 3 trees: --limit shows more, a name shows one\n' });
    expect(out).toContain('host-1-gpu-0');
    expect(out).not.toContain('host-2');
  });

  it('draws in ASCII where the terminal knows no better', async () => {
    expect((await berth('provider tree host-1', { LC_ALL: 'C' })).out).toContain(
      '|  `- host-1-nic-0  SRIOV_NET_VF  #.........  13%      1         8\n',
    );
  });

  it('prints the documents of its providers for a program', async () => {
    expect(await answerJson('provider tree host-1')).toMatchObject({
      resource_providers: expect.arrayContaining([
        {
          uuid: uuidOf(5),
          name: 'host-1-gpu-0',
          generation: 1,
          parent_provider_uuid: uuidOf(3),
          root_provider_uuid: uuidOf(1),
          inventories: { VGPU: expect.objectContaining({ total: 4, max_unit: 2 }) },
          usages: { VGPU: 0 },
          links: expect.any(Array),
        },
      ]),
      sharing_providers: [{ name: 'nfs', usages: { DISK_GB: 100 } }],
    });
  });
});

describe('provider list', () => {
  it('lists providers by name, with their places and bars of the classes that most of them have', async () => {
    expect((await answer('provider list')).replaceAll(/ 0{8}-[0-9a-f-]+/g, ' UUID')).toBe(
      drawing(`
        NAME           UUID                                  GENERATION  UNDER                   VCPU                       MEMORY_MB                         DISK_GB                         OTHER CLASSES
        host-1         UUID           1  -                       -                          -                                 -
        host-1-gpu-0   UUID           1  host-1 / host-1-numa-1  -                          -                                 -                               VGPU 0/4
        host-1-nic-0   UUID           3  host-1 / host-1-numa-0  -                          -                                 -                               SRIOV_NET_VF 1/8
        host-1-numa-0  UUID           2  host-1                  ████████░░  75%  12 of 16  ███░░░░░░░  25%  8,192 of 32,768  -
        host-1-numa-1  UUID           1  host-1                  ░░░░░░░░░░   0%  0 of 16   ░░░░░░░░░░   0%  0 of 32,768      -
        host-2         UUID           2  -                       █████████░  94%  30 of 32  ███░░░░░░░  26%  4,096 of 15,872  ░░░░░░░░░░   4%  20 of 500
        nfs            UUID           3  -                       -                          -                                 ░░░░░░░░░░   1%  100 of 10,000
      `),
    );
  });

  it.each([
    ['--name host-1', ['host-1']],
    ['--resources VCPU:5', ['host-1-numa-1']],
    ['--required MISC_SHARES_VIA_AGGREGATE', ['nfs']],
    ['--forbidden MISC_SHARES_VIA_AGGREGATE,COMPUTE_NODE --resources DISK_GB:1', ['host-2']],
    [`--member-of ${uuidOf(900)},${uuidOf(901)}`, ['host-1', 'nfs']],
    [`--member-of !${uuidOf(900)},${uuidOf(901)} --resources DISK_GB:1`, ['host-2']],
    ['--in-tree host-1 --resources VCPU:1', ['host-1-numa-0', 'host-1-numa-1']],
  ])('finds with %s', async (flags, names) => {
    const { resource_providers: found } = (await answerJson(`provider list ${flags}`)) as {
      resource_providers: { name: string }[];
    };
    expect(found.map(({ name }) => name)).toEqual(names);
  });

  it('says where a provider is whose tree is not in the list', async () => {
    expect(await answer('provider list --name host-1-gpu-0')).toContain('  host-1 / host-1-numa-1  ');
  });

  it('has amounts beside percentages when it is wide, and every other form', async () => {
    expect(await answer('provider list --name host-2 -o wide')).toContain(' 94%  30 of 32');
    expect(await answer('provider list --name host-2 -o name')).toBe('host-2\n');
    expect(await answer('provider list --name host-2 -o yaml')).toContain('resource_providers:\n  - ');
    expect(await answer('provider show host-2 -o name')).toBe('host-2\n');
    expect(await answer('usage --provider host-2 -o yaml')).toContain('name: host-2');
  });

  it('is in the order that is asked for, before it is cut', async () => {
    const names = async (flags: string) => (await answer(`provider list -o name ${flags}`.trim())).trim().split('\n');
    const all = await names('--sort-by name');
    expect(all).toEqual(await names(''));
    expect((await names('--sort-by name --reverse')).slice(0, 2)).toEqual(all.toReversed().slice(0, 2));
    expect(await names('--sort-by generation')).toHaveLength(all.length);
  });

  it('says so when there are more than it lists, and when there are none', async () => {
    expect((await berth('provider list --limit 2')).err).toBe('2 of 7: --limit shows more\n');
    expect(await berth('provider list --name nobody')).toMatchObject({
      code: 0,
      out: '',
      err: 'no provider matches\n',
    });
  });
});

describe('provider show', () => {
  it('shows facts, inventories and consumers', async () => {
    expect(await answer('provider show host-2')).toBe(
      drawing(`
        provider    host-2
        uuid        ${uuidOf(6)}
        generation  2
        parent      -
        root        itself
        children    -
        traits      -
        aggregates  -

        RESOURCE CLASS   TOTAL  RESERVED  RATIO   USED    FREE
        VCPU                 8         0  4.0       30       2  █████████░  94%
        MEMORY_MB       16,384       512  1.0    4,096  11,776  ███░░░░░░░  26%
        DISK_GB            500         0  1.0       20     480  ░░░░░░░░░░   4%

        CONSUMER                              HOLDS
        ${uuidOf(102)}  VCPU 30, MEMORY_MB 4,096, DISK_GB 20
      `),
    );
  });

  it('shows where a provider is, and which amounts it gives', async () => {
    const out = await answer('provider show host-1-gpu-0');
    expect(out).toContain(`parent      host-1-numa-1 (${uuidOf(3)})\nroot        host-1 (${uuidOf(1)})\n`);
    expect(out).toMatch(/UNITS\nVGPU .* 1 to 2\n/);
    expect(await answer(`provider show ${uuidOf(1)}`)).toMatch(
      /children {4}host-1-numa-0 host-1-numa-1\ntraits {6}COMPUTE_NODE\naggregates {2}0.*900\n\nIt has no inventories/,
    );
  });

  it('merges the documents about a provider for a program', async () => {
    expect(await answerJson('provider show nfs')).toMatchObject({
      uuid: uuidOf(7),
      inventories: { DISK_GB: { total: 10_000 } },
      usages: { DISK_GB: 100 },
      traits: ['MISC_SHARES_VIA_AGGREGATE'],
      aggregates: [uuidOf(900)],
      allocations: { [uuidOf(101)]: { resources: { DISK_GB: 100 }, consumer_generation: 1 } },
    });
  });
});

describe('candidates', () => {
  it('shows what each takes of whom, and what is left', async () => {
    expect(await answer('candidates --resources VCPU:2,MEMORY_MB:1024,DISK_GB:10 --in-tree host-2')).toBe(
      drawing(`
            PROVIDER  UNDER  CLASS      TAKES  FILL AFTER         LEFT
        #1  host-2    -      VCPU           2  ██████████ 100%       0
                             MEMORY_MB  1,024  ███░░░░░░░  32%  10,752
                             DISK_GB       10  █░░░░░░░░░   6%     470
      `),
    );
  });

  it('shows which group took what', async () => {
    const groups =
      '--group numa:resources=VCPU:2,MEMORY_MB:512 --group net:resources=SRIOV_NET_VF:1,required=CUSTOM_PHYSNET_1';
    const root = '--group root:required=COMPUTE_NODE --root-required COMPUTE_NODE';
    const rest = '--same-subtree numa,net --same-subtree root,net --group-policy isolate';
    expect(await answer(`candidates --resources DISK_GB:10 ${groups} ${root} ${rest}`)).toBe(
      drawing(`
            GROUP  PROVIDER       UNDER   CLASS         TAKES  FILL AFTER         LEFT
        #1  -      nfs            -       DISK_GB          10  ░░░░░░░░░░   1%   9,890
            numa   host-1-numa-0  host-1  VCPU              2  █████████░  88%       2
            numa                          MEMORY_MB       512  ███░░░░░░░  27%  24,064
            net    host-1-nic-0   host-1  SRIOV_NET_VF      1  ███░░░░░░░  25%       6
            root   host-1         -       -
      `),
    );
  });

  it('shows ids to claim them by when asked to', async () => {
    const found = await answerJson('candidates --resources VGPU:1 --ids');
    const [{ id }] = (found as { allocation_requests: [{ id: string }] }).allocation_requests;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await answer('candidates --resources VGPU:1 --ids')).toMatch(/LEFT +ID\n.* [0-9a-f-]{36}\n$/);
  });

  it('says so when there may be more than it shows', async () => {
    const { code, err } = await berth('candidates --resources VCPU:1 --limit 2');
    expect({ code, err }).toEqual({ code: 0, err: 'the first 2; there may be more: --limit shows them\n' });
  });

  it('takes a request that nothing meets apart, says what to try, and ends with 1', async () => {
    const { code, out, err } = await berth('candidates --resources VCPU:1,MEMORY_MB:999999 --required COMPUTE_NODE');
    expect(out).toBe(
      drawing(`
        There is no candidate: no tree, with the providers that share with it, meets the whole request.

        GROUP  CONDITION                   PROVIDERS THAT MEET IT
        -      resources VCPU:1            3
        -      resources MEMORY_MB:999999  none
        -      required COMPUTE_NODE       1
      `),
    );
    expect(err).toContain('next: berth provider tree ');
    expect(err).toContain(' berth explain --resource VCPU=1 --resource MEMORY_MB=999999 ');
    expect(code).toBe(1);
    const apart = await berth('candidates --resources VGPU:1,SRIOV_NET_VF:1 --in-tree nfs');
    expect(apart.err).toContain('next: berth provider list --resources VGPU:1,SRIOV_NET_VF:1 ');
  });

  it("prints the API's document, with names, for a program", async () => {
    expect(await answerJson('candidates --resources VGPU:1')).toMatchObject({
      allocation_requests: [
        { allocations: { [uuidOf(5)]: { resources: { VGPU: 1 } } }, mappings: { '': [uuidOf(5)] } },
      ],
      provider_summaries: { [uuidOf(5)]: { name: 'host-1-gpu-0', resources: { VGPU: { capacity: 4, used: 0 } } } },
    });
    expect(await berth('candidates --resources VGPU:3 --json')).toEqual({
      code: 1,
      out: '{"allocation_requests":[],"provider_summaries":{}}\n',
      err: '',
    });
  });

  it.each([
    ['--group net', 'It must look like NAME:resources='],
    ['--group net:resource=VCPU:1', 'It must look like NAME:resources='],
    ['--group n:resources=VGPU:1 --group n:resources=VGPU:1', 'There is a group n already'],
    ['--resources VCPU', 'answered 400: Badly formed resources parameter.'],
    ['--resources VCPU:1 --required CUSTOM_NOTHING', 'No such trait(s): CUSTOM_NOTHING.'],
    ['--required COMPUTE_NODE', 'There must be at least one resources'],
  ])('refuses %s with 2', async (flags, problem) => {
    const { code, err } = await berth(`candidates ${flags}`);
    expect(err).toContain(problem);
    expect(code).toBe(2);
  });
});

describe('allocation show', () => {
  it('shows what a consumer holds, provider by provider', async () => {
    expect(await answer(`allocation show ${uuidOf(101)}`)).toBe(
      drawing(`
        consumer        ${uuidOf(101)}
        type            INSTANCE
        project / user  project-1 / user-1
        generation      1

        PROVIDER       UNDER                   CLASS         HOLDS
        host-1-nic-0   host-1 / host-1-numa-0  SRIOV_NET_VF      1
        host-1-numa-0  host-1                  VCPU             12
                                               MEMORY_MB     8,192
        nfs            -                       DISK_GB         100
      `),
    );
    expect(await answerJson(`allocation show ${uuidOf(102)}`)).toEqual({
      allocations: {
        [uuidOf(6)]: { name: 'host-2', generation: 2, resources: { VCPU: 30, MEMORY_MB: 4_096, DISK_GB: 20 } },
      },
      project_id: 'project-1',
      user_id: 'user-2',
      consumer_generation: 1,
      consumer_type: 'MIGRATION',
    });
  });

  it('ends with 4 when nothing is allocated to it', async () => {
    const { code, err } = await berth(`allocation show ${uuidOf(103)}`);
    expect(err).toContain('(not_found/no_such_consumer)\nhint: ');
    expect(code).toBe(4);
  });
});

describe('usage', () => {
  it('sums up what a project holds by type of consumer', async () => {
    expect(await answer('usage --project project-1')).toBe(
      drawing(`
        CONSUMER TYPE  CONSUMERS  VCPU  MEMORY_MB  DISK_GB  SRIOV_NET_VF
        INSTANCE               1    12      8,192      100             1
        MIGRATION              1    30      4,096       20             0
        together               2    42     12,288      120             1
      `),
    );
    expect(await answerJson('usage --project project-1 --user user-2 --type MIGRATION')).toEqual({
      usages: { MIGRATION: { consumer_count: 1, VCPU: 30, MEMORY_MB: 4_096, DISK_GB: 20 } },
    });
    expect(await answer('usage --project nobody')).toBe('Project nobody has no such usage.\n');
  });

  it('shows how full a provider is', async () => {
    expect(await answer('usage --provider host-1-nic-0')).toMatch(/^RESOURCE CLASS.*\nSRIOV_NET_VF .* 13%\n$/);
  });

  it.each([
    ['usage', 'say whose usage'],
    ['usage --project p --provider host-1', 'say whose usage'],
    ['usage --provider host-1 --user u', '--user and --type belong to --project'],
  ])('berth %s ends with 2', async (line, problem) => {
    const { code, err } = await berth(line);
    expect(err).toContain(problem);
    expect(code).toBe(2);
  });
});

describe('what goes wrong', () => {
  it.each([
    ['provider show nobody', {}, 4, 'there is no provider nobody (not_found/no_such_provider)'],
    [
      'provider tree',
      { BERTH_PLACEMENT_TOKEN: 'bob' },
      4,
      '(permission_denied/forbidden)\nhint: the token is good, but',
    ],
    ['provider list', { BERTH_PLACEMENT_TOKEN: ' ' }, 2, 'BERTH_PLACEMENT_TOKEN must be'],
    [
      'provider list',
      { BERTH_PLACEMENT_URL: 'http://127.0.0.1:2' },
      3,
      '(ECONNREFUSED) (unavailable/api_unreachable)\nhint: is it running',
    ],
    ['provider list', { BERTH_PLACEMENT_ULR: 'http://127.0.0.1:1' }, 2, 'BERTH_PLACEMENT_ULR is not a setting'],
  ])('berth %s with %j ends with %i', async (line, env, code, problem) => {
    const failed = await berth(line, env);
    expect(failed.err).toContain(problem);
    expect(failed).toMatchObject({ code, out: '' });
  });
});
