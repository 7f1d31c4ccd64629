import { posix } from 'node:path';
import type MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';
import { addressOf, linkBetween, targetOf } from './addresses';

/** A link of a page to a file of the repository; `written` is its text in Markdown. */
export type Link =
  | { readonly kind: 'page'; readonly written: string; readonly address: string; readonly anchor: string }
  | { readonly kind: 'picture'; readonly written: string; readonly path: string }
  /** A file without a page, such as a source file: its path is shown, without a link. */
  | { readonly kind: 'file'; readonly written: string; readonly path: string }
  | { readonly kind: 'broken'; readonly written: string };

/** The kind of thing at a path, from the root of the repository. */
export type Look = (path: string) => 'page' | 'file' | 'nothing';

/** Points links between files to their pages, and collects them in `env.links`; `env.path` is the file that is rendered. */
export function rewriteLinks(markdown: MarkdownIt, look: Look): void {
  markdown.core.ruler.push('links', (state) => {
    const env = state.env as { readonly path: string; links?: readonly Link[] };
    const links: Link[] = [];
    for (const { children } of state.tokens) {
      let opened: Token | undefined;
      for (const token of children ?? []) {
        if (token.type === 'link_open') opened = token;
        if (token.type === 'link_close' && opened) token.tag = opened.tag;
        const attribute = { link_open: 'href', image: 'src' }[token.type];
        const link = attribute && linkOf(look, env.path, token.attrGet(attribute) ?? '');
        if (!link) continue;
        links.push(link);
        rewrite(token, link, addressOf(env.path));
      }
    }
    env.links = links;
  });
}

function linkOf(look: Look, from: string, written: string): Link | undefined {
  if (/^[a-z]+:/.test(written)) return undefined;
  const [link = '', anchor = ''] = written.split('#');
  const path = link === '' ? from : targetOf(from, link);
  const page = [path, posix.join(path, 'README.md')].find((one) => look(one) === 'page');
  if (page !== undefined) return { kind: 'page', written, address: addressOf(page), anchor };
  if (look(path) === 'nothing') return { kind: 'broken', written };
  return { kind: /\.(png|svg)$/.test(path) ? 'picture' : 'file', written, path };
}

function rewrite(token: Token, link: Link, own: string): void {
  switch (link.kind) {
    case 'page': {
      const hash = link.anchor === '' ? '' : `#${link.anchor}`;
      const isOwn = link.address === own && hash !== '';
      return token.attrSet('href', isOwn ? hash : linkBetween(own, link.address) + hash);
    }
    case 'picture':
      return token.attrSet(token.type === 'image' ? 'src' : 'href', linkBetween(own, link.path));
    case 'file':
    case 'broken':
      token.tag = 'span';
      token.attrs = [['title', link.kind === 'file' ? link.path : link.written]];
      return;
  }
}
