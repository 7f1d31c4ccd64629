import { exactly, NAMED_GROUP, NUMBERED_GROUP, type Schema, text, type Versioned } from './parts';

const limit: Schema = { type: ['integer', 'string'], pattern: '^[1-9][0-9]*$', minimum: 1, minLength: 1 };
const plain = { resources: text };
const limited = { ...plain, limit };
const withTraits = { ...limited, required: text };
const withGroups = { limit, group_policy: { type: 'string', enum: ['none', 'isolate'] } };
const withRoot = { ...withGroups, root_required: text };

/** Parameters that may end in a group's suffix. */
function suffixed(names: readonly string[], group: string): Schema {
  const patterns = names.map((name) => [`^${name}(${group})?$`, text]);
  return { patternProperties: Object.fromEntries(patterns) as Schema };
}

const first = suffixed(['resources', 'required', 'member_of'], NUMBERED_GROUP);
const inTree = suffixed(['resources', 'required', 'member_of', 'in_tree'], NUMBERED_GROUP);
const named = suffixed(['resources', 'required', 'member_of', 'in_tree'], NAMED_GROUP);

/** GET /allocation_candidates */
export const candidatesQuery: Versioned<Schema> = [
  [10, exactly(plain, ['resources'])],
  [16, exactly(limited, ['resources'])],
  [17, exactly(withTraits, ['resources'])],
  [21, exactly({ ...withTraits, member_of: text }, ['resources'])],
  [25, exactly(withGroups, [], first)],
  [31, exactly(withGroups, [], inTree)],
  [33, exactly(withGroups, [], named)],
  [35, exactly(withRoot, [], named)],
  [36, exactly({ ...withRoot, same_subtree: text }, [], named)],
];
