import { Command, type CommandUnknownOpts, type OptionValues } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import { useClient } from '../client/with-client';
import type { Context } from '../context';
import { addHelp } from '../help-text';
import { type Listing, listingCommand, showListing } from '../views/listing';
import { type Answer, addAnswerFlags, showAnswer } from './answer';
import { toEach } from './to-each';

/** A command as a declaration: its context makes it. */
export type Declared = (context: Context) => CommandUnknownOpts;

/** `berth NOUN`, with its verbs in this order. */
export function noun(name: string, verbs: readonly Declared[]): Declared {
  return (context) => verbs.reduce((command, verb) => command.addCommand(verb(context)), new Command(name));
}

/** Parts of every declared command. */
interface Verb<Args extends unknown[], Flags extends OptionValues> {
  readonly name: string;
  /** One sentence for the help. */
  readonly does: string;
  /** Adds arguments and flags. */
  readonly takes: (command: Command) => Command<Args, Flags>;
  readonly examples: readonly (readonly [line: string, does: string])[];
}

/** A command that asks for a list and shows it: adds the flags of `listingCommand`. */
export interface ListVerb<Flags extends OptionValues, T> extends Omit<Verb<[], Flags>, 'name' | 'takes'> {
  /** Adds flags; default: none. */
  readonly takes?: (command: Command) => Command<[], Flags>;
  readonly listing: (context: Context) => Listing<T>;
  readonly call: (client: Client, flags: Flags) => Promise<readonly T[]>;
}

export function lists<T, Flags extends OptionValues>(verb: ListVerb<Flags, T>): Declared {
  return (context) => {
    const listing = verb.listing(context);
    const takes = verb.takes ?? ((command: Command) => command as unknown as Command<[], Flags>);
    const command = taking(listingCommand('list', listing).description(verb.does), { takes });
    useClient(context, command, async (client, flags) => {
      await showListing(context, flags, listing, () => verb.call(client, flags));
    });
    return addHelp(command, verb.examples);
  };
}

/** A command that asks for one thing and shows it: adds `--output` and `--json`. */
export interface ShowVerb<Args extends unknown[], Flags extends OptionValues> extends Verb<Args, Flags> {
  readonly call: (client: Client, flags: Flags, ...args: Args) => Promise<Shown>;
}

/** An answer that is drawn with the clock of its command. */
export interface Shown extends Omit<Answer, 'draw'> {
  readonly draw: (context: Context, isWide: boolean) => void;
}

export function shows<Args extends unknown[], Flags extends OptionValues>(verb: ShowVerb<Args, Flags>): Declared {
  return (context) => {
    const command = taking(addAnswerFlags(new Command(verb.name)).description(verb.does), verb);
    useClient(context, command, (client, flags, ...args) =>
      showAnswer(context, flags, async () => {
        const { draw, ...answer } = await verb.call(client, flags, ...args);
        return { ...answer, draw: (terminal, isWide) => draw({ ...context, terminal }, isWide) };
      }),
    );
    return addHelp(command, verb.examples);
  };
}

/** A command that changes one thing, and prints it as it is then: adds `--json`. */
export interface ChangeVerb<Args extends unknown[], Flags extends OptionValues, T> extends Verb<Args, Flags> {
  readonly call: (client: Client, flags: Flags, ...args: Args) => Promise<T>;
  /** For `--json`; default: the thing itself. */
  readonly plain?: (changed: T) => unknown;
  readonly print: (context: Context, changed: T) => void;
}

export function changes<Args extends unknown[], Flags extends OptionValues, T>(
  verb: ChangeVerb<Args, Flags, T>,
): Declared {
  const { call, plain = (changed: T) => changed, print } = verb;
  return (context) => {
    const command = withJson(verb);
    useClient(context, command, async (client, flags, ...args) => {
      const changed = await call(client, flags, ...args);
      if (flags.json) context.terminal.json(plain(changed));
      else print(context, changed);
    });
    return addHelp(command, verb.examples);
  };
}

/** A command that does the same to several things, and prints those for which it went well. */
export interface EachVerb<Thing, Flags extends OptionValues, T> extends Verb<[readonly Thing[]], Flags> {
  readonly call: (client: Client, flags: Flags, thing: Thing) => Promise<T>;
  readonly print: (context: Context, done: T) => void;
}

export function changesEach<Thing, Flags extends OptionValues, T>(verb: EachVerb<Thing, Flags, T>): Declared {
  return (context) => {
    const command = withJson(verb);
    useClient(context, command, (client, flags, things) => {
      const show = (done: readonly T[]) => {
        if (flags.json) context.terminal.json(done);
        else for (const one of done) verb.print(context, one);
      };
      return toEach(things, (thing) => verb.call(client, flags, thing), show);
    });
    return addHelp(command, verb.examples);
  };
}

function withJson<Args extends unknown[], Flags extends OptionValues>(verb: Verb<Args, Flags>) {
  const command = taking(new Command(verb.name).description(verb.does), verb);
  const hasJson = command.options.some(({ long }) => long === '--json');
  const all = hasJson ? command : command.option('--json', 'print one JSON value', false);
  return all as unknown as Command<Args, Flags & { json: boolean }>;
}

/** The command with the arguments and flags of a declaration, besides those that it has. */
function taking<Args extends unknown[], Flags extends OptionValues, Own extends OptionValues>(
  command: Command<[], Own>,
  { takes }: Pick<Verb<Args, Flags>, 'takes'>,
): Command<Args, Flags & Own> {
  return takes(command) as unknown as Command<Args, Flags & Own>;
}
