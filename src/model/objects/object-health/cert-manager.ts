import { textOf } from '../../text/json.ts';
import { type Found, failed, failedAfterPatience, inProgress, type Live, NOT_OBSERVED, type Rules } from './health.ts';

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

function certificateHealth({ condition, isStale }: Live): Found | undefined {
  const issuing = condition('Issuing');
  if (issuing?.status === 'True') return inProgress(issuing);
  const ready = condition('Ready');
  if (ready === undefined || isStale(ready)) return NOT_OBSERVED;
  if (ready.status === 'True') return undefined;
  if (ready.status !== 'False') return NOT_OBSERVED;
  const hasFailed = issuing !== undefined || STAYS.includes(textOf(ready.reason));
  return hasFailed ? failed(ready) : inProgress(ready);
}

function requestHealth({ condition, conditionWith }: Live): Found | undefined {
  const refused = conditionWith(['Denied', 'InvalidRequest'], 'True');
  if (refused !== undefined) return failed(refused);
  const ready = condition('Ready');
  if (ready?.status === 'True') return undefined;
  if (ready === undefined) return NOT_OBSERVED;
  return ready.reason === 'Failed' || ready.reason === 'Denied' ? failed(ready) : inProgress(ready);
}

/** An issuer is not ready only if it cannot issue; its Secret can come after it. */
function issuerHealth({ condition, isStale }: Live): Found | undefined {
  const ready = condition('Ready');
  if (ready === undefined || isStale(ready)) return NOT_OBSERVED;
  if (ready.status === 'True') return undefined;
  return ready.status === 'False' ? failedAfterPatience(ready) : NOT_OBSERVED;
}

function acmeHealth({ status }: Live): Found | undefined {
  const [state, reason] = [textOf(status.state), textOf(status.reason)];
  if (state === 'valid') return undefined;
  if (['invalid', 'expired', 'errored'].includes(state)) return failed(reason || `it is ${state}`);
  return state === '' ? NOT_OBSERVED : inProgress(reason || `it is ${state}`);
}
