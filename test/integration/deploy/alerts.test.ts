import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBinary } from '#libs/testing/servers/find-binary';
import { addressOf } from '../../docs-site/addresses';
import { slugOf } from '../../docs-site/headings';
import { readSources } from '../../docs-site/repository';

/* The alert rules of deploy/, by Prometheus' own tool. */

const ROOT = join(__dirname, '../../..');
const PROMETHEUS = join(ROOT, 'deploy/prometheus');

it('fires each alert for what it is for, and not without it (deploy/prometheus/rules.test.yml)', () => {
  const promtool = findBinary({ name: 'promtool', folders: ['/usr/bin'], debianPackage: 'prometheus' });
  const run = () => execFileSync(promtool, ['test', 'rules', 'rules.test.yml'], { cwd: PROMETHEUS, stdio: 'pipe' });
  expect(run().toString()).toContain('SUCCESS');
});

it('has a severity for every alert, and an example of Alertmanager that knows the alerts and routes each severity', () => {
  const amtool = findBinary({ name: 'amtool', folders: ['/usr/bin'], debianPackage: 'prometheus-alertmanager' });
  const config = join(PROMETHEUS, 'alertmanager.yml');
  execFileSync(amtool, ['check-config', config], { stdio: 'pipe' });
  const receiverOf = (severity: string) =>
    execFileSync(amtool, ['config', 'routes', 'test', `--config.file=${config}`, `severity=${severity}`], {
      stdio: 'pipe',
    }).toString();
  expect(['critical', 'warning', 'info'].map((severity) => receiverOf(severity).trim())).toEqual([
    'on-call',
    'team',
    'nobody',
  ]);
  const rules = readFileSync(join(PROMETHEUS, 'rules.yml'), 'utf8');
  const blocks = rules.split(/^ {6}- alert: /m).slice(1);
  const severities = blocks.map((block) => /labels: \{ severity: (critical|warning|info) \}/.exec(block)?.[1]);
  expect(severities).not.toContain(undefined);
  const names = new Set(blocks.map((block) => /^\w+/.exec(block)?.[0]));
  const inhibited = [...readFileSync(config, 'utf8').matchAll(/Berth\w+/g)].map(([name]) => name);
  expect(inhibited.filter((name) => !names.has(name))).toEqual([]);
});

it('has a test for every alert', () => {
  const rules = readFileSync(join(PROMETHEUS, 'rules.yml'), 'utf8');
  const tests = readFileSync(join(PROMETHEUS, 'rules.test.yml'), 'utf8');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  expect(alerts.length).toBeGreaterThan(5);
  expect(alerts.filter((name) => !tests.includes(`alertname: ${name}`))).toEqual([]);
});

it('links each alert to a paragraph that says what to look at and what to do', () => {
  const rules = readFileSync(join(PROMETHEUS, 'rules.yml'), 'utf8');
  const address =
    /- alert: (\w+)(?:(?!- alert:)[^])*?runbook_url: '\{\{ or \$externalLabels\.berth_console "[^"]+" \}\}\/docs\/(\S+)'/g;
  const runbooks = [...rules.matchAll(address)];
  const links = runbooks.map(([, alert = '', url = '']) => [alert, url.split('#')] as const);
  expect(links.map(([alert]) => alert)).toEqual([...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name));
  const pages = new Map(readSources(ROOT).map(({ path, markdown }) => [addressOf(path), markdown]));
  const broken = links.filter(([, [page = '', anchor = '']]) => {
    const paragraph = paragraphsOf(pages.get(page) ?? '').get(anchor) ?? '';
    return !paragraph.includes('**Look at**') || !/\*\*Do\*\*/.test(paragraph);
  });
  expect(broken).toEqual([]);
  const written = [...paragraphsOf(readFileSync(join(PROMETHEUS, 'README.md'), 'utf8')).keys()].filter((one) =>
    one.startsWith('berth'),
  );
  expect(written).toEqual(links.map(([, [, anchor]]) => anchor));
});

/** The text below each heading, by the anchor that forges make of it. */
function paragraphsOf(markdown: string): Map<string, string> {
  const parts = markdown.split(/^#+ /m).map((part) => [part.split('\n', 1)[0] ?? '', part] as const);
  return new Map(parts.map(([heading, text]) => [slugOf(heading), text]));
}

it('asks only for metrics that processes have', () => {
  const rules = readFileSync(join(PROMETHEUS, 'rules.yml'), 'utf8');
  const asked = new Set(
    [...rules.matchAll(/(?<!externalLabels\.)\bberth_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
  );
  const declared = new Set(metricsIn(join(ROOT, 'services')).concat(metricsIn(join(ROOT, 'libs'))));
  expect([...asked].filter((name) => !declared.has(name))).toEqual([]);
});

function metricsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/'(berth_\w+)'/g)].map(([, name = '']) => name),
    );
}
