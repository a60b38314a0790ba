import { ErrorBoundary, lazy, Route, Router, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { arrival } from './lib/arrival';
import { claimsOf } from './lib/claims';
import { choosingPassword, proof, session, supabase } from './lib/client';
import { _, language, useLanguage, withWords } from './lib/i18n';
import { queryClient, useQuery } from './lib/query';
import { useSettings } from './lib/settings';
import { useStore } from './lib/store';
import { watchTitle } from './lib/title';
import { wanted } from './lib/wanted';
import { Frame } from './frame';
import { Empty, Skeleton } from './ui/basic';
import { Toasts } from './ui/overlay';

const Gate = lazy(() => import('./pages/gate').then((m) => m.Gate));
const Second = lazy(() => withWords(import('./pages/inside')).then((m) => m.Second));
const Arrived = lazy(() => withWords(import('./pages/arrived')).then((m) => m.Arrived));
const NewPassword = lazy(() => withWords(import('./pages/arrived')).then((m) => m.NewPassword));
const Nowhere = lazy(() => withWords(import('./pages/inside')).then((m) => m.Nowhere));
const Prove = lazy(() => withWords(import('./pages/prove')).then((m) => m.Prove));
const home = () => import('./pages/home').then((m) => m.Home);
// The overview is asked for while who is there is still being found out.
if (location.pathname.replace(/\/$/, '') === '/console') void home();
const Home = lazy(home);
const List = lazy(() => withWords(import('./pages/list')).then((m) => m.ListPage));
const Record = lazy(() => withWords(import('./pages/record')).then((m) => m.RecordPage));
const MapPage = lazy(() => withWords(import('./pages/map')).then((m) => m.MapPage));
const Imports = lazy(() => withWords(import('./pages/imports')).then((m) => m.ImportsPage));
const NewImport = lazy(() => withWords(import('./pages/imports')).then((m) => m.NewImport));
const Import = lazy(() => withWords(import('./pages/imports')).then((m) => m.ImportPage));
const AdminPage = lazy(() => withWords(import('./pages/admin')).then((m) => m.AdminPage));
const AccountPage = lazy(() => withWords(import('./pages/account')).then((m) => m.AccountPage));
const Floor = lazy(() => withWords(import('./pages/floor')).then((m) => m.FloorPage));
const Pick = lazy(() => withWords(import('./pages/pick')).then((m) => m.PickPage));
const Put = lazy(() => withWords(import('./pages/stock')).then((m) => m.PutPage));
const Receive = lazy(() => withWords(import('./pages/stock')).then((m) => m.ReceivePage));
const Count = lazy(() => withWords(import('./pages/stock')).then((m) => m.CountPage));
const Board = lazy(() => withWords(import('./pages/board')).then((m) => m.BoardPage));
const Trips = lazy(() => withWords(import('./pages/trips')).then((m) => m.TripsPage));
const Trip = lazy(() => withWords(import('./pages/trip')).then((m) => m.TripPage));
const Plan = lazy(() => withWords(import('./pages/plan')).then((m) => m.PlanPage));
const Inspection = lazy(() => import('./pages/inspection').then((m) => m.InspectionPage));
const Compliance = lazy(() => withWords(import('./pages/compliance')).then((m) => m.CompliancePage));
const Safety = lazy(() => withWords(import('./pages/safety')).then((m) => m.SafetyPage));
const Risk = lazy(() => withWords(import('./pages/risk')).then((m) => m.RiskPage));
const RiskEntity = lazy(() => withWords(import('./pages/risk')).then((m) => m.RiskEntityPage));
const Register = lazy(() => withWords(import('./pages/register')).then((m) => m.RegisterPage));
const Injuries = lazy(() => withWords(import('./pages/injuries')).then((m) => m.InjuryLog));
const Actions = lazy(() => withWords(import('./pages/actions')).then((m) => m.ActionsPage));
const Engagement = lazy(() => withWords(import('./pages/engagement')).then((m) => m.EngagementPage));
const Training = lazy(() => withWords(import('./pages/training')).then((m) => m.TrainingPage));
const Report = lazy(() => withWords(import('./pages/report')).then((m) => m.ReportPage));
const Everything = lazy(() => withWords(import('./pages/everything')).then((m) => m.Everything));
const Components = lazy(() => withWords(import('./pages/components')).then((m) => m.Components));

let shown = '';

// forget drops what one person or tenant was shown before another is shown
// anything. What the first page asks for at once stays asked.
function forget(member: string): void {
  if (member === shown) return;
  if (shown) queryClient.removeQueries({ predicate: (q) => !['settings', 'catalog'].includes(String(q.queryKey[0])) });
  shown = member;
}

// App decides what is shown: what a link brought, the sign-in, the second factor,
// a password to choose, a choice of tenants, or the pages of a member.
export function App() {
  useLanguage();
  const s = useStore(session);
  const came = useStore(arrival);
  const choosing = useStore(choosingPassword);
  const prove = useStore(proof);
  const { path, route } = useLocation();
  const who = s ? claimsOf(s) : undefined;
  const member = who ? `${who.sub} ${who.tenant_id ?? ''} ${who.tenant_role ?? ''}` : '';
  forget(member);
  const factor = useQuery({
    queryKey: ['assurance', who?.session_id, who?.aal],
    queryFn: async () => (await supabase.auth.mfa.getAuthenticatorAssuranceLevel()).data?.nextLevel ?? 'aal1',
    enabled: !!s && who?.aal === 'aal1',
    staleTime: Infinity,
  });
  const inside = !!who?.tenant_id;
  const product = useSettings()?.product ?? 'Holdfast';
  useEffect(() => watchTitle(product), [product]);
  useEffect(() => {
    const at = inside ? wanted() : null;
    if (at) route(at, true);
  }, [inside]);
  return (
    <ErrorBoundary>
      <Toasts />
      {prove ? <Prove done={prove.done} /> : null}
      {path.startsWith('/console/components') ? (
        <Components />
      ) : s === undefined ? (
        <div class="page">
          <Skeleton />
        </div>
      ) : came ? (
        <Arrived came={came} session={s} />
      ) : s === null ? (
        <Gate />
      ) : factor.data === 'aal2' && who?.aal === 'aal1' ? (
        <Second />
      ) : choosing ? (
        <NewPassword email={s.user.email ?? ''} />
      ) : !who?.tenant_id ? (
        <Nowhere />
      ) : (
        <Frame key={`${member} ${language.get()}`}>
          <Router onRouteChange={arrived}>
            <Route path="/console/" component={Home} />
            <Route path="/console/map" component={MapPage} />
            <Route path="/console/imports" component={Imports} />
            <Route path="/console/imports/new" component={NewImport} />
            <Route path="/console/imports/:id" component={Import} />
            <Route path="/console/admin/:tab?" component={AdminPage} />
            <Route path="/console/plan" component={Plan} />
            <Route path="/console/shipments" component={Board} />
            <Route path="/console/routes" component={Trips} />
            <Route path="/console/routes/:id" component={Trip} />
            <Route path="/console/floor" component={Floor} />
            <Route path="/console/floor/pick/:id" component={Pick} />
            <Route path="/console/floor/put/:id" component={Put} />
            <Route path="/console/floor/receive" component={Receive} />
            <Route path="/console/floor/count/:id?" component={Count} />
            <Route path="/console/report" component={Report} />
            <Route path="/console/inspections/:id" component={Inspection} />
            <Route path="/console/compliance" component={Compliance} />
            <Route path="/console/register" component={Register} />
            <Route path="/console/injuries" component={Injuries} />
            <Route path="/console/safety" component={Safety} />
            <Route path="/console/risk" component={Risk} />
            <Route path="/console/risk/:kind/:id" component={RiskEntity} />
            <Route path="/console/actions" component={Actions} />
            <Route path="/console/engagement" component={Engagement} />
            <Route path="/console/training" component={Training} />
            <Route path="/console/account" component={AccountPage} />
            <Route path="/console/all" component={Everything} />
            <Route path="/console/c/:collection" component={List} />
            <Route path="/console/c/:collection/:id" component={Record} />
            <Route default component={Lost} />
          </Router>
        </Frame>
      )}
    </ErrorBoundary>
  );
}

// A new page begins at its top, for the eye and for a screen reader: its heading
// takes the focus when it is there, unless the person went on by then.
function arrived(): void {
  scrollTo(0, 0);
  const over = new AbortController();
  const look = new MutationObserver(() => land());
  const land = () => {
    const title = document.querySelector<HTMLElement>('main h1');
    title?.focus({ preventScroll: true });
    if (title && title === document.activeElement) over.abort();
  };
  over.signal.addEventListener('abort', () => look.disconnect());
  for (const went of ['keydown', 'pointerdown'])
    addEventListener(went, () => over.abort(), { capture: true, signal: over.signal });
  requestAnimationFrame(() => {
    if (!over.signal.aborted) look.observe(document.body, { childList: true, subtree: true });
    if (!over.signal.aborted) land();
  });
}

function Lost() {
  return (
    <div class="page">
      <Empty
        title={_('There is no such page')}
        action={
          <a class="btn" href="/console/">
            {_('Go to the start')}
          </a>
        }
      >
        {_('The address may be mistyped, or the page is for another role.')}
      </Empty>
    </div>
  );
}
