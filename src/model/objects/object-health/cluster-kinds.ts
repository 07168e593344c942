import {
  conditionIn,
  conditionWith,
  current,
  type Found,
  failed,
  inProgress,
  type Live,
  messageOf,
  NOT_OBSERVED,
  type Rules,
  TERMINATING,
} from './health.ts';

/** Kinds that are parts of the cluster itself. */
export const clusterKindRules: Rules = {
  '/Namespace': ({ status }) => (status.phase === 'Terminating' ? TERMINATING : undefined),
  'apiextensions.k8s.io/CustomResourceDefinition': definitionHealth,
  'apiregistration.k8s.io/APIService': apiServiceHealth,
};

function definitionHealth({ conditions }: Live): Found | undefined {
  if (conditionWith(conditions, ['Terminating'], 'True') !== undefined) return TERMINATING;
  const refused = conditionWith(conditions, ['NamesAccepted'], 'False');
  if (refused !== undefined) return failed(messageOf(refused));
  const established = conditionIn(conditions, 'Established');
  const unstructured = conditionWith(conditions, ['NonStructuralSchema'], 'True');
  if (established?.status === 'True') {
    // It is served all the same, as long as it keeps its old form.
    return unstructured === undefined ? undefined : current(messageOf(unstructured));
  }
  if (unstructured !== undefined) return failed(messageOf(unstructured));
  return established === undefined || established.reason === 'Installing'
    ? NOT_OBSERVED
    : failed(messageOf(established));
}

function apiServiceHealth({ conditions }: Live): Found | undefined {
  const available = conditionIn(conditions, 'Available');
  if (available === undefined) return NOT_OBSERVED;
  return available.status === 'True' ? undefined : inProgress(messageOf(available));
}
