import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { ClusterId, ClusterName, Digest, FleetName } from '../../model/fleet/ids.ts';
import type { OutputPosition } from '../../model/fleet/output.ts';

/** What a tag covers: where a step of the output leads one cluster. */
export interface TaggedStep {
  readonly fleet: FleetName;
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  readonly position: OutputPosition;
  /** Absent: the server had no admissions. */
  readonly admitted?: OutputPosition;
  /** Of the inventory after the step. */
  readonly digest: Digest;
}

/**
 * What a tag in a holding proves. `position`: a server of the fleet has sent this cluster an output with this position and
 * admission. `inventory`: also that servers of the fleet have sent each entry in phase `held`. `key`: identifies the key of
 * the tag, without revealing it.
 */
export type TagProof = { readonly type: 'nothing' } | { readonly type: 'position' | 'inventory'; readonly key: string };

/** Makes and verifies the tags of steps. */
export interface StepTags {
  /**
   * The tag of a step, in hex. `provesInventory`: servers of the fleet have sent every object that the digest covers. Without
   * that, the next holding must not prove it either.
   */
  sign(step: TaggedStep, provesInventory: boolean): string;
  /** Takes the same time for every wrong tag of a length. */
  verify(step: TaggedStep, tag: string | undefined): TagProof;
  /** Identifies the key that signs. */
  readonly signer: string;
}

/** Bytes of each of the two parts of a tag: the proof of the position, then the proof of the inventory, if any. */
export const TAG_PART_BYTES = 32;

const INFO = 'fleetrelay.dev step tag v1';

/**
 * The tags under keys that are derived from these secrets: the first signs, each verifies. A tag is HMAC-SHA256 over the
 * fields as a JSON array, which is unambiguous, and null for an absent admission.
 */
export function createStepTags(secrets: readonly Uint8Array[]): StepTags {
  const keys = secrets.map(deriveKey);
  const [first] = keys;
  if (first === undefined) throw new Error('tags of steps need a secret');
  return {
    signer: first.id,
    sign: (step, provesInventory) =>
      partOf(first, step, 'position') + (provesInventory ? partOf(first, step, 'inventory') : ''),
    verify: (step, tag = '') => {
      const shown = Buffer.from(tag, 'hex');
      const position = shown.subarray(0, TAG_PART_BYTES);
      const inventory = shown.subarray(TAG_PART_BYTES);
      let proof: TagProof = { type: 'nothing' };
      for (const key of keys) {
        const isPosition = isEqual(position, partOf(key, step, 'position'));
        const isInventory = isEqual(inventory, partOf(key, step, 'inventory'));
        if (isPosition) proof = { type: isInventory ? 'inventory' : 'position', key: key.id };
      }
      return proof;
    },
  };
}

interface Key {
  /** Takes a fraction of the time that its bytes would take at each use. */
  readonly secret: KeyObject;
  readonly id: string;
}

function deriveKey(secret: Uint8Array): Key {
  const derived = createSecretKey(Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), INFO, 32)));
  return { secret: derived, id: createHmac('sha256', derived).update('id').digest('hex').slice(0, 16) };
}

function partOf(key: Key, step: TaggedStep, part: 'position' | 'inventory'): string {
  const { fleet, cluster, clusterId, position, admitted, digest } = step;
  const pair = ({ epoch, sequence }: OutputPosition): readonly number[] => [epoch, sequence];
  const fields = [part, fleet, cluster, clusterId, pair(position), admitted === undefined ? null : pair(admitted)];
  const covered = part === 'inventory' ? [...fields, digest] : fields;
  return createHmac('sha256', key.secret).update(JSON.stringify(covered)).digest('hex');
}

function isEqual(shown: Uint8Array, expected: string): boolean {
  const bytes = Buffer.from(expected, 'hex');
  return shown.length === bytes.length && timingSafeEqual(shown, bytes);
}
