import type { Source } from './repository';

/** A command line of `berth` in a code block of a Markdown file. */
export interface CommandLine {
  /** Of the file, from the root of the repository. */
  readonly path: string;
  /** What the block says that it is in; '' when it says nothing. */
  readonly language: string;
  /** What is typed after `berth`; `npx` and variables before it, and a comment behind it, are left out. */
  readonly typed: string;
}

/** All of them, in the order in which they stand. */
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
