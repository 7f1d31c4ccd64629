import { diagram } from './diagram';

it('draws a lane for each party that does something, an arrow for what is sent, a mark for what is done', () => {
  const entries = [
    { atMs: 1_000, from: 'client', to: 'broker', what: 'BuildRequest' },
    { atMs: 1_250.5, from: 'store', to: 'client', what: 'rows' },
    { atMs: 2_000, from: 'broker', to: 'broker', what: 'is full' },
  ];
  expect(
    diagram(entries, ['client', 'nobody', 'broker', 'store'], 1_000)
      .split('\n')
      .map((line) => line.trimEnd()),
  ).toEqual([
    '           client   broker    store',
    '   0.0000     │───────▶│        │      BuildRequest',
    '   0.2505     │◀────────────────│      rows',
    '   1.0000     │        ●        │      is full',
  ]);
});
