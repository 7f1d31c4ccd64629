import type { ProviderDocument } from '../client/placement-documents';
import { drawForest } from './tree-table';

const GLYPHS = { branch: '├─ ', lastBranch: '└─ ', through: '│  ' };

/** `a<b`: a provider a below b. */
function providers(...specs: string[]): ProviderDocument[] {
  return specs.map((spec) => {
    const [name = '', parent = null] = spec.split('<');
    return { uuid: name, name, generation: 0, parent_provider_uuid: parent, root_provider_uuid: '' };
  });
}

function draw(...specs: string[]): string[] {
  return drawForest(providers(...specs), GLYPHS).map(({ provider, lead }) => `${lead}${provider.name}`);
}

it('draws trees from their roots down, siblings by name and number', () => {
  expect(draw('n10<h', 'n9<h', 'h2', 'd<n9', 'e<n9', 'f<d', 'h', 'g<n10')).toEqual([
    'h',
    '├─ n9',
    '│  ├─ d',
    '│  │  └─ f',
    '│  └─ e',
    '└─ n10',
    '   └─ g',
    'h2',
  ]);
});

it("keeps lines beside a provider's own lines for what comes after it", () => {
  const drawn = drawForest(providers('h', 'a<h', 'b<h', 'c<a'), GLYPHS);
  expect(drawn.map(({ provider, below }) => `${provider.name}:${below}`)).toEqual([
    'h:│  ',
    'a:│  │  ',
    'c:│        ',
    'b:      ',
  ]);
});

it('draws a provider whose parent is not there as a root, and nothing of nothing', () => {
  expect(draw('a<away', 'b<a')).toEqual(['a', '└─ b']);
  expect(draw()).toEqual([]);
});
