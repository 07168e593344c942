import type { FleetName } from '../../../model/ids.ts';
import type { JsonObject } from '../../../model/json.ts';
import { displayKey, type ObjectKey } from '../../../model/object-key.ts';
import { ADOPT } from './annotations.ts';
import { fieldHolders, isOurs } from './field-ownership.ts';
import { parseStamp, readStampText } from './stamp.ts';

/** Who has a live object. `theirs`: it is never touched, unless it may be adopted. */
export type Claim =
  | { readonly type: 'ours' }
  | { readonly type: 'theirs'; readonly adoptable: boolean; readonly owner: string; readonly message: string };

/** Judges by the stamp alone: it must name this very object and this fleet. */
export function claimOf(live: JsonObject, fleet: FleetName, key: ObjectKey): Claim {
  const text = readStampText(live);
  const stamp = text === undefined ? undefined : parseStamp(text);
  if (stamp?.key === key && stamp.fleet === fleet) return { type: 'ours' };
  if (stamp?.key === key) {
    return {
      type: 'theirs',
      adoptable: false,
      owner: `fleet ${stamp.fleet}`,
      message: `${displayKey(key)} belongs to the fleet ${stamp.fleet}; remove it there first`,
    };
  }
  const owner = ownerOf(live);
  const copy = stamp === undefined ? '' : ` (its annotations are a copy of those of ${displayKey(stamp.key)})`;
  return {
    type: 'theirs',
    adoptable: true,
    owner,
    message: `${displayKey(key)} was there already and is held by ${owner}${copy}; delete it, or set the annotation ${ADOPT}: "true" in its manifest to take it over`,
  };
}

/** The manager that declares it, else the one that wrote it last, else what it says of itself. */
function ownerOf(live: JsonObject): string {
  const others = fieldHolders(live).filter((holder) => !isOurs(holder) && holder.subresource === '');
  const newest = others.toSorted((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0));
  const holder = newest.find(({ operation }) => operation === 'Apply') ?? newest[0];
  return holder === undefined || holder.manager === '' ? 'somebody who left no name' : `"${holder.manager}"`;
}
