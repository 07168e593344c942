import { objectOf, textOf } from '../../text/json.ts';
import { type Found, failed, inProgress, type Live, NOT_OBSERVED, type Rules } from './health.ts';

export const storageRules: Rules = {
  '/PersistentVolumeClaim': claimHealth,
  '/PersistentVolume': volumeHealth,
  'snapshot.storage.k8s.io/VolumeSnapshot': snapshotHealth,
  'snapshot.storage.k8s.io/VolumeSnapshotContent': snapshotHealth,
  'groupsnapshot.storage.k8s.io/VolumeGroupSnapshot': snapshotHealth,
  'groupsnapshot.storage.k8s.io/VolumeGroupSnapshotContent': snapshotHealth,
};

function claimHealth({ status: { phase } }: Live): Found | undefined {
  if (phase === 'Bound') return undefined;
  return phase === 'Lost' ? failed('its volume is lost') : inProgress('no volume is bound to it');
}

function volumeHealth({ status: { phase, message, reason } }: Live): Found | undefined {
  if (phase === 'Failed') return failed(textOf(message) || textOf(reason) || 'it could not be reclaimed');
  return phase === 'Pending' ? inProgress('the volume is not made yet') : undefined;
}

function snapshotHealth({ status: { readyToUse, error } }: Live): Found | undefined {
  if (readyToUse === true) return undefined;
  const { message } = objectOf(error);
  return message === undefined ? NOT_OBSERVED : failed(textOf(message));
}
