import { current, type Found, failed, inProgress, type Live, NOT_OBSERVED, type Rules, TERMINATING } from './health.ts';

/** Kinds that are parts of the cluster itself. */
export const clusterKindRules: Rules = {
  '/Namespace': ({ status }) => (status.phase === 'Terminating' ? TERMINATING : undefined),
  'apiextensions.k8s.io/CustomResourceDefinition': definitionHealth,
  'apiregistration.k8s.io/APIService': apiServiceHealth,
};

function definitionHealth({ condition, conditionWith }: Live): Found | undefined {
  if (conditionWith(['Terminating'], 'True') !== undefined) return TERMINATING;
  const refused = conditionWith(['NamesAccepted'], 'False');
  if (refused !== undefined) return failed(refused);
  const established = condition('Established');
  const unstructured = conditionWith(['NonStructuralSchema'], 'True');
  if (established?.status === 'True') {
    // It is served all the same, as long as it keeps its old form.
    return unstructured === undefined ? undefined : current(unstructured);
  }
  if (unstructured !== undefined) return failed(unstructured);
  return established === undefined || established.reason === 'Installing' ? NOT_OBSERVED : failed(established);
}

function apiServiceHealth({ condition }: Live): Found | undefined {
  const available = condition('Available');
  if (available === undefined) return NOT_OBSERVED;
  return available.status === 'True' ? undefined : inProgress(available);
}
