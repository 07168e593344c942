import { textOf } from '../json.ts';
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
} from './health.ts';

export const certManagerRules: Rules = {
  ...inGroup('cert-manager.io'),
  ...inGroup('certmanager.k8s.io'),
  'acme.cert-manager.io/Order': acmeHealth,
  'acme.cert-manager.io/Challenge': acmeHealth,
};

function inGroup(group: string): Rules {
  return {
    [`${group}/Certificate`]: certificateHealth,
    [`${group}/CertificateRequest`]: requestHealth,
    [`${group}/Issuer`]: issuerHealth,
    [`${group}/ClusterIssuer`]: issuerHealth,
  };
}

/** Why a certificate is not ready before it is issued for the first time. */
const NEW: readonly string[] = ['DoesNotExist', 'Pending', 'InProgress'];

function certificateHealth({ conditions }: Live): Found | undefined {
  const issuing = conditionIn(conditions, 'Issuing');
  if (issuing?.status === 'True') return inProgress(messageOf(issuing));
  const ready = conditionIn(conditions, 'Ready');
  if (ready?.status === 'True') return undefined;
  if (ready?.status !== 'False') return NOT_OBSERVED;
  const isNew = issuing === undefined && NEW.includes(textOf(ready.reason));
  return isNew ? inProgress(messageOf(ready)) : failed(messageOf(ready));
}

function requestHealth({ conditions }: Live): Found | undefined {
  const refused = conditionWith(conditions, ['Denied', 'InvalidRequest'], 'True');
  if (refused !== undefined) return failed(messageOf(refused));
  const ready = conditionIn(conditions, 'Ready');
  if (ready?.status === 'True') return undefined;
  if (ready === undefined) return NOT_OBSERVED;
  return ready.reason === 'Failed' || ready.reason === 'Denied'
    ? failed(messageOf(ready))
    : inProgress(messageOf(ready));
}

/** An issuer is not ready only if it cannot issue. */
function issuerHealth({ conditions }: Live): Found | undefined {
  const ready = conditionIn(conditions, 'Ready');
  if (ready?.status === 'True') return undefined;
  return ready?.status === 'False' ? failed(messageOf(ready)) : NOT_OBSERVED;
}

function acmeHealth({ status }: Live): Found | undefined {
  const [state, reason] = [textOf(status.state), textOf(status.reason)];
  if (state === 'valid') return undefined;
  if (['invalid', 'expired', 'errored'].includes(state)) return failed(reason || `it is ${state}`);
  return state === '' ? NOT_OBSERVED : inProgress(reason || `it is ${state}`);
}
