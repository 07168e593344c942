import { textOf } from '../../text/json.ts';
import {
  conditionIn,
  conditionWith,
  type Found,
  failed,
  failedAfterPatience,
  inProgress,
  isStale,
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

/** Why a certificate is not ready although none is being issued and no attempt has failed. For any other reason one will be issued. */
const STAYS: readonly string[] = ['ConfigError', 'Expired'];

function certificateHealth({ metadata, conditions }: Live): Found | undefined {
  const issuing = conditionIn(conditions, 'Issuing');
  if (issuing?.status === 'True') return inProgress(messageOf(issuing));
  const ready = conditionIn(conditions, 'Ready');
  if (ready === undefined || isStale(ready, metadata)) return NOT_OBSERVED;
  if (ready.status === 'True') return undefined;
  if (ready.status !== 'False') return NOT_OBSERVED;
  const hasFailed = issuing !== undefined || STAYS.includes(textOf(ready.reason));
  return hasFailed ? failed(messageOf(ready)) : inProgress(messageOf(ready));
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

/** An issuer is not ready only if it cannot issue; its Secret can come after it. */
function issuerHealth({ metadata, conditions }: Live): Found | undefined {
  const ready = conditionIn(conditions, 'Ready');
  if (ready === undefined || isStale(ready, metadata)) return NOT_OBSERVED;
  if (ready.status === 'True') return undefined;
  return ready.status === 'False' ? failedAfterPatience(ready) : NOT_OBSERVED;
}

function acmeHealth({ status }: Live): Found | undefined {
  const [state, reason] = [textOf(status.state), textOf(status.reason)];
  if (state === 'valid') return undefined;
  if (['invalid', 'expired', 'errored'].includes(state)) return failed(reason || `it is ${state}`);
  return state === '' ? NOT_OBSERVED : inProgress(reason || `it is ${state}`);
}
