import { validate } from '../../../generated/kubernetes-cluster.js';
import { parseClusterName } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { checkLabels } from '../labels.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, declare, identityOf, isReadable } from './reading.ts';

/** Reads an `admin.gloo.solo.io/v2 KubernetesCluster`. */
export function readCluster(document: JsonObject): DocumentReading {
  const checked = check(document, validate);
  if (!checked.ok) return { problems: checked.problems };
  const { metadata, spec } = checked.value;
  const labels = metadata.labels ?? {};
  const problems: FieldProblem[] = checkLabels(labels, ['metadata', 'labels']);
  const name = parseClusterName(metadata.name);
  if (!name.ok) problems.push(fieldError('BadName', ['metadata', 'name'], name.problem));
  const identity = identityOf('KubernetesCluster', metadata);
  if (!name.ok || !isReadable(problems)) return { identity, problems };
  const cluster = {
    name: name.value,
    labels,
    clusterDomain: spec?.clusterDomain ?? 'cluster.local',
    skipWarming: spec?.skipWarming ?? false,
  };
  return { identity, problems, content: declare('KubernetesCluster', metadata, cluster) };
}
