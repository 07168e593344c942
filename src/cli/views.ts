import type { ClusterView, HeldRemovalsView, OutputView, SourceView } from '../api/server-api.ts';
import { type Diagnostic, displayLocation } from '../model/fleet/diagnostic.ts';
import { type JsonObject, type JsonValue, textOf, textsOf } from '../model/text/json.ts';
import { counted } from '../model/text/messages.ts';
import type { AuditEntry } from '../ports/audit-log.ts';
import type { Column } from './output.ts';

const SHORT_REVISION = 10;
const SHORT_DIGEST = 12;

/** The health that the condition `Healthy` reports; `-` for a cluster whose objects have no health. */
export function healthOfCluster({ conditions }: ClusterView): string {
  const healthy = conditions.find(({ type }) => type === 'Healthy');
  if (healthy === undefined) return '-';
  if (healthy.status === 'Unknown') return 'unknown';
  if (healthy.status === 'True') return 'healthy';
  return healthy.reason === 'ObjectsInProgress' ? 'in progress' : 'not healthy';
}

/** Whether a cluster is as declared. What is held, kept or paused stays as it is until a person does something. */
export function syncOfCluster({ inSync, conditions, counts: { held }, kept, paused, suspended }: ClusterView): string {
  if (suspended !== null) return 'suspended';
  if (!inSync) return isOnlyDrifted(conditions) ? 'drifted' : 'no';
  if (held > kept + paused) return 'held';
  if (paused > 0) return 'paused';
  return kept > 0 ? 'kept' : 'yes';
}

/** Whether all is applied that should be, and others have changed or removed some of it since, which is left so. */
export function isOnlyDrifted(conditions: ClusterView['conditions']): boolean {
  return conditions.some(({ type, reason }) => type === 'InSync' && reason === 'Drifted');
}

/** How many objects are applied; `0/4 kept` if nothing is applied because all of them stay as they are. */
function appliedIn({ counts: { applied, targeted }, kept }: ClusterView): string {
  return `${applied}/${targeted}${kept > 0 && applied === 0 && kept === targeted ? ' kept' : ''}`;
}

/** The message of a cluster. If objects are kept, it first says that nothing changes in them. */
function messageOf({ message, kept }: ClusterView): string {
  const still = kept === 0 ? '' : `nothing changes in ${counted(kept, 'object')}`;
  return [still, message].filter((text) => text !== '').join('; ');
}

/** The columns of each list of the server. */
export const CLUSTER_COLUMNS: readonly Column<ClusterView>[] = [
  { title: 'CLUSTER', text: ({ name }) => name },
  { title: 'CONNECTED', text: ({ connected }) => yesNo(connected), isState: true },
  { title: 'SINCE', text: ({ connectionSince }) => connectionSince ?? 'never' },
  { title: 'WARM', text: ({ warm }) => yesNo(warm) },
  { title: 'IN SYNC', text: syncOfCluster, isState: true },
  { title: 'APPLIED', text: appliedIn },
  { title: 'HEALTH', text: healthOfCluster, isState: true },
  { title: 'SEQUENCE', text: ({ position }) => `${position.epoch}.${position.sequence}` },
  { title: 'AGENT', text: ({ agentVersion }) => agentVersion ?? '-', isWide: true },
  { title: 'KUBERNETES', text: ({ kubernetesVersion }) => kubernetesVersion ?? '-', isWide: true },
  { title: 'LABELS', text: ({ labels }) => pairs(labels, ',') || '-', isWide: true },
  { title: 'ID', text: ({ id }) => id ?? '-', isWide: true },
  { title: 'MESSAGE', text: messageOf },
];

export const SOURCE_COLUMNS: readonly Column<SourceView>[] = [
  { title: 'SOURCE', text: ({ name }) => name },
  {
    title: 'STATE',
    text: ({ state, partial, suspended }) =>
      [state, ...(partial ? ['partial'] : []), ...(suspended === null ? [] : ['suspended'])].join(', '),
    isState: true,
  },
  { title: 'REVISION', text: ({ revision }) => revision?.slice(0, SHORT_REVISION) ?? '-' },
  { title: 'WAITING', text: ({ refusedRevision }) => refusedRevision?.slice(0, SHORT_REVISION) ?? '-' },
  { title: 'ADDRESS', text: ({ address }) => address },
  { title: 'REASON', text: ({ reason }) => reason || '-', isWide: true },
  { title: 'SUSPENDED BY', text: ({ suspended }) => suspended?.by ?? '-', isWide: true },
  { title: 'MESSAGE', text: ({ message }) => message },
];

export const OUTPUT_COLUMNS: readonly Column<OutputView>[] = [
  { title: 'CLUSTER', text: ({ cluster }) => cluster },
  { title: 'OBJECT', text: ({ object }) => object },
  { title: 'STATE', text: ({ state, drift }) => (drift === undefined ? state : 'drifted'), isState: true },
  { title: 'HEALTH', text: ({ health }) => health?.state ?? '-', isState: true },
  { title: 'DIGEST', text: ({ digest }) => digest?.slice(0, SHORT_DIGEST) ?? '-' },
  { title: 'FROM', text: ({ origins }) => origins.map(({ source, path }) => `${source}:${path}`).join(', ') },
  { title: 'REASON', text: ({ reason }) => reason || '-', isWide: true },
  { title: 'MESSAGE', text: ({ message, health }) => (message === '' ? (health?.message ?? '') : message) },
];

/** A text for a cell; a dash where there is none. */
export function orDash(value: JsonValue | undefined): string {
  return textOf(value) === '' ? '-' : textOf(value);
}

/** The removals of all held sets, one per row. */
export function removalRows(sets: readonly HeldRemovalsView[]) {
  return sets.flatMap(({ removals, ...set }) => removals.map((removal) => ({ ...set, ...removal })));
}

/** An approval names the digest. */
export const REMOVAL_COLUMNS: readonly Column<ReturnType<typeof removalRows>[number]>[] = [
  { title: 'DIGEST', text: ({ digest }) => digest.slice(0, SHORT_DIGEST) },
  { title: 'CLUSTER', text: ({ cluster }) => cluster },
  { title: 'OBJECT', text: ({ object }) => object },
  { title: 'REASON', text: ({ reason }) => reason, isWide: true },
  { title: 'HELD BECAUSE', text: ({ message }) => message },
];

/** Drift of the objects of a cluster. */
export const DRIFT_COLUMNS: readonly Column<JsonObject>[] = [
  { title: 'TIME', text: ({ time }) => textOf(time) },
  { title: 'CLUSTER', text: ({ cluster }) => textOf(cluster) },
  { title: 'OBJECT', text: ({ object }) => textOf(object) },
  { title: 'DRIFT', text: ({ drift }) => textOf(drift) },
  { title: 'FIELDS', text: ({ fields }) => textsOf(fields).join(', ') || '-' },
  { title: 'BY', text: ({ managers }) => textsOf(managers).join(', ') || '-' },
  { title: 'OUTCOME', text: ({ outcome }) => DRIFT_OUTCOMES[textOf(outcome)] ?? textOf(outcome), isState: true },
  { title: 'COUNT', text: ({ count }) => String(count), isWide: true },
];

const DRIFT_OUTCOMES: Readonly<Record<string, string>> = { putBack: 'put back', left: 'left', over: 'over' };

export const AUDIT_COLUMNS: readonly Column<AuditEntry & { readonly server: string }>[] = [
  { title: 'SERVER', text: ({ server }) => server },
  { title: 'AT', text: ({ at }) => at },
  { title: 'WHO', text: ({ who }) => (who === '' ? '-' : who) },
  { title: 'PROVEN BY', text: ({ proof }) => proof },
  { title: 'FROM', text: ({ from }) => (from === '' ? '-' : from) },
  { title: 'STAGE', text: ({ stage }) => stage, isState: true },
  { title: 'ACT', text: ({ act }) => act },
  { title: 'WITH', text: ({ details }) => pairs(details, ' ') },
  { title: 'MESSAGE', text: ({ message }) => message },
];

export const DIAGNOSTIC_COLUMNS: readonly Column<Diagnostic>[] = [
  { title: 'SEVERITY', text: ({ severity }) => severity, isState: true },
  { title: 'WHERE', text: ({ at }) => (at === undefined ? '-' : displayLocation(at)) },
  { title: 'CODE', text: ({ code }) => code },
  { title: 'REASON', text: ({ reason }) => reason },
  { title: 'EXPLAINED BY', text: ({ code }) => `fleetrelay explain ${code}`, isWide: true },
  { title: 'MESSAGE', text: ({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`) },
];

/** `name=value` of each member. */
export function pairs(object: Readonly<Record<string, unknown>>, separator: string): string {
  const texts = Object.entries(object).map(([name, value]) => `${name}=${String(value)}`);
  return texts.join(separator);
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
