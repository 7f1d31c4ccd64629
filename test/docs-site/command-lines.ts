import type { Source } from './repository';

/** A command line of `berth` in a code block of a Markdown file. */
export interface CommandLine {
  /** The file, from the root of the repository. */
  readonly path: string;
  /** The language of the block; '' for none. */
  readonly language: string;
  /** The words after `berth`, without the `npx` and the variables before it and a comment behind it. */
  readonly typed: string;
}

/** All command lines, in order. */
export function commandLines(sources: readonly Source[]): CommandLine[] {
  return sources.flatMap(({ path, markdown }) =>
    [...markdown.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].flatMap(([, language = '', text = '']) =>
      text
        .replaceAll('\\\n', ' ')
        .split('\n')
        .flatMap((line) => /^\s*(?:\$ )?(?:\w+=\S+ )*(?:npx )?berth (.*?)(?:\s+#.*)?$/.exec(line)?.[1] ?? [])
        .map((typed) => ({ path, language, typed })),
    ),
  );
}
