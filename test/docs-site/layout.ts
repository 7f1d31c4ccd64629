import { linkBetween } from './addresses';
import { type Section, showNavigation } from './navigation';
import type { Page } from './render';

/** A page as browsers get it: it loads one style sheet, one icon, and the script of the search, which it can do without. */
export function layOut(page: Page, sections: readonly Section[]): string {
  const to = (file: string) => linkBetween(page.address, file);
  const title = page.address === 'index.html' ? 'Berth: documentation' : `${page.title} · Berth`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to('icon.svg')}">
<link rel="stylesheet" href="${to('docs.css')}">
<script src="${to('search.js')}" type="module"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="${to('index.html')}"><img src="${to('icon.svg')}" alt="" width="20" height="20">Berth documentation</a>
<form class="docs-search" role="search" data-root="${to('index.html').replace(/index\.html$/, '') || './'}" hidden>
<input type="search" aria-label="Search the documentation" placeholder="Search  /" autocomplete="off">
<ul aria-label="Found" hidden></ul>
<p role="status"></p>
</form>
<a class="to-contents" href="#contents">Contents</a>
<a href="/fleet">Console</a>
</header>
<div class="page">
<main id="main">
<article>
${page.html}</article>
${page.source.isGenerated ? '' : `<p class="source">Made of <code>${escapeHtml(page.source.path)}</code></p>`}
</main>
<nav id="contents" aria-label="Documentation">
${showNavigation(sections, page, escapeHtml)}
</nav>
</div>
</body>
</html>
`;
}

/** Text as it stands in HTML, in attributes too. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
