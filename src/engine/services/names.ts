import { sha256 } from '../../model/digest.ts';

/** The limit of a DNS label; longer joined names are shortened. */
const LONGEST = 63;
const HASH = 6;

/**
 * The name of a mirrored object by Gimbal's rule, so that existing routes stay valid: cluster and name, joined by a hyphen.
 * From 63 bytes on, parts beyond their share are cut, the last one first, and end with the beginning of their hash. Different
 * services can get the same name: the caller must detect that.
 */
export function mirroredName(cluster: string, name: string): string {
  return shortened([cluster, name]);
}

/** A name as the value of a label, shortened by the same rule. */
export function labelValue(name: string): string {
  return shortened([name]);
}

function shortened(parts: readonly string[]): string {
  const cut = [...parts];
  const share = Math.floor(LONGEST / parts.length);
  for (let last = cut.length - 1; last >= 0 && cut.join('-').length >= LONGEST; last -= 1) {
    const part = parts[last] ?? '';
    if (part.length > share) cut[last] = part.slice(0, share - HASH) + sha256(part).slice(0, HASH);
  }
  return cut.join('-');
}
