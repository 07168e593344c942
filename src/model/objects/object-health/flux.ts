import { textOf } from '../../text/json.ts';
import {
  type Found,
  failed,
  failedAfterPatience,
  inProgress,
  type Live,
  NOT_OBSERVED,
  type Rules,
  suspended,
} from './health.ts';

export const fluxRules: Rules = {
  '*.toolkit.fluxcd.io/*': fluxHealth,
  'source.extensions.fluxcd.io/*': fluxHealth,
  'fluxcd.controlplane.io/*': fluxHealth,
};

/** Reasons of a controller of Flux that has begun to work on a changed object. The condition `Ready` then concerns the earlier version. */
const BEGINS: readonly string[] = ['NewGeneration', 'AccessingRepository', 'ApplyingPolicy', 'Scanning'];

/** Its source has no content: it may have been applied together with it. */
const SOURCES: readonly string[] = ['ArtifactFailed', 'SourceNotReady', 'SourceUnavailable', 'DependencyNotReady'];

/** Kinds that need no controller, and have no status. */
const STATIC: readonly string[] = ['Alert', 'Provider'];

/**
 * Controllers of Flux write `Ready` for each generation that they have taken up; `status.observedGeneration` follows only when one
 * has succeeded. While they try a failed generation again, `Reconciling` is true beside it.
 */
function fluxHealth({ kind, spec, condition, conditionWith, isStale }: Live): Found | undefined {
  if (spec.suspend === true) return suspended('it is suspended');
  const ready = condition('Ready');
  if (ready === undefined) {
    const isStatic = STATIC.includes(kind) || (kind === 'HelmRepository' && spec.type === 'oci');
    return isStatic ? undefined : NOT_OBSERVED;
  }
  if (isStale(ready)) return NOT_OBSERVED;
  const stalled = conditionWith(['Stalled'], 'True');
  if (stalled !== undefined) return failed(stalled);
  const reconciling = conditionWith(['Reconciling'], 'True');
  if (ready.status !== 'False') {
    if (reconciling !== undefined) return inProgress(reconciling);
    return ready.status === 'True' ? undefined : inProgress(ready);
  }
  const begins = BEGINS.includes(textOf(reconciling?.reason));
  // `dependsOn` names another object, whose health says more.
  const depends = ready.reason === 'DependencyNotReady' && (kind === 'Kustomization' || kind === 'HelmRelease');
  if (begins || depends) return inProgress(ready);
  return SOURCES.includes(textOf(ready.reason)) ? failedAfterPatience(ready) : failed(ready);
}
