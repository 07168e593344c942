import { type JsonObject, objectOf, textOf } from '../../text/json.ts';
import { type Found, failed, inProgress, type Live, NOT_OBSERVED, notObservedAtFirst, type Rules } from './health.ts';

/** Kinds of Gloo Edge. */
export const soloRules: Rules = { 'gateway.solo.io/*': soloHealth, 'gloo.solo.io/*': soloHealth };

/** Each installation of Gloo that watches the object writes a status of its own, by the namespace of the installation. */
function soloHealth({ kind, metadata, status, hasStatus }: Live): Found | undefined {
  // A status of these is written only while something uses them, if ever.
  if (!hasStatus && (kind === 'Settings' || kind.endsWith('Option'))) return notObservedAtFirst(metadata);
  const all = 'statuses' in status ? Object.values(objectOf(status.statuses)).map(objectOf) : [status];
  const found = all.map(stateHealth).filter((one) => one !== undefined);
  return found.find(({ state }) => state === 'failed') ?? found[0];
}

/** States are words, or numbers in earlier versions. */
function stateHealth({ state, reason }: JsonObject): Found | undefined {
  switch (state) {
    case 1:
    case 'Accepted':
      return undefined;
    case 2:
    case 'Rejected':
      return failed(textOf(reason) || 'it is rejected');
    case 3:
    case 'Warning':
      return failed(textOf(reason) || 'it is accepted with warnings');
    case 0:
    case 'Pending':
      return inProgress(textOf(reason) || 'it is pending');
    default:
      return NOT_OBSERVED;
  }
}
