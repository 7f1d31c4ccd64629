import { BEFORE, isOffered, NODE_TRANSITIONS, type NodeState, type NodeVerb, nextNodeState } from './node-state';

const states = Object.keys(NODE_TRANSITIONS) as NodeState[];
const reachable = (from: NodeState): Set<NodeState> => {
  const found = new Set<NodeState>([from]);
  for (const state of found) {
    for (const next of Object.values(NODE_TRANSITIONS[state])) if (next !== BEFORE) found.add(next);
  }
  return found;
};

it('leads from every state to one that is offered, and from enroll to all', () => {
  expect(states.filter((state) => state !== 'maintenance' && !reachable(state).has('available'))).toEqual([]);
  expect([...reachable('enroll')].toSorted()).toEqual(states.toSorted());
});

it('never leads from an instance to another without cleaning', () => {
  for (const state of ['active', 'rescue', 'deploying'] as const) {
    const next = Object.values(NODE_TRANSITIONS[state]).filter((one) => one === 'available' || one === 'manageable');
    expect(next).toEqual([]);
  }
});

it('leads back from maintenance to what the node was before', () => {
  expect(nextNodeState('maintenance', 'unmaintain', 'active')).toBe('active');
  expect(nextNodeState('maintenance', 'unmaintain', undefined)).toBe('manageable');
});

it('refuses all other verbs, and says which there are', () => {
  const attempt = (state: NodeState, verb: NodeVerb) => () => nextNodeState(state, verb, undefined);
  expect(attempt('enroll', 'deploy')).toThrow('a node in state enroll can not deploy: only manage');
  expect(attempt('active', 'clean')).toThrow('can not clean');
  expect(attempt('deploying', 'maintain')).toThrow('can not maintain');
});

it('offers a node that is available or has an instance', () => {
  expect(states.filter(isOffered)).toEqual(['available', 'deploying', 'active', 'rescue']);
});
