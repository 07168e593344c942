import {
  conditionIn,
  conditionWith,
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
  const broken =
    conditionWith(conditions, ['NamesAccepted'], 'False') ?? conditionWith(conditions, ['NonStructuralSchema'], 'True');
  if (broken !== undefined) return failed(messageOf(broken));
  const established = conditionIn(conditions, 'Established');
  if (established?.status === 'True') return undefined;
  return established === undefined || established.reason === 'Installing'
    ? NOT_OBSERVED
    : failed(messageOf(established));
}

function apiServiceHealth({ conditions }: Live): Found | undefined {
  const available = conditionIn(conditions, 'Available');
  if (available === undefined) return NOT_OBSERVED;
  return available.status === 'True' ? undefined : inProgress(messageOf(available));
}
