import type MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';

/** A heading of a page; its anchor is the one that forges make of it. */
export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

/** Gives each heading its anchor and a link to itself, and collects them in `env.headings`. */
export function anchorHeadings(markdown: MarkdownIt): void {
  markdown.core.ruler.push('anchors', (state) => {
    const headings: Heading[] = [];
    const taken = new Map<string, number>();
    for (const [i, token] of state.tokens.entries()) {
      if (token.type !== 'heading_open') continue;
      const text = textOf(state.tokens[i + 1]);
      const slug = slugOf(text);
      const before = taken.get(slug) ?? 0;
      taken.set(slug, before + 1);
      const anchor = before === 0 ? slug : `${slug}-${before}`;
      token.attrSet('id', anchor);
      headings.push({ level: Number(token.tag.slice(1)), text, anchor });
    }
    (state.env as { headings?: readonly Heading[] }).headings = headings;
  });
  markdown.renderer.rules['heading_close'] = (tokens, i, options, _env, self) => {
    const opened = tokens.slice(0, i).findLast(({ type }) => type === 'heading_open');
    const heading = tokens[i - 1];
    const label = markdown.utils.escapeHtml(`Link to ${textOf(heading)}`);
    const link = `<a class="anchor" href="#${opened?.attrGet('id') ?? ''}" aria-label="${label}">#</a>`;
    return `${tokens[i]?.tag === 'h1' ? '' : link}${self.renderToken(tokens, i, options)}`;
  };
}

/** As GitHub and GitLab make it: letters, digits, `-` and `_`, in lower case, spaces as `-`. */
export function slugOf(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}

function textOf(inline: Token | undefined): string {
  const parts = inline?.children ?? [];
  return parts.map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : '')).join('');
}
