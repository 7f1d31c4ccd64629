import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Enum, parse, type ReflectionObject, Root, Type } from 'protobufjs';
import { INSTANCE_STATES } from '#libs/domain/instance';
import type { Call } from './calls';
import { code, plain, table } from './markdown';

/** Every message and enumeration of the `.proto` files, by package, except those between Berth's own processes. */
export function messagesPage(root: string): string {
  const files = readdirSync(join(root, 'proto'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.proto') && !path.includes('/internal/'))
    .sort();
  const parts = files.map((path) => {
    const { package: name = '', root: parsed } = parse(readFileSync(join(root, 'proto', path), 'utf8'), new Root(), {
      keepCase: true,
      alternateCommentMode: true,
    });
    const found = parsed.lookup(name) as { readonly nestedArray?: readonly ReflectionObject[] } | null;
    return `## ${name}\n\n${(found?.nestedArray ?? []).flatMap((one) => shown(one, '')).join('\n\n')}`;
  });
  return `# Messages

What stands in the ${code('.proto')} files. The [wire contract](../../../../proto/README.md) says on which queue each goes and what
a peer may rely on.

${parts.join('\n\n')}
`;
}

/** Events on the exchange `berth.events`. */
export function eventsPage(calls: readonly Call[]): string {
  return `# Events

The topic exchange ${code('berth.events')} tells what happens to instances, flavors and by operators. ${code('berth events')} follows
it; ${code('berth.conductor.v1.InstanceEvent')} and the others are in [messages](messages.md).

${table(
  ['key', 'message', 'when'],
  [
    [code('instance.<state>.<project>.<uuid>'), code('InstanceEvent'), 'an instance came to this state'],
    [code('request.refused.<project>'), code('BuildRefused'), 'a request was refused for good'],
    [code('flavor.<created, updated or deleted>.<flavor>'), code('FlavorEvent'), 'for operators: a flavor changed'],
    [code('operator.<action>.<user>'), code('OperatorAction'), 'for operators: what somebody did by the console'],
  ],
)}

How the words of a key are written, and who may listen: [the wire contract](../../../../proto/README.md#queues-and-exchanges).

## States

${INSTANCE_STATES.map(code).join(', ')}

## In logs

The ${code('event')} of a log line never changes, whatever its words do:

${table(['event', 'level', 'says'], logEvents(calls))}
`;
}

const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'];

function logEvents(calls: readonly Call[]): string[][] {
  const rows = calls.flatMap(({ of, event, texts: [, message] }) =>
    event !== undefined && LEVELS.includes(of) ? [[code(event), of, message ?? '']] : [],
  );
  return [...new Map(rows.map((row) => [row.join(), row])).values()].sort((a, b) => (a.join() < b.join() ? -1 : 1));
}

function shown(object: ReflectionObject, prefix: string): string[] {
  const name = `${prefix}${object.name}`;
  const head = `### ${name}\n\n${plain(object.comment ?? '')}`.trimEnd();
  if (object instanceof Enum) {
    const rows = Object.entries(object.values).map(([value, number]) => [
      code(value),
      String(number),
      plain(object.comments[value] ?? ''),
    ]);
    return [`${head}\n\n${table(['value', 'number', 'what it means'], rows)}`];
  }
  if (!(object instanceof Type)) return [];
  const rows = object.fieldsArray.map((field) => {
    const type = `${field.repeated ? 'repeated ' : ''}${typeOf(field)}`;
    return [code(field.name), code(type), String(field.id), plain(field.comment ?? '')];
  });
  const fields = rows.length === 0 ? 'No fields.' : table(['field', 'type', 'number', 'what it means'], rows);
  return [`${head}\n\n${fields}`, ...object.nestedArray.flatMap((one) => shown(one, `${name}.`))];
}

function typeOf(field: { readonly type: string; readonly keyType?: string }): string {
  return field.keyType === undefined ? field.type : `map<${field.keyType}, ${field.type}>`;
}
