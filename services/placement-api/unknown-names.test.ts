import type { Provider } from '#libs/domain/provider';
import type { RequestGroup } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { CandidateQuery } from '#libs/placement/search/query';
import { knowsNames, knowsNamesOf, type ProviderFilters } from './unknown-names';

const root = { uuid: 'root', rootUuid: 'root', traits: ['FAST'], aggregates: ['rack'] } as unknown as Provider;
const view = {
  provider: (uuid: string) => (uuid === 'root' ? root : undefined),
  providers: () => [root],
  hasTrait: (name: string) => ['FAST', 'SLOW'].includes(name),
  hasResourceClass: (name: string) => name === 'VCPU',
} as unknown as PlacementView;

const nothing = { required: [], forbidden: [] };
const filters: ProviderFilters = { inTree: undefined, traits: nothing, aggregates: nothing, resources: {} };
const group: RequestGroup = {
  suffix: '',
  resources: { VCPU: 1 },
  requiredTraits: [],
  forbiddenTraits: [],
  memberOf: [],
  forbiddenAggregates: [],
  inTree: undefined,
};
const query: CandidateQuery = {
  groups: [group],
  groupPolicy: 'none',
  sameSubtrees: [],
  rootRequiredTraits: [],
  rootForbiddenTraits: [],
};

describe('a list of providers', () => {
  test('is refused for a name that nobody knows', () => {
    expect(() => knowsNames(view, { ...filters, resources: { NONE: 1 } })).toThrow('No such resource class NONE.');
    expect(() => knowsNames(view, { ...filters, traits: { ...nothing, required: [['A'], ['B']] } })).toThrow(
      'Invalid trait(s) in "required" parameter: No such trait(s): A.',
    );
  });

  test('is empty when nothing is left to look for before the name comes up', () => {
    const unknown = { ...filters, resources: { NONE: 1 } };
    expect(knowsNames(view, { ...unknown, inTree: 'nowhere' })).toBe(false);
    expect(knowsNames(view, { ...unknown, traits: { ...nothing, required: [['SLOW']] } })).toBe(false);
    expect(knowsNames(view, { ...unknown, aggregates: { ...nothing, required: [['row']] } })).toBe(false);
  });
});

describe('a search for candidates', () => {
  const strange = { ...group, suffix: '1', resources: { NONE: 1 } };

  test('is refused for a name that nobody knows', () => {
    expect(() => knowsNamesOf(view, { ...query, groups: [group, strange] }, () => true)).toThrow('NONE');
    expect(() => knowsNamesOf(view, { ...query, rootForbiddenTraits: ['A'] }, () => true)).toThrow('A');
  });

  test('is empty when nothing is left to look for before the name comes up', () => {
    expect(knowsNamesOf(view, { ...query, groups: [group, strange] }, () => false)).toBe(false);
    expect(knowsNamesOf(view, { ...query, groups: [strange], rootRequiredTraits: ['SLOW'] }, () => true)).toBe(false);
  });

  test('asks nobody when all names are known', () => {
    const never = () => {
      throw new Error('asked');
    };
    expect(knowsNamesOf(view, query, never)).toBe(true);
  });
});
