import { objectOf, objectsOf, textOf } from '../../text/json.ts';
import {
  conditionIn,
  conditionWith,
  type Found,
  failed,
  failedAfterPatience,
  inProgress,
  type Live,
  NOT_OBSERVED,
  type Rules,
  suspended,
} from './health.ts';

export const crossplaneRules: Rules = {
  'ops.crossplane.io/*': operationHealth,
  '*.crossplane.io/*': crossplaneHealth,
  '*.upbound.io/*': crossplaneHealth,
};

/** Kinds that need no controller, or whose status only counts their users. */
const STATIC: readonly string[] = (
  'Composition CompositionRevision DeploymentRuntimeConfig ControllerConfig EnvironmentConfig ' +
  'ProviderConfig ClusterProviderConfig ProviderConfigUsage StoreConfig ImageConfig Lock ' +
  'ManagedResourceActivationPolicy'
).split(' ');

const DONE: readonly string[] = [
  'Ready',
  'Healthy',
  'RevisionHealthy',
  'Offered',
  'Established',
  'ValidPipeline',
  'Resolved',
];

function crossplaneHealth(live: Live): Found | undefined {
  const { status, kind } = live;
  const conditions =
    live.conditions.length > 0 ? live.conditions : objectsOf(objectOf(status.conditionedStatus).conditions);
  if (conditions.length === 0) return STATIC.includes(kind) ? undefined : NOT_OBSERVED;
  const found = syncedHealth(conditions) ?? packageHealth(conditions);
  if (found !== undefined) return found;
  const open = conditions.find(({ type, status: is }) => (type === 'Ready' || type === 'Healthy') && is !== 'True');
  if (open !== undefined) return inProgress(open);
  return conditionWith(conditions, DONE, 'True') === undefined ? inProgress('it is not ready') : undefined;
}

/** An operation runs once and ends; what makes operations, by a schedule or a watch, has no end and no `Ready`. */
function operationHealth({ conditions, conditionWith }: Live): Found | undefined {
  if (conditions.length === 0) return NOT_OBSERVED;
  const synced = syncedHealth(conditions);
  if (synced !== undefined) return synced;
  const broken = conditionWith(['Succeeded', 'ValidPipeline'], 'False');
  if (broken !== undefined) return failed(broken);
  const open = conditions.find(({ status }) => status !== 'True');
  return open === undefined ? undefined : inProgress(open);
}

/** What `Synced` says of a managed resource, a composite resource or a claim of any group; undefined: it is synced. */
export function syncedHealth(conditions: Live['conditions']): Found | undefined {
  const synced = conditionIn(conditions, 'Synced');
  if (synced?.status === 'False') {
    return synced.reason === 'ReconcilePaused' ? suspended('its reconciliation is paused') : failed(synced);
  }
  const operation = conditionWith(conditions, ['LastAsyncOperation'], 'False');
  return operation === undefined ? undefined : failed(operation);
}

/** A package is installed and healthy, or not; while it is unpacked for the first time nothing is known of its health. */
function packageHealth(conditions: Live['conditions']): Found | undefined {
  const healthy = conditionIn(conditions, 'Healthy') ?? conditionIn(conditions, 'RevisionHealthy');
  // What a package brings starts after it is installed, and again with each new version.
  if (healthy?.status === 'False') return failedAfterPatience(healthy);
  const missing = conditionWith(conditions, ['Installed'], 'False');
  if (missing === undefined) return undefined;
  return textOf(healthy?.status) === 'True' ? failedAfterPatience(missing) : inProgress(missing);
}
