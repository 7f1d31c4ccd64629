import MarkdownIt from 'markdown-it';
import { addressOf } from './addresses';
import { anchorHeadings, type Heading } from './headings';
import { type Link, rewriteLinks } from './links';
import { isThere, type Source } from './repository';

/** A page without what is around it. */
export interface Page {
  readonly source: Source;
  /** From the root of the site: `services/scheduler.html`. */
  readonly address: string;
  readonly title: string;
  readonly headings: readonly Heading[];
  readonly links: readonly Link[];
  readonly html: string;
}

/** Renders Markdown files, which may link to each other. A broken link is not an error, but one of the page's links. */
export function renderPages(root: string, sources: readonly Source[]): Page[] {
  const paths = new Set(sources.map(({ path }) => path));
  // HTML as forges take it, which is for comments alone.
  const markdown = new MarkdownIt({ html: true });
  anchorHeadings(markdown);
  rewriteLinks(markdown, (path) => (paths.has(path) ? 'page' : isThere(root, path) ? 'file' : 'nothing'));
  fitBrowsers(markdown);
  return sources.map((source) => {
    const { path } = source;
    const env: { path: string; links?: readonly Link[]; headings?: readonly Heading[] } = { path };
    const html = markdown.render(source.markdown, env);
    const { links = [], headings = [] } = env;
    const title = headings.find(({ level }) => level === 1)?.text ?? path;
    return { source, address: addressOf(path), title, headings, links, html };
  });
}

/** The console's Content Security Policy allows no style in an element; what scrolls can be reached by keyboard. */
function fitBrowsers({ renderer, utils }: MarkdownIt): void {
  const { rules } = renderer;
  for (const name of ['th_open', 'td_open']) {
    rules[name] = (tokens, i, options, _env, self) => {
      const token = tokens[i];
      const [text, closed] = [tokens[i + 1], tokens[i + 2]];
      // A heading without a word is a cell: screen readers would announce nothing for each cell below it.
      if (token && closed && text?.content === '') token.tag = closed.tag = 'td';
      const style = token?.attrGet('style');
      if (token && style) token.attrs = [['class', style.replace('text-align:', 'to-')]];
      return self.renderToken(tokens, i, options);
    };
  }
  rules['table_open'] = () => '<div class="scroll" tabindex="0"><table>\n';
  rules['table_close'] = () => '</table></div>\n';
  for (const name of ['fence', 'code_block']) {
    rules[name] = (tokens, i) => {
      return `<pre tabindex="0"><code>${utils.escapeHtml(tokens[i]?.content ?? '')}</code></pre>\n`;
    };
  }
}
