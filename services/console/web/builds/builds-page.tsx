import { BUILD_RANGES, type BuildRange, type BuildsPage as Page } from '../../api/builds';
import { usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ColumnChart, Tallies } from '../ui/chart';
import { span } from '../ui/format';
import { Loading, Section } from '../ui/parts';
import { RangeSelect } from '../ui/range-select';
import { ActivityLog } from './activity-log';
import { DeadLetters } from './dead-letters';
import { BuildFigures, listedIn, WITHIN } from './figures';
import { Pending, Recent } from './lists';

/** Requests, outcomes, waiting instances, and dead letters. */
export function BuildsPage() {
  useTitle('Builds');
  const { query } = usePlace();
  const range = query.get('range') ?? BUILD_RANGES[0];
  const page = usePage<Page>(`page=builds&range=${encodeURIComponent(range)}`);
  if (page === undefined) return <Loading what="the builds" />;
  return (
    <>
      <h1>Builds</h1>
      <BuildFigures page={page} />
      <Rates rates={page.rates} />
      <Failures rates={page.rates} />
      <Pending pending={page.pending} />
      <Recent recent={page.recent} />
      <DeadLetters count={page.deadLetters} />
      <ActivityLog actions={page.actions} />
    </>
  );
}

function Rates({ rates }: { rates: Page['rates'] }) {
  const { stepMs, firstMs, active, error, requested } = rates;
  const step = stepMs < 60_000 ? `${stepMs / 1_000} s` : span(stepMs);
  return (
    <Section title="Rates" aside={<RangeSelect ranges={RANGES} standard={BUILD_RANGES[0]} />}>
      <ColumnChart
        label={`Ended, every ${step}`}
        stepMs={stepMs}
        firstMs={firstMs}
        series={[
          { label: 'ACTIVE', values: active, colour: 2, href: listedIn(rates.range, { state: 'active' }) },
          { label: 'ERROR', values: error, colour: 3, href: listedIn(rates.range, { state: 'error' }) },
        ]}
      />
      <ColumnChart
        label={`Requested, every ${step}`}
        stepMs={stepMs}
        firstMs={firstMs}
        series={[{ label: 'requested', values: requested, colour: 1, href: listedIn(rates.range, {}) }]}
      />
      <p class="note">
        The console counts builds while it runs. <a href="/instances">Instances</a> lists earlier ones.
      </p>
    </Section>
  );
}

const RANGES = BUILD_RANGES.map((range): [BuildRange, string] => [range, WITHIN[range]]);

/** Reasons of failed builds and of failed attempts. */
function Failures({ rates: { range, faults, failedAttempts } }: { rates: Page['rates'] }) {
  return (
    <div class="columns">
      <Section title="Why builds failed">
        <Tallies
          label="Reasons of failed builds"
          rows={faults}
          hrefOf={(reason) => listedIn(range, { state: 'error', reason })}
          empty={`No failed builds in ${WITHIN[range]}.`}
        />
      </Section>
      <Section title="Why attempts failed">
        <Tallies
          label="Reasons of failed attempts"
          rows={failedAttempts}
          hrefOf={(attempt) => listedIn(range, { attempt })}
          empty={`No failed attempts in ${WITHIN[range]}.`}
        />
      </Section>
    </div>
  );
}
