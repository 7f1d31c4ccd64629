import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../api/session';
import { BuildsPage } from './builds/builds-page';
import { CapacityPage } from './capacity/capacity-page';
import { ExplainPage } from './explain/explain-page';
import { FleetPage } from './fleet/fleet-page';
import { Frame } from './frame';
import { GuaranteesPage } from './guarantees/guarantees-page';
import { HealthPage } from './health/health-page';
import { HostPage } from './host/host-page';
import { InstancePage } from './instance/instance-page';
import { InstancesPage } from './instances/instances-page';
import { NovaPage } from './nova/nova-page';
import { RehearsalsPage } from './rehearsals/rehearsals-page';
import { ReservationsPage } from './reservations/reservations-page';
import { SignIn } from './sign-in';
import { type ApiError, readSession, signOut } from './state/api';
import { usePlace } from './state/router';
import { SessionContext } from './state/session';
import { listenTo, whenSignedOut } from './state/stream';
import { useTitle } from './state/title';
import { Loading } from './ui/parts';

type Access =
  | { readonly kind: 'asking' }
  | { readonly kind: 'out'; readonly why: string }
  | { readonly kind: 'in'; readonly session: Session };

const RETRY_MS = 1_000;

/** The console: the sign-in state, and the page of the address. */
export function App() {
  const [access, setAccess] = useState<Access>({ kind: 'asking' });
  const leave = (why: string) => setAccess({ kind: 'out', why });
  useEffect(() => {
    const look = () => {
      readSession().then(
        (session) => setAccess({ kind: 'in', session }),
        (thrown: unknown) => {
          const { status, problem } = thrown as ApiError;
          if (status === 401 || status === 403) leave(status === 401 ? '' : problem.message);
          else setTimeout(look, RETRY_MS);
        },
      );
    };
    whenSignedOut(() => leave('The token is not valid any more.'));
    look();
  }, []);
  if (access.kind === 'asking') return <Loading what="who you are" />;
  if (access.kind === 'out')
    return <SignIn why={access.why} onDone={(session) => setAccess({ kind: 'in', session })} />;
  return (
    <SessionContext.Provider value={access.session}>
      <Frame session={access.session} onSignOut={() => void signOut().finally(() => leave(''))}>
        <Page />
      </Frame>
    </SessionContext.Provider>
  );
}

function Page() {
  const { path } = usePlace();
  const [, noun = '', name = ''] = path.split('/').map(decodeURIComponent);
  switch (noun) {
    case '':
    case 'fleet':
      return <FleetPage />;
    case 'hosts':
      return <HostPage key={name} name={name} />;
    case 'instances':
      return name === '' ? <InstancesPage /> : <InstancePage key={name} uuid={name} />;
    case 'explain':
      return <ExplainPage />;
    case 'builds':
      return <BuildsPage />;
    case 'capacity':
      return <CapacityPage />;
    case 'guarantees':
      return <GuaranteesPage />;
    case 'rehearsals':
      return <RehearsalsPage />;
    case 'reservations':
      return <ReservationsPage />;
    case 'nova':
      return <NovaPage />;
    case 'health':
      return <HealthPage />;
    default:
      return <NoSuchPage path={path} />;
  }
}

function NoSuchPage({ path }: { path: string }) {
  useTitle('No such page');
  useEffect(() => listenTo('page=', {}), []);
  return (
    <div class="empty">
      <h1>There is no page {path}</h1>
      <p>
        <a href="/fleet">The fleet</a>
      </p>
    </div>
  );
}
